//! Alternatives that answer with different literals for the same reason are one.
//!
//! ```text
//! select "close" where a   ∪   select "edit" where a          ─▶   select v from ("close"), ("edit") where a
//! select "read" where a or b   ∪   select "edit" where b or c
//!     ─▶   select "read" where a   ∪   select "edit" where c   ∪   select v from ("read"), ("edit") where b
//! select "read" where role(r) and r in ("owner", "guest")   ∪   select "edit" where role(r) and r = "owner"
//!     ─▶   select v from ("read", "owner"), ("read", "guest"), ("edit", "owner") as (v, w) where role(w)
//! select "read" from t where test(t)   ─▶   select "read" where there is a t with test(t)
//! ```

use crate::algebra::aliases::{TakenAliases, free_aliases, number_aliases};
use crate::algebra::{Alias, Condition, Embedded, EmbeddedId, Expr, From, FromKind, LiteralRows, Select};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId};
use crate::others::Others;
use indexmap::{IndexMap, IndexSet};

/// With more branches than this, alternatives stay whole: each branch is compared with all others.
const MOST_BRANCHES: usize = 128;

/// The columns of the rows: what a select answers, and the literal that its test is for.
const LITERAL_COLUMNS: [ColumnId; 2] = [ColumnId(0), ColumnId(1)];

/// Turns an alternative that answers with literals, but has a test for each row, into one test of whether a
/// row passes: the first one is enough, so the database need not expect to test them all.
pub(super) fn decide(selects: &mut [Select]) {
    let is_test = |condition: &Condition| {
        matches!(condition, Condition::Any(_) | Condition::None(_))
            && condition.branches().iter().any(|branch| !branch.reads_nothing())
    };
    for select in selects {
        let answers_literals = select.output.iter().all(|expr| expr.is_static());
        if !select.from.is_empty() && answers_literals && select.filter.iter().any(is_test) {
            let output = std::mem::take(&mut select.output);
            let test = std::mem::take(select);
            *select = Select { from: Vec::new(), filter: vec![Condition::Any(vec![test])], output };
        }
    }
}

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
        let rows = literals.into_iter().map(|literal| vec![literal].into()).collect();
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
    while let Some(LiteralTests { rest: mut select, value, tests }) = pairs(selects) {
        let rows = tests
            .iter()
            .flat_map(|(_, test)| test.literals.iter().map(|tested| vec![test.answer, *tested].into()));
        let alias = answer_from_rows(&mut select, rows.collect(), embedded);
        let [_, second] = LITERAL_COLUMNS;
        let right = Expr::Column { alias, column: second };
        select.filter.push(Condition::Compare { op: CompareOp::Equal, left: value, right });
        // It replaces the first.
        let mut merged = Some(select);
        let places = std::mem::take(selects).into_iter().enumerate();
        let left = places.filter_map(|(at, select)| {
            let is_same = tests.contains_key(&at);
            if is_same { merged.take() } else { Some(select) }
        });
        *selects = left.collect();
    }
}

/// Tests of one value for literals, in which alone several selects differ.
struct LiteralTests {
    /// The first of the selects, without its test.
    rest: Select,
    /// The value, in the first select.
    value: Expr,
    /// The tests, by the places of their selects.
    tests: IndexMap<usize, LiteralTest>,
}

/// The test of one select.
struct LiteralTest {
    /// What the select answers.
    answer: ConstId,
    literals: Vec<ConstId>,
}

/// The tests in which several selects differ, apart from their answers.
fn pairs(selects: &[Select]) -> Option<LiteralTests> {
    let mut found: IndexMap<Select, LiteralTests> = IndexMap::new();
    for (at, select) in selects.iter().enumerate() {
        let Some(answer) = literal(select) else { continue };
        for (others, condition) in Others::each(&select.filter) {
            let Some((value, literals)) = literal_test(condition) else { continue };
            let from = select.from.clone();
            let rest = Select { from, filter: others.to_vec(), output: select.output.clone() };
            let mut asked = rest.clone();
            // The value is part of what must be equal, and its literals are not.
            asked.filter.push(Condition::OneOf { expr: value, literals: Vec::new() });
            let same = found.entry(body(&asked));
            let same = same.or_insert_with(|| LiteralTests { rest, value, tests: IndexMap::new() });
            same.tests.entry(at).or_insert(LiteralTest { answer, literals });
        }
    }
    found.into_values().find(|same| same.tests.len() > 1)
}

/// The value that a condition tests for literals, and these.
pub(super) fn literal_test(condition: &Condition) -> Option<(Expr, Vec<ConstId>)> {
    match condition {
        Condition::OneOf { expr, literals } => Some((*expr, literals.clone())),
        Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(literal) } => {
            Some((*left, vec![*literal]))
        }
        _ => None,
    }
}

/// Lets a select answer with the first column of rows of literals; returns their alias.
fn answer_from_rows(select: &mut Select, mut rows: LiteralRows, embedded: &mut Vec<Embedded>) -> Alias {
    rows.sort_unstable();
    rows.dedup();
    let alias = TakenAliases::of([&*select]).take();
    let rows = EmbeddedId::push(embedded, Embedded { rows: Some(rows), part: None });
    select.from.insert(0, From { alias, kind: FromKind::Embedded(rows) });
    let [first, _] = LITERAL_COLUMNS;
    select.output = vec![Expr::Column { alias, column: first }].into();
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
    let mut body = Select { output: IdVec::new(), ..select.clone() };
    number_aliases([&mut body]);
    body
}

/// Splits off branches that alternatives with different literals share.
fn split_off_shared(selects: &mut Vec<Select>) {
    if selects.iter().flat_map(Select::branches).count() > MOST_BRANCHES {
        return;
    }
    let choices: Vec<Option<LiteralChoice>> = selects.iter().map(LiteralChoice::of).collect();
    let mut askers: IndexMap<Select, IndexSet<ConstId>> = IndexMap::new();
    for (select, choice) in selects.iter().zip(&choices) {
        let Some(literal) = literal(select) else { continue };
        let asked = match choice {
            Some(choice) => {
                choice.branches.iter().map(|branch| body(&choice.with(vec![branch.clone()]))).collect()
            }
            None => vec![body(select)],
        };
        for body in asked {
            askers.entry(body).or_default().insert(literal);
        }
    }
    let split = |(select, choice): (Select, Option<LiteralChoice>)| {
        let Some(choice) = choice else { return vec![select] };
        let is_shared = |branch: &Select| {
            let askers = askers.get(&body(&choice.with(vec![branch.clone()])));
            askers.is_some_and(|askers| askers.len() > 1)
        };
        let (shared, own): (Vec<Select>, Vec<Select>) = choice.branches.iter().cloned().partition(is_shared);
        let mut split: Vec<Select> = Vec::new();
        if !own.is_empty() {
            split.push(choice.with(own));
        }
        split.extend(shared.into_iter().map(|branch| choice.with(vec![branch])));
        split
    };
    *selects = std::mem::take(selects).into_iter().zip(choices).flat_map(split).collect();
}

/// The test at which an alternative may be split into its branches. It depends on no row.
struct LiteralChoice {
    /// The alternative without the test. It is no larger than any branch, because each part repeats it.
    around: Select,
    /// The place of the test among the conditions.
    place: usize,
    branches: Vec<Select>,
}

impl LiteralChoice {
    fn of(select: &Select) -> Option<Self> {
        literal(select)?;
        let (place, others, branches) = Others::each(&select.filter).enumerate().find_map(
            |(place, (others, condition))| match condition {
                Condition::Any(branches) if branches.len() > 1 && free_aliases(condition).is_empty() => {
                    Some((place, others, branches.clone()))
                }
                _ => None,
            },
        )?;
        let from = select.from.clone();
        let around = Select { from, filter: others.to_vec(), output: select.output.clone() };
        let rest = n_parts(&around);
        branches.iter().all(|branch| rest <= n_parts(branch)).then_some(Self { around, place, branches })
    }

    /// The alternative with only these branches of the test.
    fn with(&self, branches: Vec<Select>) -> Select {
        let mut select = self.around.clone();
        select.filter.insert(self.place, Condition::Any(branches));
        select
    }
}

/// How many sources and conditions a select has, its branches included.
fn n_parts(select: &Select) -> usize {
    let (mut sources, mut conditions) = (0, 0);
    select.for_each_source(&mut |_| sources += 1);
    select.for_each_condition(&mut |_| conditions += 1);
    sources + conditions
}
