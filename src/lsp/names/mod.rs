//! The names in a policy and their positions, for definitions, references and renaming.
//!
//! In: a tree. Out: every occurrence of a predicate, a type, a variable, a fixture, and of a role, permission
//! or relation. A declared name is one thing in all blocks that inherit it. The strings of `has_role`,
//! `has_permission`, `has_relation` and `allow` name declarations, too: those of the block of their resource,
//! or, if its type is not known, each declaration of that name.

pub(super) mod blocks;
pub(super) mod longhand;
mod visit;

use blocks::Blocks;
use portcullis_compiler::source::Span;
use portcullis_compiler::syntax::ast::Policy;
use visit::Visit;

/// What a name refers to. Names with equal values refer to the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Named<'p> {
    /// A predicate with this many arguments.
    Predicate(&'p str, usize),
    /// A type.
    Type(&'p str),
    /// A role, permission or relation, as its group in [`Blocks`].
    Declared(usize),
    /// A variable of the statement that begins at this byte.
    Variable(u32, &'p str),
    /// A test fixture.
    Fixture(&'p str),
}

/// A name at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occurrence<'p> {
    /// What it names.
    pub(super) named: Named<'p>,
    /// Its position.
    pub(super) span: Span,
    /// What it is there for.
    pub(super) kind: OccurrenceKind,
}

/// What a name is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OccurrenceKind {
    /// To be defined: by the head of a rule, a `declare`, a block, a list of a block, a fixture.
    Definition,
    /// To refer to what is defined elsewhere.
    Reference,
}

/// All names of a policy.
#[derive(Debug)]
pub(super) struct Names<'p> {
    /// What the blocks declare.
    pub(super) blocks: Blocks<'p>,
    /// In source order. A string that may name several declarations occurs once for each.
    pub(super) found: Vec<Occurrence<'p>>,
}

impl<'p> Names<'p> {
    /// The names of a policy.
    pub(super) fn of(policy: &'p Policy) -> Self {
        let blocks = Blocks::of(policy);
        let mut visit = Visit::new(&blocks);
        policy.items.iter().for_each(|item| visit.item(item));
        let mut found = visit.found;
        found.sort_by_key(|name| name.span.start);
        Self { blocks, found }
    }

    /// The names at a byte, or right before it.
    pub(super) fn at(&self, byte: usize) -> impl Iterator<Item = &Occurrence<'p>> {
        self.found
            .iter()
            .filter(move |name| (name.span.start as usize..=name.span.end as usize).contains(&byte))
    }
}
