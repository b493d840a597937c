//! Values that other conditions determine in what an attempt lacks.
//!
//! A look-up without rows ends an attempt before its other conditions are tried, because that decides
//! soonest. So what the attempt lacks may have an open value that other conditions determine: *member of some
//! organization*, although a fact, or a rule, says which organization it is. These conditions are tried here,
//! in the order of the rule, as far as they lead to such a value: facts, and goals that rules derive. All of
//! it is for display, so it has a small budget of its own.
//!
//! With such values a comparison or a denial of the rule may fail as well. Then it is what is lacking,
//! because the condition without rows would not be enough. Values for which none fails come first.

use super::super::choose::may_call;
use super::super::rows::{Budget, Rows};
use super::super::run::{Needs, Run};
use super::super::state::{Env, FrameId};
use super::super::step::compare;
use super::super::terms::{bound, is_same, plain, scan_values, values_of};
use super::super::values::Value;
use super::super::world::{Fault, World};
use crate::datalog::{Goal, Term};
use crate::ir::{BodyLiteralId, Polarity, VarId};
use crate::ordered::OrderedSet;
use crate::specialise::GoalId;

/// The budget for all the values that are filled in for one explanation.
pub(super) const BUDGET: Budget = Budget { goals: 300, work: 3_000 };

/// How many rows of a look-up are read. Of these the first are taken in the order of their values, so that
/// the same facts give the same values wherever they are stored.
const ROWS: usize = 64;

/// How many ways are followed to the next condition, where the first ones may turn out to be dead ends.
const KEPT: usize = 16;

/// The values of an attempt with the conditions that determined some of them.
#[derive(Clone, Debug)]
pub(super) struct FilledAttempt {
    /// The conditions, which hold.
    pub(super) literals: Vec<BodyLiteralId>,
    /// The values.
    pub(super) env: Env,
    /// Another condition that fails with them.
    pub(super) fails: Option<GoalId>,
}

/// The first values, up to `most`, that other conditions determine in what an attempt lacks; none if they
/// determine nothing, or the budget does not suffice.
pub(super) fn filled<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    next: GoalId,
    env: &Env,
    most: usize,
    budget: &mut Budget,
) -> Result<Vec<FilledAttempt>, Fault<R::Error>> {
    let aside = run.world.set_aside(*budget);
    let found = ways(run, frame, next, env, most);
    *budget = run.world.give_back(aside);
    match found {
        // Without these values the attempt says less, and is right all the same.
        Err(Fault::Spent | Fault::Open(_)) => Ok(Vec::new()),
        found => found,
    }
}

fn ways<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    next: GoalId,
    env: &Env,
    most: usize,
) -> Result<Vec<FilledAttempt>, Fault<R::Error>> {
    let traced = run.world.clause(&run.state, frame);
    let wanted = open(traced.goal(next), env);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let attempt = &run.state.frames[frame];
    let is_left = |id: GoalId| id != next && !attempt.is_done(id);
    let mut left: Vec<(BodyLiteralId, &Goal)> = traced
        .goals()
        .filter(|(id, goal)| is_left(*id) && is_positive(goal))
        .filter_map(|(id, goal)| Some((traced.literals[id]?, goal)))
        .collect();
    let tests: Vec<(GoalId, &Goal)> =
        traced.goals().filter(|(id, goal)| is_left(*id) && !is_positive(goal)).collect();
    let leading = leading(&wanted, &left, env);
    let mut ways = vec![FilledAttempt { literals: Vec::new(), env: env.clone(), fails: None }];
    // All ways are by the same conditions, so the first one shows which values are known.
    while let Some(first) = ways.first().filter(|way| wanted.iter().any(|var| way.env[*var].is_none())) {
        let leads = |(_, goal): &(BodyLiteralId, &Goal)| {
            open(goal, &first.env).iter().any(|var| leading.contains(var))
        };
        let mut gives = None;
        for (at, goal) in left.iter().enumerate().filter(|(_, goal)| leads(goal)) {
            if is_ready(run.world, goal.1, &first.env) {
                gives = Some(at);
                break;
            }
        }
        let Some(at) = gives else { break };
        let (literal, goal) = left.remove(at);
        let mut longer = Vec::new();
        for way in &ways {
            for env in answers(run, goal, &way.env)? {
                let literals = way.literals.iter().copied().chain([literal]).collect();
                longer.push(FilledAttempt { literals, env, fails: None });
            }
            longer.truncate(KEPT);
        }
        // A condition that fails as well determines nothing.
        if !longer.is_empty() {
            ways = longer;
        }
    }
    ways.retain(|way| !way.literals.is_empty());
    note_failures(run, &mut ways, &tests)?;
    ways.truncate(most);
    Ok(ways)
}

/// Notes the first of the tests that fails in each way. Ways in which none does come first.
fn note_failures<R: Rows>(
    run: &mut Run<'_, '_, R>,
    ways: &mut [FilledAttempt],
    tests: &[(GoalId, &Goal)],
) -> Result<(), Fault<R::Error>> {
    for way in &mut *ways {
        for (id, goal) in tests {
            if way.fails.is_none() && fails(run, goal, &way.env)? {
                way.fails = Some(*id);
            }
        }
    }
    ways.sort_by_key(|way| way.fails.is_some());
    Ok(())
}

/// The variables that have values once those that are wanted have them: conditions connect them.
fn leading(wanted: &OrderedSet<VarId>, left: &[(BodyLiteralId, &Goal)], env: &Env) -> OrderedSet<VarId> {
    let mut leading = wanted.clone();
    loop {
        let before = leading.len();
        for (_, goal) in left {
            let vars = open(goal, env);
            if vars.iter().any(|var| leading.contains(var)) {
                leading.extend(vars);
            }
        }
        if leading.len() == before {
            return leading;
        }
    }
}

fn is_positive(goal: &Goal) -> bool {
    match goal {
        Goal::Scan { polarity, .. } | Goal::Call { polarity, .. } => *polarity == Polarity::Positive,
        Goal::Compare { .. } | Goal::Values { .. } => false,
    }
}

/// Whether a comparison, or a denial of stored facts, fails with values that are all known.
fn fails<R: Rows>(run: &mut Run<'_, '_, R>, goal: &Goal, env: &Env) -> Result<bool, Fault<R::Error>> {
    let mut is_known = true;
    goal.for_each_term(&mut |term| is_known &= !matches!(term, Term::Var(var) if env[var].is_none()));
    if !is_known {
        return Ok(false);
    }
    match goal {
        Goal::Compare { op, left, right } => {
            Ok(compare(run.world, *op, *left, *right, env.clone()).is_none())
        }
        Goal::Scan { polarity: Polarity::Negated, source, args, guards } if guards.is_empty() => {
            let columns: Vec<Term> = args.iter().filter_map(plain).collect();
            let query = (*source, scan_values(run.world, args, env));
            let rows = run.world.fetch(&query, ROWS)?.rows;
            Ok(rows.iter().any(|row| is_same(&columns, row)))
        }
        Goal::Scan { .. } | Goal::Call { .. } | Goal::Values { .. } => Ok(false),
    }
}

/// The variables of a positive condition that have no value.
fn open(goal: &Goal, env: &Env) -> OrderedSet<VarId> {
    let mut vars = OrderedSet::default();
    if is_positive(goal) {
        goal.for_each_term(&mut |term| match term {
            Term::Var(var) if env[var].is_none() => {
                vars.insert(var);
            }
            Term::Var(_) | Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => {}
        });
    }
    vars
}

/// Whether a condition can be tried, and is about a known value.
fn is_ready<R: Rows>(world: &mut World<'_, R>, goal: &Goal, env: &Env) -> bool {
    match goal {
        Goal::Scan { args, .. } => scan_values(world, args, env).iter().any(Option::is_some),
        Goal::Call { rel, args, .. } => {
            let values = values_of(world, args, env);
            values.iter().any(Option::is_some) && may_call(world, *rel, &values)
        }
        Goal::Compare { .. } | Goal::Values { .. } => false,
    }
}

/// The values after a condition, for each of its answers in their order.
fn answers<R: Rows>(run: &mut Run<'_, '_, R>, goal: &Goal, env: &Env) -> Result<Vec<Env>, Fault<R::Error>> {
    let (terms, mut rows): (Vec<Term>, Vec<Box<[Value]>>) = match goal {
        Goal::Scan { source, args, .. } => {
            let query = (*source, scan_values(run.world, args, env));
            let rows = run.world.fetch(&query, ROWS)?.rows;
            (args.iter().filter_map(plain).collect(), rows.iter().cloned().collect())
        }
        Goal::Call { rel, args, .. } => {
            let key = (Some(*rel), values_of(run.world, args, env));
            let table = run.settle(key, Needs::All)?;
            let answers = run.state.tables[table].answers.iter();
            (args.clone(), answers.map(|answer| run.state.answers[*answer].tuple.clone()).collect())
        }
        Goal::Compare { .. } | Goal::Values { .. } => return Ok(Vec::new()),
    };
    rows.sort_by_cached_key(|row| {
        row.iter().map(|value| run.world.values.text(*value).to_owned()).collect::<Vec<String>>()
    });
    let mut found = Vec::new();
    for row in rows {
        let row: Vec<Option<Value>> = row.iter().copied().map(Some).collect();
        found.extend(bound(run.world, &terms, &row, env.clone()));
    }
    Ok(found)
}
