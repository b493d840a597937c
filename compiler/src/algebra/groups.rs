//! The sources of a select that conditions connect, seen from its main ones.

use super::aliases::mentioned;
use super::ids::Alias;
use super::select::{Condition, Expr, From, FromKind, Select};
use crate::catalog::ColumnId;

/// A select around its main sources.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// The main sources, and those that read one of their rows again.
    pub(crate) main: Vec<From>,
    /// The conditions that mention no other source.
    pub(crate) own: Vec<Condition>,
    /// The others, in the order of their first sources.
    pub(crate) groups: Vec<Group>,
}

/// Sources that conditions connect without the main ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The sources, in their order.
    pub(crate) from: Vec<From>,
    /// The conditions on the main sources, too.
    pub(crate) links: Vec<Condition>,
    /// The others that mention one of the sources.
    pub(crate) inner: Vec<Condition>,
}

/// The groups around the source `main` of a select.
pub(crate) fn groups(select: &Select, main: Alias) -> Around {
    around(select, &|expr| expr.alias() == Some(main))
}

/// The groups around all sources of a select whose columns are main values; other main values are those of
/// sources around the select.
pub(crate) fn around(select: &Select, is_main: &dyn Fn(Expr) -> bool) -> Around {
    let is_main_source = |alias: Alias| is_main(Expr::Column { alias, column: ColumnId::FIRST });
    let (main, others): (Vec<From>, Vec<From>) =
        select.from.iter().partition(|from| is_main_source(root(**from)));
    let is_of_main = |expr: Expr| {
        is_main(expr) || expr.alias().is_some_and(|alias| main.iter().any(|from| from.alias == alias))
    };
    let mut groups: Vec<Group> = Vec::new();
    for from in others {
        let row = root(from);
        match groups.iter_mut().find(|group| group.from.iter().any(|known| root(*known) == row)) {
            Some(group) => group.from.push(from),
            None => groups.push(Group { from: vec![from], ..Group::default() }),
        }
    }
    let mut own = Vec::new();
    for condition in &select.filter {
        let mentioned = mentioned(condition);
        let mut links =
            mentioned.iter().any(|alias| is_of_main(Expr::Column { alias: *alias, column: ColumnId::FIRST }));
        condition.for_each_expr(&mut |expr| links |= is_main(expr));
        let (touched, rest): (Vec<Group>, Vec<Group>) = groups
            .into_iter()
            .partition(|group| group.from.iter().any(|from| mentioned.contains(&from.alias)));
        groups = rest;
        if touched.is_empty() {
            own.push(condition.clone());
            continue;
        }
        let mut merged = Group::default();
        for group in touched {
            merged.from.extend(group.from);
            merged.links.extend(group.links);
            merged.inner.extend(group.inner);
        }
        let place = if links { &mut merged.links } else { &mut merged.inner };
        place.push(condition.clone());
        groups.push(merged);
    }
    let place = |from: &From| select.from.iter().position(|own| own.alias == from.alias);
    for group in &mut groups {
        group.from.sort_by_key(place);
    }
    groups.sort_by_key(|group| group.from.first().and_then(place));
    Around { main, own, groups }
}

/// The source that reads the row which a source of a select shows; it may be one of a select around this one.
fn root(from: From) -> Alias {
    match from.kind {
        FromKind::Again { row, .. } => row,
        FromKind::Source(_)
        | FromKind::Table(_)
        | FromKind::Values(_)
        | FromKind::Embedded(_)
        | FromKind::Row { .. } => from.alias,
    }
}
