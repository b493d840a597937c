//! What explanations share: the rules of a question's shape over the relations of a catalog.

use super::suggest::search::Assumable;
use crate::catalog::{Catalog, SourceId};
use crate::ordered::OrderedSet;
use crate::specialise::Traced;

/// What explanations of all questions of one shape share.
#[derive(Debug)]
pub struct Rules {
    /// The catalog, extended with an empty relation for each kind of fact that has none.
    pub(super) catalog: Catalog,
    pub(super) n_stored: usize,
    pub(super) traced: Traced,
    /// Predicates whose facts are not suggested.
    pub(super) derived: OrderedSet<String>,
    /// Predicates that rules derive and that are apparently never stored: they are not roles or
    /// relations, and no `declare` or fact names them. Their facts are suggested only if no others
    /// help.
    pub(super) helpers: OrderedSet<String>,
    /// Whether rules are missing that read kinds of fact that do not exist.
    pub(super) is_cut: bool,
}

impl Rules {
    /// Whether a fact of this relation may be suggested: one that the policy derives anyway would not be a
    /// useful suggestion.
    pub(super) fn may_assume(&self, source: SourceId, assumable: Assumable) -> bool {
        let predicate = &self.catalog.relations[source].predicate;
        let is_wanted = match assumable {
            Assumable::Stored => !self.helpers.contains(predicate),
            Assumable::Any => true,
        };
        is_wanted && !self.derived.contains(predicate)
    }
}
