//! Which token of the source is which token of the printed text.

use crate::syntax::token::{Kind, Tokens};

/// For each token of the source its token in the printed text; `None` for one that the printer leaves out: a
/// comma at the end of a list, a stray `;`, an empty `setup`. `None` at all if the texts differ in more.
pub(super) fn align(source: &Tokens, printed: &Tokens) -> Option<Vec<Option<usize>>> {
    let mut next = 0;
    let mut places = Vec::with_capacity(source.kinds.len());
    for &kind in &source.kinds {
        // The printer ends a broken list with a comma.
        if printed.kind(next) == Some(Kind::Comma) && kind.is_closer() {
            next += 1;
        }
        let is_same = printed.kind(next) == Some(kind);
        places.push(is_same.then_some(next));
        next += usize::from(is_same);
    }
    (next == printed.kinds.len()).then_some(places)
}
