//! The state of one rule copy: which variables are equal, typed, valued and bound.
//!
//! A frame starts from a rule's variables and only ever learns: variables are merged by `=`, narrowed by
//! the types of what they meet, and replaced by literals. A contradiction makes the copy impossible.

use crate::id_vec::IdVec;
use crate::ir::{ConstId, QuestionVarId, TypeId, VarId, VarType, Variable};
use std::borrow::Cow;

/// What a variable was replaced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// A literal.
    Const(ConstId),
    /// The value of a question's variable.
    Given(QuestionVarId),
    /// `@current_unix_time`
    Now,
}

/// The types a variable may still have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeSet<'p> {
    /// Any type.
    Any,
    /// One of several types.
    OneOf(Cow<'p, [TypeId]>),
    /// Exactly one type.
    One(TypeId),
}

impl<'p> TypeSet<'p> {
    fn declared(ty: &'p VarType) -> Self {
        match ty {
            VarType::Any => Self::Any,
            VarType::OneOf(types) => match types.as_slice() {
                [only] => Self::One(*only),
                _ => Self::OneOf(Cow::Borrowed(types)),
            },
        }
    }

    /// Whether a value of this type is possible.
    pub(super) fn admits(&self, ty: TypeId) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(types) => types.contains(&ty),
            Self::One(only) => *only == ty,
        }
    }

    /// The types that both admit; `None` if there is none.
    fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, types) | (types, Self::Any) => Some(types.clone()),
            (Self::One(ty), types) | (types, Self::One(ty)) => types.admits(*ty).then_some(Self::One(*ty)),
            (Self::OneOf(left), Self::OneOf(right)) => {
                let both: Vec<TypeId> = left.iter().copied().filter(|ty| right.contains(ty)).collect();
                match both.as_slice() {
                    [] => None,
                    [only] => Some(Self::One(*only)),
                    _ => Some(Self::OneOf(Cow::Owned(both))),
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Cell<'p> {
    /// The variable it was merged into; itself if none.
    root: VarId,
    types: TypeSet<'p>,
    value: Option<Replacement>,
    /// A positive column has this variable.
    bound: bool,
}

/// The variables of one rule copy.
#[derive(Clone, Debug)]
pub(super) struct Frame<'p> {
    cells: IdVec<VarId, Cell<'p>>,
    /// Pairs of values that must be equal when the statement runs.
    pub(super) equal: Vec<(Replacement, Replacement)>,
}

/// A contradiction: the rule copy has no answers.
#[derive(Debug)]
pub(super) struct Impossible;

impl<'p> Frame<'p> {
    /// A frame that knows only the declared types; `None` if a variable can have no type at all.
    pub(super) fn new(vars: &'p IdVec<VarId, Variable>) -> Option<Self> {
        let cells = vars.enumerate().map(|(id, var)| {
            let types = TypeSet::declared(&var.ty);
            let possible = !matches!(&types, TypeSet::OneOf(types) if types.is_empty());
            possible.then_some(Cell { root: id, types, value: None, bound: false })
        });
        Some(Self { cells: cells.collect::<Option<_>>()?, equal: Vec::new() })
    }

    /// How many variables the rule has.
    pub(super) fn n_variables(&self) -> usize {
        self.cells.len()
    }

    /// The variable that represents this one and all merged with it.
    pub(super) fn root(&self, var: VarId) -> VarId {
        let mut at = var;
        while self.cells[at].root != at {
            at = self.cells[at].root;
        }
        at
    }

    fn cell(&self, var: VarId) -> &Cell<'p> {
        &self.cells[self.root(var)]
    }

    fn cell_mut(&mut self, var: VarId) -> &mut Cell<'p> {
        let root = self.root(var);
        &mut self.cells[root]
    }

    /// What the variable was replaced by.
    pub(super) fn value(&self, var: VarId) -> Option<Replacement> {
        self.cell(var).value
    }

    /// The types it may still have.
    pub(super) fn types(&self, var: VarId) -> &TypeSet<'p> {
        &self.cell(var).types
    }

    /// Its type, once there is only one.
    pub(super) fn only_type(&self, var: VarId) -> Option<TypeId> {
        match self.types(var) {
            TypeSet::One(ty) => Some(*ty),
            TypeSet::Any | TypeSet::OneOf(_) => None,
        }
    }

    /// Whether a literal, the question or a positive column gives it a value.
    pub(super) fn is_bound(&self, var: VarId) -> bool {
        let cell = self.cell(var);
        cell.bound || cell.value.is_some()
    }

    /// Records that a positive column enumerates it.
    pub(super) fn mark_bound(&mut self, var: VarId) {
        self.cell_mut(var).bound = true;
    }

    /// Narrows it to one type.
    pub(super) fn narrow(&mut self, var: VarId, ty: TypeId) -> Result<(), Impossible> {
        let cell = self.cell_mut(var);
        if !cell.types.admits(ty) {
            return Err(Impossible);
        }
        cell.types = TypeSet::One(ty);
        Ok(())
    }

    /// Excludes types from it; leaves an unrestricted variable as it is and says so with `false`.
    pub(super) fn exclude(&mut self, var: VarId, excluded: &[TypeId]) -> Result<bool, Impossible> {
        let cell = self.cell_mut(var);
        match &cell.types {
            TypeSet::Any => Ok(false),
            TypeSet::One(ty) => {
                if excluded.contains(ty) {
                    Err(Impossible)
                } else {
                    Ok(true)
                }
            }
            TypeSet::OneOf(types) => {
                let left: Vec<TypeId> = types.iter().copied().filter(|ty| !excluded.contains(ty)).collect();
                cell.types = match left.as_slice() {
                    [] => return Err(Impossible),
                    [only] => TypeSet::One(*only),
                    _ => TypeSet::OneOf(Cow::Owned(left)),
                };
                Ok(true)
            }
        }
    }

    /// Replaces it by a value of a type; a second value must be equal to the first.
    ///
    /// `same` decides two values where that is known at compile time.
    pub(super) fn assign(
        &mut self,
        var: VarId,
        value: Replacement,
        ty: TypeId,
        same: impl Fn(Replacement, Replacement, TypeId) -> Option<bool>,
    ) -> Result<(), Impossible> {
        self.narrow(var, ty)?;
        let cell = self.cell_mut(var);
        let Some(old) = cell.value else {
            cell.value = Some(value);
            return Ok(());
        };
        match same(old, value, ty) {
            Some(true) => {}
            Some(false) => return Err(Impossible),
            None => {
                // A literal says more than a parameter: keep it, and compare them when the statement runs.
                if matches!(value, Replacement::Const(_)) {
                    cell.value = Some(value);
                }
                self.equal.push((old, value));
            }
        }
        Ok(())
    }

    /// Merges two variables.
    pub(super) fn merge(
        &mut self,
        left: VarId,
        right: VarId,
        same: impl Fn(Replacement, Replacement, TypeId) -> Option<bool>,
    ) -> Result<(), Impossible> {
        let (left, right) = (self.root(left), self.root(right));
        if left == right {
            return Ok(());
        }
        let moved = self.cell_mut(right).clone();
        self.cell_mut(right).root = left;
        let cell = self.cell_mut(left);
        cell.types = cell.types.meet(&moved.types).ok_or(Impossible)?;
        cell.bound |= moved.bound;
        match (moved.value, self.only_type(left)) {
            (None, _) => Ok(()),
            (Some(value), Some(ty)) => self.assign(left, value, ty, same),
            (Some(_), None) => Err(Impossible),
        }
    }
}
