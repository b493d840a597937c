//! Alternatives that answer with different literals for the same reason are one.
//!
//! ```text
//! select "close" where a   ∪   select "edit" where a          ─▶   select v from ("close"), ("edit") where a
//! select "read" where a or b   ∪   select "edit" where b or c
//!     ─▶   select "read" where a   ∪   select "edit" where c   ∪   select v from ("read"), ("edit") where b
//! select "read" where role(r) and r in ("owner", "guest")   ∪   select "edit" where role(r) and r = "owner"
//!     ─▶   select v from ("read", "owner"), ("read", "guest"), ("edit", "owner") as (v, w) where role(w)
//! ```

use crate::algebra::aliases::{TakenAliases, free_aliases, number_aliases};
use crate::algebra::{Alias, Condition, Embedded, EmbeddedId, Expr, From, FromKind, Select};
use crate::ir::{CompareOp, ConstId};
use indexmap::{IndexMap, IndexSet};

/// With more branches than this, alternatives stay whole: each branch is compared with all others.
const MOST_BRANCHES: usize = 128;

/// Makes one select of those that answer with different literals under the same condition, or under the same
/// branch of a condition.
pub(super) fn merge_answers(selects: &mut Vec<Select>, embedded: &mut Vec<Embedded>) {
    split_off_shared(selects);
    let mut literals_of: IndexMap<Select, Vec<Select>> = IndexMap::new();
    for select in std::mem::take(selects) {
        literals_of.entry(body(&select)).or_default().push(select);
    }
    for (_, mut same) in literals_of {
        let literals: Option<Vec<_>> = same.iter().map(literal).collect();
        let Some(literals) = literals.filter(|literals| literals.len() > 1) else {
            selects.append(&mut same);
            continue;
        };
        let rows = literals.into_iter().map(|literal| vec![literal]).collect();
        if let Some(mut select) = same.into_iter().next() {
            answer_from_rows(&mut select, rows, embedded);
            selects.push(select);
        }
    }
}

/// Merges selects that differ only in their answer and in the literals of one test.
pub(super) fn pair_literals(selects: &mut Vec<Select>, embedded: &mut Vec<Embedded>) {
    if selects.len() > MOST_BRANCHES {
        return;
    }
    while let Some(same) = pairs(selects) {
        let Some((first, others)) = same.split_first() else { return };
        let Some(select) = selects.get_mut(first.at) else { return };
        let rows = same.iter().flat_map(|test| test.literals.iter().map(|tested| vec![test.answer, *tested]));
        select.filter.remove(first.place);
        let alias = answer_from_rows(select, rows.collect(), embedded);
        let right = Expr::Column { alias, column: 1 };
        select.filter.push(Condition::Compare { op: CompareOp::Equal, left: first.value, right });
        let mut at = 0;
        selects.retain(|_| {
            at += 1;
            others.iter().all(|other| other.at + 1 != at)
        });
    }
}

/// A test of a select's value for literals.
struct LiteralTest {
    /// The place of the select.
    at: usize,
    /// What the select answers.
    answer: ConstId,
    /// The place of the condition.
    place: usize,
    value: Expr,
    literals: Vec<ConstId>,
}

/// The tests in which several selects differ, apart from their answers.
fn pairs(selects: &[Select]) -> Option<Vec<LiteralTest>> {
    let mut tests: IndexMap<Select, Vec<LiteralTest>> = IndexMap::new();
    for (at, select) in selects.iter().enumerate() {
        let Some(answer) = literal(select) else { continue };
        for (place, condition) in select.filter.iter().enumerate() {
            let Some((value, literals)) = literal_test(condition) else { continue };
            let mut rest = select.clone();
            rest.filter.remove(place);
            // The value is part of what must be equal, and its literals are not.
            rest.filter.push(Condition::OneOf { expr: value, literals: Vec::new() });
            let known = tests.entry(body(&rest)).or_default();
            if known.last().is_none_or(|last| last.at != at) {
                known.push(LiteralTest { at, answer, place, value, literals });
            }
        }
    }
    tests.into_values().find(|same| same.len() > 1)
}

fn literal_test(condition: &Condition) -> Option<(Expr, Vec<ConstId>)> {
    match condition {
        Condition::OneOf { expr, literals } => Some((*expr, literals.clone())),
        Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(literal) } => {
            Some((*left, vec![*literal]))
        }
        _ => None,
    }
}

/// Lets a select answer with the first column of rows of literals; returns their alias.
fn answer_from_rows(select: &mut Select, mut rows: Vec<Vec<ConstId>>, embedded: &mut Vec<Embedded>) -> Alias {
    rows.sort_unstable();
    rows.dedup();
    let alias = TakenAliases::of([&*select]).take();
    let rows = EmbeddedId::push(embedded, Embedded { rows: Some(rows), part: None });
    select.from.insert(0, From { alias, kind: FromKind::Embedded(rows) });
    select.output = vec![Expr::Column { alias, column: 0 }];
    alias
}

/// The literal that an alternative answers with.
fn literal(select: &Select) -> Option<ConstId> {
    match select.output.as_slice() {
        [Expr::Const(literal)] => Some(*literal),
        _ => None,
    }
}

/// What an alternative asks, in a form in which equal ones are equal.
fn body(select: &Select) -> Select {
    let mut body = Select { output: Vec::new(), ..select.clone() };
    number_aliases([&mut body]);
    body
}

/// Splits off branches that alternatives with different literals share.
fn split_off_shared(selects: &mut Vec<Select>) {
    if selects.iter().flat_map(Select::branches).count() > MOST_BRANCHES {
        return;
    }
    let choices: Vec<Option<usize>> = selects.iter().map(choice).collect();
    let mut askers: IndexMap<Select, IndexSet<ConstId>> = IndexMap::new();
    for (select, choice) in selects.iter().zip(&choices) {
        let Some(literal) = literal(select) else { continue };
        let asked = match choice {
            Some(at) => {
                branches(select, *at).map(|branch| body(&with(select, *at, vec![branch.clone()]))).collect()
            }
            None => vec![body(select)],
        };
        for body in asked {
            askers.entry(body).or_default().insert(literal);
        }
    }
    let split = |(select, choice): (Select, Option<usize>)| {
        let Some(at) = choice else { return vec![select] };
        let is_shared = |branch: &Select| {
            let askers = askers.get(&body(&with(&select, at, vec![branch.clone()])));
            askers.is_some_and(|askers| askers.len() > 1)
        };
        let (shared, own): (Vec<Select>, Vec<Select>) = branches(&select, at).cloned().partition(is_shared);
        let mut split: Vec<Select> = Vec::new();
        if !own.is_empty() {
            split.push(with(&select, at, own));
        }
        split.extend(shared.into_iter().map(|branch| with(&select, at, vec![branch])));
        split
    };
    *selects = std::mem::take(selects).into_iter().zip(choices).flat_map(split).collect();
}

/// The place of the test at which an alternative may be split into its branches. The test depends on no row.
/// The other conditions are no larger than any branch, because each part repeats them.
fn choice(select: &Select) -> Option<usize> {
    literal(select)?;
    let at = select.filter.iter().position(|condition| {
        matches!(condition, Condition::Any(branches) if branches.len() > 1)
            && free_aliases(condition).is_empty()
    })?;
    let rest = n_parts(&with(select, at, Vec::new()));
    branches(select, at).all(|branch| rest <= n_parts(branch)).then_some(at)
}

/// The branches of the condition at a place.
fn branches(select: &Select, at: usize) -> impl Iterator<Item = &Select> {
    select.filter.get(at).map(Condition::branches).unwrap_or_default().iter()
}

/// The alternative with only these branches of the condition at a place; without the condition if there are
/// none.
fn with(select: &Select, at: usize, branches: Vec<Select>) -> Select {
    let mut select = select.clone();
    if branches.is_empty() {
        select.filter.remove(at);
    } else if let Some(condition) = select.filter.get_mut(at) {
        *condition = Condition::Any(branches);
    }
    select
}

/// How many sources and conditions a select has, its branches included.
fn n_parts(select: &Select) -> usize {
    let (mut sources, mut conditions) = (0, 0);
    select.for_each_source(&mut |_| sources += 1);
    select.for_each_condition(&mut |_| conditions += 1);
    sources + conditions
}
