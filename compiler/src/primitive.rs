//! The primitive types of the language, and the canonical forms of values.
//!
//! Two values are equal if their types and texts are, so a value that could be written in several ways has
//! one *canonical* form: `7` and not `07`, `true` and not `True`. Ids that look like numbers or UUIDs are
//! text; their canonical forms matter only where such an id is stored or compared as a number or UUID.

/// The name of the type of texts.
pub const STRING: &str = "String";
/// The name of the type of signed 64-bit numbers.
pub const INTEGER: &str = "Integer";
/// The name of the type of `true` and `false`.
pub const BOOLEAN: &str = "Boolean";

/// A type whose values are literals of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// Any text.
    String,
    /// A signed 64-bit number.
    Integer,
    /// `true` or `false`.
    Boolean,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::String, Self::Integer, Self::Boolean];

    /// The primitive type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => STRING,
            Self::Integer => INTEGER,
            Self::Boolean => BOOLEAN,
        }
    }

    /// Whether a text is the canonical form of a value of this type.
    pub fn is_canonical(self, text: &str) -> bool {
        match self {
            Self::String => true,
            Self::Integer => integer(text).is_some(),
            Self::Boolean => is_boolean(text),
        }
    }
}

/// The 64-bit number with this canonical decimal: no plus, no leading zero, no `-0`.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [b'0'] if text.len() == 1 => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.len() < 19 && rest.iter().all(u8::is_ascii_digit) => {
            text.parse().ok()
        }
        _ => None,
    }
}

/// Whether a text is `true` or `false`.
pub fn is_boolean(text: &str) -> bool {
    matches!(text, "true" | "false")
}

/// Whether a text is the canonical decimal of a whole number of any size.
pub fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text == "0"
        || !digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The lengths of the groups of digits in a UUID, which hyphens separate.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The bits of a UUID in canonical form: lower case, with hyphens.
pub(crate) fn uuid(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut bits = 0;
    let mut groups = text.split('-');
    for length in UUID_GROUPS {
        let group = groups.next().filter(|group| group.len() == length)?;
        for byte in group.bytes() {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            bits = bits << 4 | u128::from(digit);
        }
    }
    groups.next().is_none().then_some(bits)
}

/// The canonical form of a UUID.
pub(crate) fn uuid_text(bits: u128) -> String {
    let digits = format!("{bits:032x}");
    let mut rest = digits.as_str();
    let groups = UUID_GROUPS.map(|length| {
        let (group, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        group
    });
    groups.join("-")
}

/// Whether a text is a UUID in canonical form.
pub fn is_uuid(text: &str) -> bool {
    uuid(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_primitive_types_have_a_canonical_form() {
        let named = |name: &str| Primitive::named(name);
        assert_eq!(Primitive::ALL.map(|ty| named(ty.name())), Primitive::ALL.map(Some));
        for name in ["", "string", "Strings", "User", "Actor"] {
            assert_eq!(named(name), None, "{name}");
        }
        for (ty, good, bad) in [
            (Primitive::String, vec!["", "x", "07"], vec![]),
            (Primitive::Integer, vec!["0", "-9223372036854775808"], vec!["", "07", "+7", "-0", "1.0", "9e3"]),
            (Primitive::Boolean, vec!["true", "false"], vec!["", "True", "0"]),
        ] {
            assert!(good.iter().all(|text| ty.is_canonical(text)), "{ty:?}");
            assert!(!bad.iter().any(|text| ty.is_canonical(text)), "{ty:?}");
        }
    }

    #[test]
    fn an_integer_is_a_whole_number_of_64_bits() {
        for text in ["0", "7", "-7", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(integer(text), text.parse().ok(), "{text}");
            assert!(is_whole(text), "{text}");
        }
        for text in ["9223372036854775808", "-9223372036854775809", "10000000000000000000"] {
            assert!(integer(text).is_none() && is_whole(text), "{text}");
        }
        for text in ["", "-", "-0", "00", "07", "+7", "7.0", " 7", "٧"] {
            assert!(integer(text).is_none() && !is_whole(text), "{text}");
        }
    }

    #[test]
    fn a_uuid_is_in_lower_case_with_hyphens() {
        let text = "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f";
        assert_eq!(uuid(text), u128::from_str_radix(&text.replace('-', ""), 16).ok());
        let others = [text.to_uppercase(), text.replace('-', ""), text.replacen("0199", "019-", 1)];
        assert!(others.iter().all(|text| !is_uuid(text)));
    }
}
