//! A rule before flattening: a condition of `and`, `or` and `not` over tests, with resolved names.
//!
//! Data types only. Shorthand ([`desugar`](super::desugar)) and longhand ([`lower`](super::lower)) both
//! become a [`NestedRule`], the input of [`scope`](super::scope) and [`flatten`](super::flatten).

use super::tables::Tables;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId, Polarity, PredId, Rule, Term, TypeId, VarId, VarType, Variable};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// A rule whose body may nest.
#[derive(Clone, Debug)]
pub(super) struct NestedRule {
    pub(super) head: PredId,
    pub(super) params: Vec<Term>,
    pub(super) vars: IdVec<VarId, Variable>,
    pub(super) body: Formula,
    pub(super) span: Span,
    names: FxHashMap<String, VarId>,
}

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    /// All hold; true if empty.
    And(Vec<Formula>),
    /// At least one holds; false if empty.
    Or(Vec<Formula>),
    /// Does not hold.
    Not(Box<Formula>),
    /// One test.
    Test(AtomicTest),
}

/// An atomic test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AtomicTest {
    pub(super) kind: TestKind,
    pub(super) span: Span,
}

/// The kind of a test: like [`LiteralKind`](crate::ir::LiteralKind), but closed under negation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    Atom { polarity: Polarity, pred: PredId, args: Vec<Term> },
    Compare { op: CompareOp, left: Term, right: Term },
    OneOf { polarity: Polarity, term: Term, values: Vec<ConstId> },
    OfType { polarity: Polarity, var: VarId, types: Vec<TypeId> },
}

impl NestedRule {
    /// A rule with a true body.
    pub(super) fn new(head: PredId, span: Span) -> Self {
        let (params, vars, names) = (Vec::new(), IdVec::new(), FxHashMap::default());
        Self { head, params, vars, body: Formula::truth(true), span, names }
    }

    /// A new variable that no name refers to.
    pub(super) fn new_var(&mut self, name: &str, ty: VarType) -> VarId {
        self.vars.push(Variable { name: name.to_owned(), ty })
    }

    /// The variable of this name; each `_` is a new one.
    pub(super) fn var(&mut self, name: &str) -> VarId {
        if name == "_" {
            return self.new_var(name, VarType::Any);
        }
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.new_var(name, VarType::Any);
        self.names.insert(name.to_owned(), id);
        id
    }

    /// Makes a name refer to a variable.
    pub(super) fn bind(&mut self, name: &str, var: VarId) {
        self.names.insert(name.to_owned(), var);
    }

    /// The types of a term, if known.
    pub(super) fn term_types(&self, tables: &Tables, term: Term) -> Option<Vec<TypeId>> {
        types_of(tables, |var| &self.vars[var].ty, term)
    }

    /// Narrows a variable to these concrete types.
    pub(super) fn narrow(&mut self, var: VarId, types: &[TypeId]) {
        intersect(&mut self.vars[var].ty, types);
    }
}

impl Formula {
    /// `true` or `false`.
    pub(super) fn truth(value: bool) -> Self {
        if value { Self::And(Vec::new()) } else { Self::Or(Vec::new()) }
    }

    /// A positive atom.
    pub(super) fn atom(pred: PredId, args: Vec<Term>, span: Span) -> Self {
        Self::Test(AtomicTest { kind: TestKind::Atom { polarity: Polarity::Positive, pred, args }, span })
    }

    /// Calls `each` with every test inside, including those under a `not`.
    pub(super) fn for_each(&self, each: &mut impl FnMut(&AtomicTest)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.for_each(each)),
            Self::Not(inner) => inner.for_each(each),
            Self::Test(test) => each(test),
        }
    }
}

impl AtomicTest {
    /// The variables in order, with repetitions.
    pub(super) fn vars(&self) -> impl Iterator<Item = VarId> {
        let (terms, more): (&[Term], [Option<VarId>; 2]) = match &self.kind {
            TestKind::Atom { args, .. } => (args, [None, None]),
            TestKind::Compare { left, right, .. } => (&[], [variable(*left), variable(*right)]),
            TestKind::OneOf { term, .. } => (&[], [variable(*term), None]),
            TestKind::OfType { var, .. } => (&[], [Some(*var), None]),
        };
        terms.iter().filter_map(|&term| variable(term)).chain(more.into_iter().flatten())
    }

    /// Replaces the variables.
    pub(super) fn map_vars(&mut self, map: impl Fn(VarId) -> VarId) {
        let on = |term: &mut Term| {
            if let Term::Var(var) = term {
                *var = map(*var);
            }
        };
        match &mut self.kind {
            TestKind::Atom { args, .. } => args.iter_mut().for_each(on),
            TestKind::Compare { left, right, .. } => [left, right].into_iter().for_each(on),
            TestKind::OneOf { term, .. } => on(term),
            TestKind::OfType { var, .. } => *var = map(*var),
        }
    }

    /// The opposite test.
    pub(super) fn negated(mut self) -> Self {
        match &mut self.kind {
            TestKind::Atom { polarity, .. }
            | TestKind::OneOf { polarity, .. }
            | TestKind::OfType { polarity, .. } => {
                *polarity = match polarity {
                    Polarity::Positive => Polarity::Negated,
                    Polarity::Negated => Polarity::Positive,
                };
            }
            TestKind::Compare { op, .. } => {
                *op = match op {
                    CompareOp::Equal => CompareOp::NotEqual,
                    CompareOp::NotEqual => CompareOp::Equal,
                    CompareOp::Less => CompareOp::GreaterOrEqual,
                    CompareOp::LessOrEqual => CompareOp::Greater,
                    CompareOp::Greater => CompareOp::LessOrEqual,
                    CompareOp::GreaterOrEqual => CompareOp::Less,
                };
            }
        }
        self
    }
}

/// The variable, if the term is one.
pub(super) fn variable(term: Term) -> Option<VarId> {
    match term {
        Term::Var(var) => Some(var),
        Term::Const(_) | Term::Now => None,
    }
}

/// Narrows a type set to these sorted types; returns whether it changed.
pub(super) fn intersect(ty: &mut VarType, types: &[TypeId]) -> bool {
    match ty {
        VarType::Any => {
            *ty = VarType::OneOf(types.to_vec());
            true
        }
        VarType::OneOf(old) => {
            let n_before = old.len();
            old.retain(|ty| types.binary_search(ty).is_ok());
            old.len() != n_before
        }
    }
}

/// The types of a term of a finished rule, if known.
pub(super) fn term_types(tables: &Tables, rule: &Rule, term: Term) -> Option<Vec<TypeId>> {
    types_of(tables, |var| &rule.vars[var].ty, term)
}

fn types_of<'v>(
    tables: &Tables,
    type_of_var: impl FnOnce(VarId) -> &'v VarType,
    term: Term,
) -> Option<Vec<TypeId>> {
    match term {
        Term::Var(var) => match type_of_var(var) {
            VarType::OneOf(types) => Some(types.clone()),
            VarType::Any => None,
        },
        Term::Const(constant) => Some(vec![tables.constant_type(constant)]),
        Term::Now => Some(vec![TypeId::INTEGER]),
    }
}
