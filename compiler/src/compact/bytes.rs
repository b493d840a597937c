//! A value as bytes, for a `bytea` column of PostgreSQL.
//!
//! In: the text of a value. Out: bytes that decode to exactly the same text. As in [`compact`](super), a
//! canonical 64-bit decimal and a canonical UUID are short, and anything else stays as it is. Bytes need no
//! collation, so they are compared and sorted in one way everywhere.
//!
//! ```text
//! 0 ─▶ 00 80              7 ─▶ 00 81 07       -7 ─▶ 00 7E F8
//! 256 ─▶ 00 82 01 00      -256 ─▶ 00 7D FE FF
//! the empty text ─▶ 01
//! U+0001 x ─▶ 01 01 x     the same for U+0000
//! 01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f ─▶ 01 02 and its 16 bytes
//! anything else ─▶ its UTF-8
//! ```
//!
//! The second byte of an integer is `80` plus the number of bytes of its magnitude, which follow. All these
//! bytes are inverted if it is negative, so that the larger its magnitude is, the lower it sorts.
//!
//! INVARIANTS: two texts are equal if and only if their bytes are equal. Bytes are in the order of
//! [`Compact`](super::Compact): integers, then text. No text is encoded as no bytes at all, which therefore
//! sort before every value.

use crate::primitive;
use std::borrow::Cow;

/// The first byte of every integer.
const INTEGER: u8 = 0;
/// The first byte of every other form that differs from its text.
const MARK: u8 = 1;
/// The byte between the mark and a UUID.
const UUID: u8 = 2;

/// The second byte of zero.
const ZERO: u8 = 0x80;

/// The form of a text.
pub fn encode(text: &str) -> Vec<u8> {
    if let Some(number) = primitive::integer(text) {
        return integer(number);
    }
    if let Some(bits) = primitive::uuid(text) {
        return [&[MARK, UUID], bits.to_be_bytes().as_slice()].concat();
    }
    if is_marked(text) { [&[MARK], text.as_bytes()].concat() } else { text.as_bytes().to_vec() }
}

/// The text that these bytes encode; `None` if they are not an encoding.
pub fn decode(form: &[u8]) -> Option<Cow<'_, str>> {
    match form {
        [INTEGER, size, magnitude @ ..] => number(*size, magnitude).map(|number| number.to_string().into()),
        [MARK, UUID, bits @ ..] => {
            let bits = u128::from_be_bytes(bits.try_into().ok()?);
            Some(primitive::uuid_text(bits).into())
        }
        [MARK, text @ ..] => std::str::from_utf8(text).ok().filter(|text| is_marked(text)).map(Cow::Borrowed),
        [] | [INTEGER] => None,
        text => std::str::from_utf8(text).ok().filter(|text| !is_shortened(text)).map(Cow::Borrowed),
    }
}

/// Whether a text, if it is not shortened, gets a mark.
fn is_marked(text: &str) -> bool {
    text.bytes().next().is_none_or(|first| first <= MARK)
}

/// Whether a text has a shorter form.
fn is_shortened(text: &str) -> bool {
    primitive::integer(text).is_some() || primitive::uuid(text).is_some()
}

fn integer(number: i64) -> Vec<u8> {
    let magnitude = number.unsigned_abs().to_be_bytes();
    let digits = || magnitude.into_iter().skip_while(|byte| *byte == 0);
    let size = digits().fold(ZERO, |size, _| size + 1);
    let inverted = if number < 0 { u8::MAX } else { 0 };
    let sized = std::iter::once(size).chain(digits());
    std::iter::once(INTEGER).chain(sized.map(|byte| byte ^ inverted)).collect()
}

/// The integer whose form has this second byte and these bytes after it.
fn number(size: u8, digits: &[u8]) -> Option<i64> {
    let is_negative = size < ZERO;
    let inverted = if is_negative { u8::MAX } else { 0 };
    let n_digits = usize::from((size ^ inverted) - ZERO);
    let is_shortest = digits.first().map_or(!is_negative, |digit| digit ^ inverted != 0);
    if digits.len() != n_digits || n_digits > size_of::<u64>() || !is_shortest {
        return None;
    }
    let magnitude = digits.iter().fold(0, |value, digit| value << 8 | u64::from(digit ^ inverted));
    if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Compact, compact, texts};

    /// Texts of all kinds, with every integer and UUID next to which a form changes.
    fn all_texts() -> Vec<String> {
        let mut all = texts::short();
        for bit in 0..63 {
            for number in [(1_i64 << bit) - 1, 1 << bit, (1 << bit) + 1] {
                all.extend([number.to_string(), number.wrapping_neg().to_string()]);
            }
        }
        all.extend([i64::MAX, i64::MIN, i64::MIN + 1].map(|number| number.to_string()));
        all.extend(["9223372036854775808", "-9223372036854775809", "07", "-0", "+7"].map(str::to_owned));
        for bit in 0..128 {
            let bits = 1_u128 << bit;
            all.extend([bits - 1, bits, !bits].map(primitive::uuid_text));
        }
        all.push(primitive::uuid_text(7).to_uppercase());
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn every_text_round_trips() {
        for text in all_texts() {
            assert_eq!(decode(&encode(&text)).as_deref(), Some(text.as_str()), "{text:?}");
        }
    }

    /// So equal bytes are of equal texts as well.
    #[test]
    fn bytes_are_in_the_order_of_the_compact_form() {
        let all = all_texts();
        let mut forms: Vec<(Compact<'_>, Vec<u8>)> =
            all.iter().map(|text| (compact(text), encode(text))).collect();
        forms.sort_unstable();
        assert!(forms.is_sorted_by(|(_, before), (_, after)| before < after));
        assert!(forms.iter().all(|(_, form)| !form.is_empty()));
    }

    #[test]
    fn forms_are_short() {
        let forms: [(&str, &[u8]); 14] = [
            ("0", &[0, 0x80]),
            ("7", &[0, 0x81, 7]),
            ("-7", &[0, 0x7E, 0xF8]),
            ("255", &[0, 0x81, 0xFF]),
            ("256", &[0, 0x82, 1, 0]),
            ("-256", &[0, 0x7D, 0xFE, 0xFF]),
            ("9223372036854775807", b"\x00\x88\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
            ("-9223372036854775808", b"\x00\x77\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
            ("07", b"07"),
            ("", &[1]),
            ("\0", &[1, 0]),
            ("\u{1}x", &[1, 1, b'x']),
            ("ä", &[0xC3, 0xA4]),
            ("30313233-3435-3637-3839-616263646566", b"\x01\x020123456789abcdef"),
        ];
        for (text, form) in forms {
            assert_eq!(encode(text), form, "{text:?}");
        }
    }

    /// What is decoded is encoded as these bytes, so no two forms have one text.
    #[test]
    fn every_short_form_is_rejected_or_of_one_text() {
        let bytes =
            [0, 1, 2, 3, b'-', b'0', b'7', 0x76, 0x77, 0x7E, 0x7F, 0x80, 0x81, 0x88, 0x89, 0xC3, 0xFF];
        let mut level = vec![Vec::new()];
        for _ in 0..=4 {
            for form in &level {
                if let Some(text) = decode(form) {
                    assert_eq!(encode(&text), *form, "{text:?}");
                }
            }
            level = level
                .iter()
                .flat_map(|form: &Vec<u8>| bytes.map(|byte| [form.as_slice(), &[byte]].concat()))
                .collect();
        }
        let rejected: [&[u8]; 12] = [
            b"",
            b"7",
            b"01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f",
            &[0],
            &[0, 0x7F],
            &[0, 0x80, 0],
            &[0, 0x82, 0, 7],
            &[0, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0x77, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
            &[1, 2, 0],
            &[1, b'x'],
            &[0xFF],
        ];
        assert!(rejected.iter().all(|form| decode(form).is_none()));
    }
}
