//! Small copyable ids for the things of a program; their `Debug` is readable in snapshots.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "#{}"), self.0)
            }
        }
    };
}

id!(/// A type of the program.
    TypeId, "type");
id!(/// A predicate: a name with an arity.
    PredId, "pred");
id!(/// A rule of the program.
    RuleId, "rule");
id!(/// A variable of one rule.
    VarId, "var");
id!(/// A literal of the program.
    ConstId, "const");

impl TypeId {
    /// `String`
    pub const STRING: Self = Self(0);
    /// `Integer`
    pub const INTEGER: Self = Self(1);
    /// `Boolean`
    pub const BOOLEAN: Self = Self(2);
    /// `Actor`
    pub const ACTOR: Self = Self(3);
    /// `Resource`
    pub const RESOURCE: Self = Self(4);
    /// Every type that the policy does not mention.
    pub const FOREIGN: Self = Self(5);
}
