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

            /// The id of the entry at `index`. Every table is bounded far below the largest id, see
            /// [`limits`](crate::limits).
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
    /// Represents the types that the policy does not mention.
    pub const FOREIGN: Self = Self(5);

    /// The type of a question's variable that the policy does not mention; `var` is the question's first
    /// variable of the type, so that two such types differ.
    pub fn of_unmentioned(var: usize) -> Self {
        Self(u32::try_from(var).map_or(Self::LEAST_UNMENTIONED, |var| u32::MAX.saturating_sub(var)))
    }

    /// The first variable of the question with this type, if the policy does not mention the type.
    pub fn unmentioned_var(self) -> Option<usize> {
        (self.0 >= Self::LEAST_UNMENTIONED).then(|| (u32::MAX - self.0) as usize)
    }

    /// The ids from here belong to no [`TypeDef`](super::TypeDef): a policy has fewer types, and a question
    /// fewer variables, than this leaves to each.
    const LEAST_UNMENTIONED: u32 = u32::MAX / 2;
}
