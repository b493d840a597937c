//! Alternatives that answer with different literals for the same reason are one.

use crate::algebra::aliases::{TakenAliases, number_aliases};
use crate::algebra::{Condition, Embedded, EmbeddedId, Expr, From, FromKind, Select};
use indexmap::IndexMap;

/// Makes one select of those that answer with different literals under the same condition:
///
/// ```text
/// select "close" where a   ∪   select "edit" where a     ─▶     select v from ("close"), ("edit") where a
/// ```
pub(super) fn merge_answers(selects: &mut Vec<Select>, embedded: &mut Vec<Embedded>) {
    let mut literals_of: IndexMap<Vec<Condition>, Vec<Select>> = IndexMap::new();
    for select in std::mem::take(selects) {
        // The sources and conditions, as the one condition that such a row exists.
        let mut body = Select { output: Vec::new(), ..select.clone() };
        number_aliases([&mut body]);
        literals_of.entry(vec![Condition::Any(vec![body])]).or_default().push(select);
    }
    for (_, mut same) in literals_of {
        let literal = |select: &Select| match select.output.as_slice() {
            [Expr::Const(literal)] => Some(*literal),
            _ => None,
        };
        let literals: Option<Vec<_>> = same.iter().map(literal).collect();
        let Some(mut rows) = literals.filter(|literals| literals.len() > 1) else {
            selects.append(&mut same);
            continue;
        };
        rows.sort_unstable();
        rows.dedup();
        let alias = TakenAliases::of(&same).take();
        let rows = Some(rows.into_iter().map(|literal| vec![literal]).collect());
        let rows = EmbeddedId::push(embedded, Embedded { rows, part: None });
        if let Some(mut select) = same.into_iter().next() {
            select.from.insert(0, From { alias, kind: FromKind::Embedded(rows) });
            select.output = vec![Expr::Column { alias, column: 0 }];
            selects.push(select);
        }
    }
}
