//! One step of an attempt: it chooses a condition, and continues with each way to satisfy it.
//!
//! Of the conditions that are left, tests come first, then look-ups of whole facts, then the condition with
//! the fewest rows, as far as a few rows show, then goals; negations are last, so that the values of an
//! attempt that a negation ends are known.

use super::rows::Rows;
use super::run::Run;
use super::state::{AnswerId, Assumed, FrameId, Key, State, TableId, Via};
use super::values::Value;
use super::world::{Fault, Probe, World};
use crate::datalog::{Adornment, Goal, RelId, ScanArg, Term};
use crate::ir::{CompareOp, ConstId, Polarity};
use crate::question::Slot;

/// How many rows are read to compare conditions.
const FEW: usize = 8;

/// Continues an attempt.
pub(super) fn step<R: Rows>(run: &mut Run<'_, '_, R>, frame: FrameId) -> Result<(), Fault<R::Error>> {
    let goals = run.goals(frame);
    if run.state.frames[frame].n_done == goals.len() {
        return finish(run, frame);
    }
    let chosen = choose(run, frame, goals)?;
    if chosen.is_empty() {
        return run.give_up();
    }
    for goal_idx in chosen {
        let Some(goal) = goals.get(goal_idx) else { continue };
        run.state.frames[frame].next = Some(goal_idx);
        perform(run, frame, goal_idx, goal)?;
    }
    Ok(())
}

/// All conditions are satisfied: the head's values are an answer.
fn finish<R: Rows>(run: &mut Run<'_, '_, R>, frame: FrameId) -> Result<(), Fault<R::Error>> {
    let (table, clause) = (run.state.frames[frame].table, run.state.frames[frame].clause);
    let clauses = run.world.clauses(run.state.tables[table].key.0);
    let head = clauses.get(clause).map_or(&[][..], |traced| traced.clause.head.as_slice());
    let env = run.state.frames[frame].env.clone();
    let tuple: Option<Box<[Value]>> = head.iter().map(|term| run.world.term(*term, &env)).collect();
    let assumed = run.state.frames[frame].assumed.clone();
    match tuple {
        Some(tuple) => run.answer(frame, tuple, assumed),
        None => run.give_up(),
    }
}

/// The conditions to try next: one, or where facts are assumed each that may lead to another one. None if all
/// that are left test a value that nothing gives.
fn choose<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goals: &[Goal],
) -> Result<Vec<usize>, Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let mut scans: Vec<(usize, Probe)> = Vec::new();
    let (mut calls, mut later, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (idx, goal) in goals.iter().enumerate() {
        if run.state.frames[frame].is_done(idx) {
            continue;
        }
        match goal {
            Goal::Values { .. } => return Ok(vec![idx]),
            Goal::Compare { op, left, right } => {
                let known = [left, right].map(|term| run.world.term(*term, &env).is_some());
                if known == [true, true] || (*op == CompareOp::Equal && known != [false, false]) {
                    return Ok(vec![idx]);
                }
            }
            Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
                let probe = (*source, probe(run.world, args, &env));
                if probe.1.iter().all(Option::is_some) {
                    return Ok(vec![idx]);
                }
                if probe.1.iter().any(Option::is_some) {
                    scans.push((idx, probe));
                } else {
                    later.push((2, idx));
                }
            }
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                let bound = terms(run.world, args, &env);
                if !is_ready(run.world, *rel, &bound) {
                    continue;
                }
                if bound.iter().all(Option::is_some) {
                    calls.push(idx);
                } else {
                    later.push((if bound.iter().any(Option::is_some) { 1 } else { 3 }, idx));
                }
            }
            Goal::Scan { polarity: Polarity::Negated, args, guards, .. } => {
                let args = args.iter().filter_map(plain);
                if args.chain(guards.iter().map(|(term, _)| *term)).all(|term| is_known(term, &env)) {
                    last.push((4, idx));
                }
            }
            Goal::Call { polarity: Polarity::Negated, args, guards, .. } => {
                let args = args.iter().copied();
                if args.chain(guards.iter().map(|(term, _)| *term)).all(|term| is_known(term, &env)) {
                    last.push((5, idx));
                }
            }
        }
    }
    if run.most_assumed > 0 {
        let partial = later.iter().filter(|(rank, _)| *rank == 1).map(|(_, idx)| *idx);
        let ways: Vec<usize> =
            scans.iter().map(|(idx, _)| *idx).chain(calls.iter().copied()).chain(partial).collect();
        if ways.len() > 1 {
            return Ok(ways);
        }
    }
    let mut most = FEW;
    while !scans.is_empty() {
        let mut fewest: Option<(usize, usize)> = None;
        for (idx, probe) in &scans {
            let fetched = run.world.fetch(probe, most)?;
            if fetched.whole && fewest.is_none_or(|(n, _)| fetched.rows.len() < n) {
                fewest = Some((fetched.rows.len(), *idx));
            }
        }
        if let Some((_, idx)) = fewest {
            return Ok(vec![idx]);
        }
        if let Some(call) = calls.first() {
            return Ok(vec![*call]);
        }
        most *= FEW;
    }
    later.extend(last);
    let first = later.into_iter().min().map(|(_, idx)| idx);
    Ok(calls.first().copied().or(first).into_iter().collect())
}

/// Whether a term of a negation has a value, or is local to it.
fn is_known(term: Term, env: &[Option<Value>]) -> bool {
    match term {
        Term::Var(var) => env.get(var.index()).copied().flatten().is_some(),
        Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => true,
    }
}

/// Whether everything that a relation only tests is known.
fn is_ready<R: Rows>(world: &World<'_, R>, rel: RelId, bound: &[Option<Value>]) -> bool {
    let columns = world.rules.traced.relations[rel].adornments.iter().filter(|form| form.has_column());
    columns.zip(bound).all(|(form, value)| value.is_some() || !matches!(form, Adornment::Tested(_)))
}

/// Satisfies one condition in every way.
fn perform<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_idx: usize,
    goal: &Goal,
) -> Result<(), Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let assumed = run.state.frames[frame].assumed.clone();
    match goal {
        Goal::Values { slot, term } => {
            let values = match slot {
                Slot::OneOf(var) | Slot::Given(var) => run.world.given(*var),
                Slot::Context(_) | Slot::TypeOf(_) | Slot::Now | Slot::PageAfter | Slot::PageLimit => {
                    Vec::new()
                }
            };
            for value in values {
                if let Some(env) = bound(run.world, &[*term], &[Some(value)], env.clone()) {
                    run.advance(frame, goal_idx, env, Via::Test, assumed.clone())?;
                }
            }
            Ok(())
        }
        Goal::Compare { op, left, right } => match compare(run.world, *op, *left, *right, env) {
            Some(env) => run.advance(frame, goal_idx, env, Via::Test, assumed),
            None => Ok(()),
        },
        Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
            let probe = (*source, probe(run.world, args, &env));
            let columns: Vec<Term> = args.iter().filter_map(plain).collect();
            let rows = run.world.fetch_all(&probe)?.rows;
            for row in rows.iter() {
                let row: Vec<Option<Value>> = row.iter().copied().map(Some).collect();
                if let Some(env) = bound(run.world, &columns, &row, env.clone()) {
                    run.advance(frame, goal_idx, env, Via::Row(*source), assumed.clone())?;
                }
            }
            let whole: Option<Vec<Value>> = probe.1.iter().copied().collect();
            if let Some(row) = whole
                && rows.is_empty()
                && let Some(assumed) = run.assume(frame, *source, &row)
            {
                run.advance(frame, goal_idx, env, Via::Assumed, assumed)?;
            }
            Ok(())
        }
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
            let key: Key = (Some(*rel), terms(run.world, args, &env));
            let reader = run.state.frames[frame].table;
            let table = run.call(key, reader)?;
            run.state.frames[frame].called = Some(table);
            run.state.tables[table].readers.push((frame, goal_idx));
            for answer in run.state.tables[table].answers.clone() {
                resume(run, frame, goal_idx, answer)?;
            }
            Ok(())
        }
        Goal::Scan { polarity: Polarity::Negated, source, args, guards } => {
            let columns: Vec<Term> = args.iter().filter_map(plain).collect();
            let probe = (*source, terms(run.world, &columns, &env));
            let is_refuted = guarded(run.world, guards, &env) && {
                let rows = run.world.fetch_all(&probe)?.rows;
                rows.iter().any(|row| is_same(&columns, row))
            };
            if is_refuted { Ok(()) } else { run.advance(frame, goal_idx, env, Via::Test, assumed) }
        }
        Goal::Call { polarity: Polarity::Negated, rel, args, guards } => {
            if !guarded(run.world, guards, &env) {
                return run.advance(frame, goal_idx, env, Via::Test, assumed);
            }
            let key: Key = (Some(*rel), terms(run.world, args, &env));
            let any_answer = !repeats(args);
            let Some(table) = run.settled(&key, any_answer) else {
                run.state.frames[frame].next = None;
                run.open(key, Some(frame), any_answer)?;
                return Ok(());
            };
            run.state.frames[frame].called = Some(table);
            match refutation(&run.state, table, args) {
                Some(_) => Ok(()),
                None => run.advance(frame, goal_idx, env, Via::Test, assumed),
            }
        }
    }
}

/// Continues an attempt with an answer of a goal that it reads.
pub(super) fn resume<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    goal_idx: usize,
    answer: AnswerId,
) -> Result<(), Fault<R::Error>> {
    let Some(Goal::Call { args, .. }) = run.goals(frame).get(goal_idx) else { return Ok(()) };
    let tuple: Vec<Option<Value>> = run.state.answers[answer].tuple.iter().copied().map(Some).collect();
    let env = run.state.frames[frame].env.clone();
    let Some(env) = bound(run.world, args, &tuple, env) else { return Ok(()) };
    let together: Option<Assumed> =
        run.union(&run.state.frames[frame].assumed, &run.state.answers[answer].assumed);
    match together {
        Some(assumed) => run.advance(frame, goal_idx, env, Via::Answer(answer), assumed),
        None => Ok(()),
    }
}

/// An answer of the lowest height that makes a negation with these arguments fail.
pub(super) fn refutation(state: &State, table: TableId, args: &[Term]) -> Option<AnswerId> {
    let answers = state.tables[table].answers.iter().copied();
    let refuting = answers.filter(|answer| is_same(args, &state.answers[*answer].tuple));
    refuting.min_by_key(|answer| state.answers[*answer].best.map(|(height, _)| height))
}

/// Whether every guard of a negation holds.
fn guarded<R: Rows>(world: &mut World<'_, R>, guards: &[(Term, ConstId)], env: &[Option<Value>]) -> bool {
    guards.iter().all(|(term, literal)| world.term(*term, env) == Some(world.constant(*literal)))
}

/// Whether a variable that is local to a negation occurs twice.
fn repeats(args: &[Term]) -> bool {
    let is_local = |term: &Term| matches!(term, Term::Local(_));
    args.iter()
        .enumerate()
        .any(|(at, arg)| is_local(arg) && args.iter().skip(at + 1).any(|other| other == arg))
}

/// Whether equal variables have equal values.
pub(super) fn is_same(args: &[Term], row: &[Value]) -> bool {
    let pairs = || args.iter().zip(row);
    pairs().enumerate().all(|(at, (arg, value))| {
        !matches!(arg, Term::Local(_))
            || pairs().skip(at + 1).all(|(other, other_value)| other != arg || other_value == value)
    })
}

fn compare<R: Rows>(
    world: &mut World<'_, R>,
    op: CompareOp,
    left: Term,
    right: Term,
    env: Box<[Option<Value>]>,
) -> Option<Box<[Option<Value>]>> {
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

pub(super) fn plain(arg: &ScanArg) -> Option<Term> {
    match arg {
        ScanArg::Term(term) => Some(*term),
        ScanArg::OneOf(_) => None,
    }
}

fn probe<R: Rows>(world: &mut World<'_, R>, args: &[ScanArg], env: &[Option<Value>]) -> Box<[Option<Value>]> {
    args.iter().map(|arg| plain(arg).and_then(|term| world.term(term, env))).collect()
}

pub(super) fn terms<R: Rows>(
    world: &mut World<'_, R>,
    args: &[Term],
    env: &[Option<Value>],
) -> Box<[Option<Value>]> {
    args.iter().map(|term| world.term(*term, env)).collect()
}

/// The variables after the terms have taken these values, those that are known; `None` if they cannot.
pub(super) fn bound<R: Rows>(
    world: &mut World<'_, R>,
    args: &[Term],
    values: &[Option<Value>],
    mut env: Box<[Option<Value>]>,
) -> Option<Box<[Option<Value>]>> {
    for (term, value) in args.iter().zip(values) {
        let Some(value) = value else { continue };
        match (*term, world.term(*term, &env)) {
            (_, Some(known)) => {
                if known != *value {
                    return None;
                }
            }
            (Term::Var(var), None) => *env.get_mut(var.index())? = Some(*value),
            (Term::Given(_) | Term::Const(_) | Term::Now, None) => return None,
            (Term::Local(_) | Term::Ignored, None) => {}
        }
    }
    Some(env)
}
