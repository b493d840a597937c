//! Entities by their numbers, and the ids that they have in facts and questions.

use std::fmt::Write as _;

/// Somebody or something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    User(u32),
    Group(u32),
    Organization(u32),
    Folder(u32),
    Repository(u32),
    Issue(u32),
}

impl Entity {
    /// The name of its type.
    pub(crate) fn ty(self) -> &'static str {
        match self {
            Self::User(_) => "User",
            Self::Group(_) => "Group",
            Self::Organization(_) => "Organization",
            Self::Folder(_) => "Folder",
            Self::Repository(_) => "Repository",
            Self::Issue(_) => "Issue",
        }
    }

    /// Its id: a number, or that of a user, which is as long as a UUID and not in the order of the numbers.
    pub(crate) fn id(self) -> String {
        let mut id = String::new();
        self.write_id(&mut id);
        id
    }

    /// Appends its id; writing to a text cannot fail.
    pub(crate) fn write_id(self, out: &mut String) {
        let _ = match self {
            Self::User(number) => {
                let mixed = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                write!(
                    out,
                    "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
                    mixed >> 32,
                    (mixed >> 16) & 0xFFFF,
                    (mixed >> 4) & 0xFFF,
                    mixed & 0xFFF
                )
            }
            Self::Group(number)
            | Self::Organization(number)
            | Self::Folder(number)
            | Self::Repository(number)
            | Self::Issue(number) => write!(out, "{number}"),
        };
    }
}
