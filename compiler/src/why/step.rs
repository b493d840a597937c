//! One step of an attempt: it takes up a condition, and continues with each way to satisfy it.

use super::choose::choose;
use super::rows::Rows;
use super::run::{Needs, Run};
use super::state::{AnswerId, AnswerTableId, Derivations, Env, FrameId, Key, Via};
use super::terms::{bound, is_same, plain, scan_values, values_of};
use super::values::Value;
use super::world::{Fault, World};
use crate::catalog::SourceId;
use crate::datalog::{Goal, RelId, ScanArg, Term};
use crate::ir::{CompareOp, ConstId, Polarity};
use crate::question::Slot;
use crate::specialise::GoalId;

/// With how many rows of a look-up an attempt that may assume facts continues. Otherwise a value with very
/// many facts would use up the whole search, and the suggestions that it leads to are all alike.
const ASSUMING_ROWS: usize = 500;

/// Continues an attempt.
pub(super) fn step<R: Rows>(run: &mut Run<'_, '_, R>, frame: FrameId) -> Result<(), Fault<R::Error>> {
    let traced = run.world.clause(&run.state, frame);
    if run.state.frames[frame].n_done == traced.clause.goals.len() {
        return finish(run, frame, &traced.clause.head);
    }
    let chosen = choose(run, frame, traced)?;
    if chosen.is_empty() {
        return run.give_up(frame);
    }
    for goal_id in chosen {
        run.state.frames[frame].next = Some(goal_id);
        perform(run, frame, goal_id, traced.goal(goal_id))?;
    }
    Ok(())
}

/// All conditions are satisfied: the head's values are an answer.
fn finish<R: Rows>(run: &mut Run<'_, '_, R>, frame: FrameId, head: &[Term]) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let tuple: Option<Box<[Value]>> = head.iter().map(|term| run.world.term(*term, &env)).collect();
    let assumed = run.state.frames[frame].assumed.clone();
    match tuple {
        Some(tuple) => run.answer(frame, tuple, assumed),
        None => run.give_up(frame),
    }
}

/// Satisfies one condition in every way.
fn perform<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_id: GoalId,
    goal: &Goal,
) -> Result<(), Fault<R::Error>> {
    match goal {
        Goal::Values { slot, term } => take_value(run, frame, goal_id, *slot, *term),
        Goal::Compare { op, left, right } => {
            let env = run.state.frames[frame].env.clone();
            match compare(run.world, *op, *left, *right, env) {
                Some(env) => run.advance_with(frame, goal_id, env, Via::Test),
                None => Ok(()),
            }
        }
        Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
            look_up(run, frame, goal_id, *source, args)
        }
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => call(run, frame, goal_id, *rel, args),
        Goal::Scan { polarity: Polarity::Negated, source, args, guards } => {
            let env = run.state.frames[frame].env.clone();
            let columns: Vec<Term> = args.iter().filter_map(plain).collect();
            let query = (*source, values_of(run.world, &columns, &env));
            let is_refuted = guarded(run.world, guards, &env) && {
                let rows = run.world.fetch_all(&query)?.rows;
                rows.iter().any(|row| is_same(&columns, row))
            };
            if is_refuted { Ok(()) } else { run.advance_with(frame, goal_id, env, Via::Test) }
        }
        Goal::Call { polarity: Polarity::Negated, rel, args, guards } => {
            let env = run.state.frames[frame].env.clone();
            if guarded(run.world, guards, &env) {
                negate(run, frame, goal_id, *rel, args)
            } else {
                run.advance_with(frame, goal_id, env, Via::Test)
            }
        }
    }
}

/// Binds a term to each value that the question gives.
fn take_value<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_id: GoalId,
    slot: Slot,
    term: Term,
) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let values = match slot {
        Slot::OneOf(var) | Slot::Given(var) => run.world.given(var).to_vec(),
        Slot::Context(_)
        | Slot::ContextColumn(..)
        | Slot::TypeOf(_)
        | Slot::Now
        | Slot::PageAfter
        | Slot::PageLimit => Vec::new(),
    };
    for value in values {
        if let Some(env) = bound(run.world, &[term], &[Some(value)], env.clone()) {
            run.advance_with(frame, goal_id, env, Via::Test)?;
        }
    }
    Ok(())
}

/// Takes each fact that matches; if there is none, and the fact may be assumed, the assumption.
fn look_up<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_id: GoalId,
    source: SourceId,
    args: &[ScanArg],
) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let query = (source, scan_values(run.world, args, &env));
    let columns: Vec<Term> = args.iter().filter_map(plain).collect();
    let rows = if run.may_assume() > 0 {
        let fetched = run.world.fetch(&query, ASSUMING_ROWS)?;
        run.skips_rows |= !fetched.whole;
        fetched.rows
    } else {
        run.world.fetch_all(&query)?.rows
    };
    for row in rows.iter() {
        let row: Vec<Option<Value>> = row.iter().copied().map(Some).collect();
        if let Some(env) = bound(run.world, &columns, &row, env.clone()) {
            run.advance_with(frame, goal_id, env, Via::Row(source))?;
        }
    }
    let whole: Option<Vec<Value>> = query.1.iter().copied().collect();
    if let Some(row) = whole
        && rows.is_empty()
        && let Some(assumed) = run.assume(frame, source, &row)
    {
        run.advance(frame, goal_id, env, Via::Assumed, assumed)?;
    }
    Ok(())
}

/// Takes each answer of a goal that is known, and waits for the others.
fn call<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_id: GoalId,
    rel: RelId,
    args: &[Term],
) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let key: Key = (Some(rel), values_of(run.world, args, &env));
    let reader = run.state.frames[frame].table;
    let table = run.call(key, reader)?;
    run.state.frames[frame].called = Some(table);
    run.state.tables[table].readers.push((frame, goal_id));
    for answer in run.state.tables[table].answers.clone() {
        run.resume(frame, goal_id, answer)?;
    }
    Ok(())
}

/// Continues if no answer of a goal refutes its negation. A goal that is not settled is settled first.
fn negate<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_id: GoalId,
    rel: RelId,
    args: &[Term],
) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let key: Key = (Some(rel), values_of(run.world, args, &env));
    let needs = if repeats(args) { Needs::All } else { Needs::Any };
    let Some(table) = run.settled(&key, needs) else {
        run.state.frames[frame].next = None;
        run.open(key, Some(frame), needs)?;
        return Ok(());
    };
    run.state.frames[frame].called = Some(table);
    match refutation(&run.state, table, args) {
        Some(_) => Ok(()),
        None => run.advance_with(frame, goal_id, env, Via::Test),
    }
}

/// An answer of the lowest height that makes a negation with these arguments fail.
pub(super) fn refutation(state: &Derivations, table: AnswerTableId, args: &[Term]) -> Option<AnswerId> {
    let answers = state.tables[table].answers.iter().copied();
    let refuting = answers.filter(|answer| is_same(args, &state.answers[*answer].tuple));
    refuting.min_by_key(|answer| state.answers[*answer].best.map(|(height, _)| height))
}

/// Whether every guard of a negation holds.
fn guarded<R: Rows>(world: &mut World<'_, R>, guards: &[(Term, ConstId)], env: &Env) -> bool {
    guards.iter().all(|(term, literal)| world.term(*term, env) == Some(world.constant(*literal)))
}

/// Whether a variable that is local to a negation occurs twice.
fn repeats(args: &[Term]) -> bool {
    let is_local = |term: &Term| matches!(term, Term::Local(_));
    args.iter()
        .enumerate()
        .any(|(at, arg)| is_local(arg) && args.iter().skip(at + 1).any(|other| other == arg))
}

/// The variables after a comparison, which may give one of them a value; `None` if it does not hold.
pub(super) fn compare<R: Rows>(
    world: &mut World<'_, R>,
    op: CompareOp,
    left: Term,
    right: Term,
    env: Env,
) -> Option<Env> {
    let values = (world.term(left, &env), world.term(right, &env));
    let (Some(one), Some(other)) = values else {
        let (term, value) = if values.0.is_none() { (left, values.1) } else { (right, values.0) };
        return bound(world, &[term], &[value], env);
    };
    let numbers = || world.values.number(one).zip(world.values.number(other));
    let holds = match op {
        CompareOp::Equal => one == other,
        CompareOp::NotEqual => one != other,
        CompareOp::Less => numbers().is_some_and(|(one, other)| one < other),
        CompareOp::LessOrEqual => numbers().is_some_and(|(one, other)| one <= other),
        CompareOp::Greater => numbers().is_some_and(|(one, other)| one > other),
        CompareOp::GreaterOrEqual => numbers().is_some_and(|(one, other)| one >= other),
    };
    holds.then_some(env)
}
