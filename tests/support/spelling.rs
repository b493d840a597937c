//! Ids and names that look alike, in the place of plain ones.
//!
//! In: a policy, values and questions over the plain ids `a`, `b`, `c`, `zz` and the plain names `r0`, `p0`
//! …. Out: the same, with every plain text replaced by one that looks like a number, a UUID, a literal, or
//! much like another of them. It is one to one for each type, so that it changes nothing but how ids are
//! written.

use super::notation::{Value, quoted};
use portcullis_compiler::question::{Domain, Question};

/// The plain ids, in the order of the texts that replace them.
const PLAIN: [&str; 4] = ["a", "b", "c", "zz"];

/// An id that the store writes short.
const UUID: &str = "0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2b";

/// What the store writes for it, as an id of its own.
const SHORT: &str = "\u{1}%hPw}DZNX*SPOa!Ym~hr";

/// Four ids that differ, and that a careless store, cast or comparison would take for each other.
const IDS: &[[&str; 4]] = &[
    ["7", "07", "+7", "7.0"],
    ["7", "8", "-7", "10"],
    ["7", " 7", "7 ", "7\u{a0}"],
    ["0", "-0", "00", "-1"],
    ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
    ["9223372036854775807", "9223372036854775806", "-9223372036854775808", "09223372036854775807"],
    ["9007199254740992", "9007199254740993", "9007199254740992.0", "9.007199254740992e15"],
    ["1e3", "1000", "1_000", "0x3e8"],
    [
        UUID,
        "0B9F2A7E-5C1D-4E3F-8A6B-7D8C9E0F1A2B",
        "0b9f2a7e5c1d4e3f8a6b7d8c9e0f1a2b",
        "{0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2b}",
    ],
    [
        UUID,
        "0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2c",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
    [
        "00000000-0000-0000-0000-000000000007",
        "7",
        "00000000000000000000000000000007",
        "00000000-0000-0000-0000-00000000000G",
    ],
    ["7", UUID, "a", "-7"],
    ["12345678901234567890123456789012", "1234567890123456", "12345678", "123456789012"],
    ["true", "1", "t", "TRUE"],
    ["null", "NULL", "\u{200b}", " "],
    ["[7]", "{\"id\":7}", "\"7\"", "7"],
    ["O'Brien", "O''Brien", "say \"a\"", "a\\"],
    ["é", "e\u{301}", "É", "e"],
    ["%", "_", "?1", "$1"],
    ["line\nbreak", "line\\nbreak", "line break", "line\r\nbreak"],
    // A UUID, its short form, the form of that one, and a text that is the form of none.
    [UUID, SHORT, "\u{1}\u{1}%hPw}DZNX*SPOa!Ym~hr", "\u{1}!!!!!!!!!!!!!!!!!!!!"],
    ["\u{1}", "\u{1}\u{1}", "\u{1}7", "\u{1}\u{1}7"],
    [UUID, "\u{1}0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2b", "\u{1}a", "\u{2}a"],
    ["\u{1}7", "7", "7\u{1}", "\u{1}07"],
    ["\u{8}", "\u{1b}", "\u{7f}", "\u{85}"],
    ["7", "7e0", "7.", "\u{667}"],
    ["-7", "--7", "\u{2212}7", "-07"],
    [
        UUID,
        "0b9f2a7e-5c1d-4E3F-8a6b-7d8c9e0f1a2b",
        "0b9f2a7e-5c1d4e3f-8a6b-7d8c-9e0f1a2b",
        "0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2b ",
    ],
    ["a", "A", "a ", "\u{ff41}"],
    ["ß", "ss", "SS", "ẞ"],
    ["\u{301}", "\u{300}", "\u{301}\u{300}", "\u{300}\u{301}"],
    ["\u{c5}", "A\u{30a}", "\u{212b}", "a\u{30a}"],
    ["\u{1e9b}\u{323}", "\u{1e69}", "s\u{323}\u{307}", "s\u{307}\u{323}"],
];

/// Names of roles and permissions, none of which is the plain name of another.
const NAMES: &[&[(&str, &str)]] = &[
    &[("r0", "7"), ("r1", "07"), ("r2", "7.0"), ("p0", "-0"), ("p1", "0"), ("p2", "-1"), ("g0", "9")],
    &[
        ("r0", UUID),
        ("r1", "0B9F2A7E-5C1D-4E3F-8A6B-7D8C9E0F1A2B"),
        ("r2", "0b9f2a7e5c1d4e3f8a6b7d8c9e0f1a2b"),
        ("p0", "0b9f2a7e-5c1d-4e3f-8a6b-7d8c9e0f1a2c"),
    ],
    &[("r0", "it's"), ("r1", "it''s"), ("p0", "say \"p0\""), ("p1", "p\\1"), ("g0", "true"), ("g1", "null")],
    &[("r0", UUID), ("r1", SHORT), ("r2", "\u{1}r2"), ("p0", "\u{1}"), ("p1", "\u{1}\u{1}"), ("a", "\u{2}")],
    &[
        ("r0", "7"),
        ("r1", "7e0"),
        ("r2", " 7"),
        ("p0", "7 "),
        ("p1", "+7"),
        ("g0", "\u{7f}"),
        ("a", "\u{301}"),
    ],
    &[("r0", "é"), ("r1", "e\u{301}"), ("r2", "É"), ("p0", "%"), ("p1", "_"), ("p2", " ")],
];

/// One way to write ids and names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spelling {
    ids: usize,
    is_mixed: bool,
    turn: usize,
    names: usize,
}

impl Spelling {
    /// A spelling from four choices; that of zeros leaves everything as it is.
    pub fn of([ids, mixed, turn, names]: [u8; 4]) -> Self {
        // Half of the samples keep their ids, two thirds their names: what is special about either is rare.
        let ids = usize::from(ids) % (2 * IDS.len());
        let names = usize::from(names) % (3 * NAMES.len());
        Self {
            ids: if ids > IDS.len() { 0 } else { ids },
            is_mixed: mixed % 3 == 2,
            turn: usize::from(turn) % PLAIN.len(),
            names: if names > NAMES.len() { 0 } else { names },
        }
    }

    /// A policy of plain texts: ids are between braces, and every other quoted text may be a name.
    pub fn policy(self, plain: &str) -> String {
        let mut text = String::new();
        for (number, part) in plain.split('"').enumerate() {
            if number % 2 == 0 {
                text.push_str(part);
                continue;
            }
            let ty = text.strip_suffix('{').map_or("String", |before| {
                before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
            });
            let written = quoted(&self.id(ty, part));
            text.push_str(&written);
        }
        text
    }

    /// A value.
    pub fn value(self, plain: &Value) -> Value {
        Value { ty: plain.ty.clone(), id: self.id(&plain.ty, &plain.id) }
    }

    /// A question.
    pub fn question(self, plain: &Question) -> Question {
        let mut question = plain.clone();
        for var in &mut question.vars {
            let ty = var.ty.clone().unwrap_or_default();
            var.domain = match &var.domain {
                Domain::Given(id) => Domain::Given(self.id(&ty, id)),
                Domain::GivenOneOf(ids) => {
                    Domain::GivenOneOf(ids.iter().map(|id| self.id(&ty, id)).collect())
                }
                Domain::Wanted => Domain::Wanted,
                Domain::Ignored => Domain::Ignored,
            };
        }
        question
    }

    fn id(self, ty: &str, plain: &str) -> String {
        match ty {
            "Integer" | "Boolean" => plain.to_owned(),
            "String" => self.name(plain).to_owned(),
            ty => self.entity(ty, plain).to_owned(),
        }
    }

    fn name(self, plain: &str) -> &str {
        let names = self.names.checked_sub(1).map_or(&[][..], |number| NAMES[number]);
        names.iter().find(|(known, _)| *known == plain).map_or(plain, |(_, name)| name)
    }

    fn entity<'t>(self, ty: &str, plain: &'t str) -> &'t str {
        let (Some(number), Some(at)) =
            (self.ids.checked_sub(1), PLAIN.iter().position(|known| *known == plain))
        else {
            return plain;
        };
        let offset = if self.is_mixed { ty.len() } else { 0 };
        IDS[(number + offset) % IDS.len()][(at + self.turn) % PLAIN.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::{IDS, NAMES, PLAIN, SHORT, UUID};
    use portcullis_compiler::compact::{Compact, compact};
    use std::collections::BTreeSet;

    /// The short form is the one that the store has for the UUID; each row and each list of names has no text
    /// twice.
    #[test]
    fn texts_that_look_alike_differ() {
        assert_eq!(compact(UUID), Compact::Text(SHORT.into()));
        for row in IDS {
            assert_eq!(row.iter().collect::<BTreeSet<_>>().len(), PLAIN.len(), "{row:?}");
        }
        for names in NAMES {
            assert_eq!(
                names.iter().map(|(_, name)| name).collect::<BTreeSet<_>>().len(),
                names.len(),
                "{names:?}"
            );
        }
    }
}
