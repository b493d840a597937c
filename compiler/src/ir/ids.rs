//! Typed ids for the parts of a program, with a `Debug` form that is readable in snapshots.

macro_rules! id {
    ($(#[$doc:meta])* $vis:vis $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name($vis u32);

        impl $name {
            /// The id as an index into its table.
            $vis fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`.
            $vis fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }

        impl $crate::id_vec::Id for $name {
            fn of_index(index: usize) -> Self {
                Self::from_index(index)
            }

            fn to_index(self) -> usize {
                self.index()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "#{}"), self.0)
            }
        }
    };
}

pub(crate) use id;

id!(/// A type of the program.
    pub TypeId, "type");
id!(/// A predicate: a name with an arity.
    pub PredId, "pred");
id!(/// A rule of the program.
    pub RuleId, "rule");
id!(/// A variable of one rule.
    pub VarId, "var");
id!(/// A literal of the program.
    pub ConstId, "const");

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
