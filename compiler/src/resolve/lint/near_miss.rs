//! Finds predicates that are almost built in: `has_roles`, or `has_role` with four arguments.

use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::resolve::tables::Tables;
use crate::syntax::ast::{Call, Item, Name, Policy};
use rustc_hash::FxHashSet;

/// The built-in predicates with the numbers of arguments they have.
const BUILT_IN: [(&str, &[usize]); 4] =
    [("has_role", &[2, 3]), ("has_permission", &[2, 3]), ("has_relation", &[3]), ("allow", &[2, 3])];

/// Finds predicates that are almost built in; each name once.
pub(super) struct NearMisses {
    known: FxHashSet<(String, usize)>,
    reported: FxHashSet<(String, usize)>,
}

impl NearMisses {
    /// Knows what the policy declares on purpose.
    pub(super) fn new(policy: &Policy) -> Self {
        let mut known = FxHashSet::default();
        for item in &policy.items {
            // What is declared on purpose is no slip.
            if let Item::Declare(declare) = item {
                known.insert((declare.name.value.clone(), declare.types.len()));
            }
        }
        Self { known, reported: FxHashSet::default() }
    }

    /// Looks at a call.
    pub(super) fn check_call(&mut self, tables: &mut Tables, call: &Call) {
        self.check(tables, &call.name, call.args.len());
    }

    /// Looks at a predicate with this many arguments.
    pub(super) fn check(&mut self, tables: &mut Tables, name: &Name, arity: usize) {
        let text = name.value.as_str();
        let near = suggest::near(text, BUILT_IN.map(|(name, _)| name));
        let exact = BUILT_IN.iter().find(|(built_in, _)| *built_in == text);
        let is_right = exact.is_some_and(|(_, arities)| arities.contains(&arity));
        if is_right || (exact.is_none() && near.is_none()) {
            return;
        }
        let key = (text.to_owned(), arity);
        if self.known.contains(&key) || !self.reported.insert(key) {
            return;
        }
        let diagnostic =
            match (exact, near) {
                (Some((_, arities)), _) => {
                    let counts: Vec<String> = arities.iter().map(ToString::to_string).collect();
                    let title = format!("`{text}` has {} arguments, not {arity}", counts.join(" or "));
                    Diagnostic::new(Code::BuiltInNearMiss, title, name.span, "a built-in predicate")
                        .with_note("with another number of arguments it is a predicate of its own")
                }
                (None, Some(near)) => {
                    let title = format!("`{text}` is almost the built-in predicate `{near}`");
                    Diagnostic::new(Code::BuiltInNearMiss, title, name.span, "a predicate of its own")
                        .with_fix(format!("`{near}` is meant"), name.span, near)
                }
                (None, None) => return,
            };
        tables.report(diagnostic);
    }
}
