//! What explanations share: the rules of a question's shape over the relations of a catalog.

use crate::catalog::Catalog;
use crate::ordered::OrderedSet;
use crate::specialise::Traced;

/// What explanations of all questions of one shape share.
#[derive(Debug)]
pub struct Rules {
    /// The catalog, extended with an empty relation for each kind of fact that has none.
    pub(super) catalog: Catalog,
    pub(super) n_stored: usize,
    pub(super) traced: Traced,
    /// Predicates whose facts are no suggestion.
    pub(super) derived: OrderedSet<String>,
    /// Whether rules that read kinds of fact of which there are none are missing.
    pub(super) is_cut: bool,
}
