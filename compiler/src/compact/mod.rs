//! How a store represents a value: the embedded store as it is here, one on PostgreSQL as [`bytes`].
//!
//! In: the text of a value. Out: a shorter form that expands to exactly the same text. Most ids are database
//! keys, so a canonical 64-bit decimal becomes an integer, a canonical UUID becomes 21 bytes of text instead
//! of 36, and anything else stays as it is. Columns, literals and parameters all use this form, so values are
//! compared without decoding. A dictionary of ids would need two more B-trees, and a look-up for every id in
//! an answer.
//!
//! ```text
//! 7 ─▶ integer 7        07, +7, 7.0, 9223372036854775808 ─▶ the same text
//! 01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f ─▶ U+0001 and 20 characters        01994A5E-… ─▶ the same text
//! U+0001 x ─▶ U+0001 U+0001 x
//! ```
//!
//! INVARIANT: two texts are equal if and only if their forms are equal.
//!
//! The short form of a UUID is text, because JSON parameters cannot hold bytes. Its digits are those of RFC
//! 1924, which have no quote or backslash, in ASCII order, so that short forms sort as the UUIDs do.

pub mod bytes;

use crate::primitive;
use std::borrow::Cow;

/// A value as stored, ordered as SQLite orders it: integers, then text by its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compact<'t> {
    /// A canonical decimal.
    Integer(i64),
    /// Anything else.
    Text(Cow<'t, str>),
}

/// The prefix of every form that differs from its text.
const MARK: char = '\u{1}';

/// The digits of a UUID's short form, in ASCII order.
const DIGITS: &[u8; 85] =
    b"!#$%&()*+-0123456789;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz{|}~";

/// Digits for 32 bits: 85⁵ > 2³².
const WIDTH: u32 = 5;

/// The form of a text.
pub fn compact(text: &str) -> Compact<'_> {
    if let Some(number) = primitive::integer(text) {
        return Compact::Integer(number);
    }
    match primitive::uuid(text) {
        Some(bits) => Compact::Text(Cow::Owned(short(bits))),
        None if text.starts_with(MARK) => Compact::Text(Cow::Owned(format!("{MARK}{text}"))),
        None => Compact::Text(Cow::Borrowed(text)),
    }
}

/// The text that a stored text encodes; `None` if it is not an encoding.
pub fn expand(form: &str) -> Option<Cow<'_, str>> {
    match form.strip_prefix(MARK) {
        None => Some(Cow::Borrowed(form)),
        Some(own) if own.starts_with(MARK) => Some(Cow::Borrowed(own)),
        Some(digits) => bits(digits).map(|bits| Cow::Owned(primitive::uuid_text(bits))),
    }
}

fn short(bits: u128) -> String {
    let mut form = String::with_capacity(21);
    form.push(MARK);
    let bytes = bits.to_be_bytes();
    for word in bytes.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)) {
        for place in (0..WIDTH).rev() {
            let digit = DIGITS.get((word / 85_u32.pow(place) % 85) as usize);
            form.extend(digit.copied().map(char::from));
        }
    }
    form
}

/// The bits of a UUID's short form, without its mark.
fn bits(digits: &str) -> Option<u128> {
    if digits.len() != 20 {
        return None;
    }
    let mut bits = 0;
    for word in digits.as_bytes().chunks(5) {
        let mut value = 0_u64;
        for digit in word {
            value = 85 * value + DIGITS.binary_search(digit).ok()? as u64;
        }
        bits = bits << 32 | u128::from(u32::try_from(value).ok()?);
    }
    Some(bits)
}

#[cfg(test)]
pub(crate) mod texts {
    /// Every text of up to three characters from those that some form treats specially.
    pub(crate) fn short() -> Vec<String> {
        let characters = ["", "0", "1", "9", "-", "+", ".", " ", "a", "\0", "\u{1}", "\u{2}", "'", "ä"];
        let pairs = characters.iter().flat_map(|a| characters.iter().map(move |b| format!("{a}{b}")));
        pairs.flat_map(|pair| characters.iter().map(move |c| format!("{pair}{c}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> String {
        match compact(text) {
            Compact::Integer(number) => number.to_string(),
            Compact::Text(form) => expand(&form).expect("the form of a text").into_owned(),
        }
    }

    #[test]
    fn only_canonical_numbers_are_integers() {
        let integers = ["0", "7", "-7", "10", "9223372036854775807", "-9223372036854775808"];
        for text in integers {
            assert_eq!(compact(text), Compact::Integer(text.parse().unwrap()), "{text}");
        }
        let texts = ["", "-", "-0", "00", "07", "-07", "+7", "7.0", " 7", "7 ", "1e3", "٧"];
        let large = ["9223372036854775808", "-9223372036854775809", "10000000000000000000"];
        for text in texts.into_iter().chain(large) {
            assert_eq!(compact(text), Compact::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn only_canonical_uuids_are_shortened() {
        let uuid = "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f";
        let Compact::Text(form) = compact(uuid) else { panic!("text") };
        assert_eq!(form.len(), 21);
        let others = [
            uuid.to_uppercase(),
            uuid.replace('-', ""),
            uuid.replacen('-', "_", 1),
            uuid.replace('f', "g"),
            uuid.replacen("0199", "019-", 1),
            format!("{{{uuid}}}"),
            format!("{uuid} "),
        ];
        for text in others {
            assert_eq!(compact(&text), Compact::Text(text.as_str().into()), "{text}");
        }
    }

    #[test]
    fn every_text_round_trips_and_forms_are_unique() {
        let mut texts = super::texts::short();
        for n in [0_u128, 1, 84, 85, u128::MAX, 1 << 127, 0x0123_4567_89ab_cdef << 40] {
            texts.push(primitive::uuid_text(n));
            texts.push(short(n));
        }
        texts.sort_unstable();
        texts.dedup();
        for text in &texts {
            assert_eq!(round_trip(text), *text);
        }
        let mut forms: Vec<Compact<'_>> = texts.iter().map(|text| compact(text)).collect();
        forms.sort_unstable();
        forms.dedup();
        assert_eq!(forms.len(), texts.len());
    }

    #[test]
    fn malformed_forms_are_rejected() {
        for form in ["\u{1}", "\u{1}abc", "\u{1}~~~~~~~~~~~~~~~~~~~~", "\u{1}!!!!!!!!!!!!!!!!!!! "] {
            assert_eq!(expand(form), None, "{form:?}");
        }
        assert_eq!(expand("abc").as_deref(), Some("abc"));
    }

    #[test]
    fn digits_are_sorted_and_short_forms_with_them() {
        assert!(DIGITS.is_sorted());
        let forms: Vec<String> = [0, 1, 85, 1 << 31, 1 << 32, 1 << 64, u128::MAX].map(short).to_vec();
        assert!(forms.is_sorted());
    }
}
