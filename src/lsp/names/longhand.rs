//! The built-in predicates whose strings name roles, permissions and relations, and the types of variables as
//! far as a rule states them.

use super::blocks::{Blocks, DeclaredKind};
use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use portcullis_compiler::syntax::ast::{Block, BlockKind, Call, Condition, Param, Spanned, Term};
use std::collections::HashMap;

/// Which kind of declaration a string names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsp) enum NamedKind {
    Role,
    Permission,
    Relation,
}

impl NamedKind {
    /// Whether a declaration is of this kind.
    pub(in crate::lsp) fn is(self, kind: DeclaredKind<'_>) -> bool {
        match kind {
            DeclaredKind::Role => self == Self::Role,
            DeclaredKind::Permission => self == Self::Permission,
            DeclaredKind::Relation(_) => self == Self::Relation,
        }
    }
}

/// Which argument of a built-in predicate names a declaration, and which one has the type of its block.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct Naming {
    pub(in crate::lsp) wanted: NamedKind,
    /// The argument with the name.
    pub(in crate::lsp) name: usize,
    /// The argument whose type has the block; `None` for the global block.
    pub(in crate::lsp) of: Option<usize>,
}

/// How a predicate names declarations, if it does.
pub(in crate::lsp) fn naming(predicate: &str, arity: usize) -> Option<Naming> {
    let wanted = match predicate {
        HAS_ROLE => NamedKind::Role,
        HAS_PERMISSION | ALLOW => NamedKind::Permission,
        HAS_RELATION => NamedKind::Relation,
        _ => return None,
    };
    match (wanted, arity) {
        (NamedKind::Role | NamedKind::Permission, 2) => Some(Naming { wanted, name: 1, of: None }),
        (NamedKind::Role | NamedKind::Permission, 3) => Some(Naming { wanted, name: 1, of: Some(2) }),
        (NamedKind::Relation, 3) => Some(Naming { wanted, name: 1, of: Some(0) }),
        (_, _) => None,
    }
}

/// The types of a rule's variables: those that it states, and those of the relations that it follows.
#[derive(Debug, Default)]
pub(super) struct Types<'p> {
    of: HashMap<&'p str, &'p str>,
}

impl<'p> Types<'p> {
    /// The types in a rule or an assertion.
    pub(super) fn of(params: &'p [Param], body: Option<&'p Condition>, blocks: &Blocks<'p>) -> Self {
        let mut types = Self::default();
        for Param { term, ty } in params {
            if let (Term::Variable(name), Some(ty)) = (&term.value, ty) {
                types.of.entry(name).or_insert(&ty.value);
            }
        }
        let mut calls = Vec::new();
        body.into_iter().for_each(|body| types.condition(body, &mut calls));
        // A chain of relations is mostly written in the order in which it is followed.
        for _ in 0..4 {
            let n_known = types.of.len();
            calls.iter().for_each(|call| types.follow(call, blocks));
            if types.of.len() == n_known {
                break;
            }
        }
        types
    }

    /// The types in the calls of a block's shorthand.
    pub(super) fn of_block(block: &'p Block) -> Self {
        let is_typed = matches!(block.kind, BlockKind::Actor | BlockKind::Resource);
        Self { of: is_typed.then_some(("resource", block.name.value.as_str())).into_iter().collect() }
    }

    fn condition(&mut self, condition: &'p Condition, calls: &mut Vec<&'p Call>) {
        match condition {
            Condition::And(sides, _) => sides.iter().for_each(|side| self.condition(side, calls)),
            Condition::Paren(inner, _) => self.condition(inner, calls),
            // A side of an "or" and a negation give the rest of the rule no types.
            Condition::Or(..) | Condition::Not(..) => {}
            Condition::Matches { variable, ty, .. } => {
                self.of.entry(&variable.value).or_insert(&ty.value);
            }
            Condition::Call(call) => calls.push(call),
            Condition::Compare { .. } | Condition::In { .. } | Condition::Boolean(..) => {}
        }
    }

    /// The type of the value that `has_relation` leads to.
    fn follow(&mut self, call: &'p Call, blocks: &Blocks<'p>) {
        let [of, name, to] = call.args.as_slice() else { return };
        let (Term::String(name), Term::Variable(to)) = (&name.value, &to.value) else { return };
        let block = self.term(of).and_then(|ty| blocks.named(ty));
        if call.name.value == HAS_RELATION
            && let Some(ty) = block.and_then(|block| blocks.related(block, name))
        {
            self.of.entry(to).or_insert(ty);
        }
    }

    /// The type of a term, if it is known.
    pub(super) fn term(&self, term: &'p Spanned<Term>) -> Option<&'p str> {
        match &term.value {
            Term::Variable(name) => self.of.get(name.as_str()).copied(),
            Term::Object { ty, .. } => Some(&ty.value),
            Term::String(_) | Term::Integer(_) | Term::Boolean(_) | Term::CurrentUnixTime => None,
        }
    }
}
