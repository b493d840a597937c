//! Which condition an attempt takes up next.
//!
//! Of the conditions that are left, tests come first, then look-ups of whole facts, then the condition with
//! the fewest rows, as far as a few rows show, then goals; negations are last, so that when a negation ends
//! an attempt, the values of the attempt are known.

use super::rows::Rows;
use super::run::Run;
use super::state::{Env, FrameId};
use super::suggest::search::SearchReach;
use super::terms::{plain, scan_values, values_of};
use super::values::Value;
use super::world::{Fault, RowQuery, World};
use crate::datalog::{Goal, RelId, Term};
use crate::ir::{CompareOp, Polarity};
use crate::specialise::{GoalId, TracedClause};

/// How many rows are read to compare conditions.
const FEW: usize = 8;

/// The conditions of an attempt that are left and that can be taken up.
#[derive(Default)]
struct Left {
    /// Look-ups of facts with some values known.
    scans: Vec<(GoalId, RowQuery)>,
    /// Goals with all values known.
    calls: Vec<GoalId>,
    /// All others, each after those of a lower rank.
    later: Vec<(Rank, GoalId)>,
}

/// The order of conditions that are neither look-ups by a value nor goals with all values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A goal with some values known.
    PartialCall,
    /// A look-up of facts with no value known.
    WholeScan,
    /// A goal with no value known.
    OpenCall,
    /// The negation of a fact.
    NegatedScan,
    /// The negation of a goal.
    NegatedCall,
}

/// The conditions to try next: one, or where facts are assumed each that may lead to another one. None if all
/// that are left test a value that nothing binds.
pub(super) fn choose<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    traced: &TracedClause,
) -> Result<Vec<GoalId>, Fault<R::Error>> {
    let env = run.state.frames[frame].env.clone();
    let mut left = Left::default();
    for (id, goal) in traced.goals() {
        if !run.state.frames[frame].is_done(id) && left.add(run.world, id, goal, &env) {
            return Ok(vec![id]);
        }
    }
    if run.most_assumed > 0 && run.reach == SearchReach::AnyCondition {
        let ways = left.ways();
        if ways.len() > 1 {
            return Ok(ways);
        }
    }
    Ok(left.cheapest(run.world)?.into_iter().collect())
}

impl Left {
    /// Adds a condition, if it can be taken up. Returns whether it is to be taken up at once: a test, values
    /// of the question, or a look-up of a whole fact.
    fn add<R: Rows>(&mut self, world: &mut World<'_, R>, id: GoalId, goal: &Goal, env: &Env) -> bool {
        match goal {
            Goal::Values { .. } => return true,
            Goal::Compare { op, left, right } => {
                let known = [left, right].map(|term| world.term(*term, env).is_some());
                return known == [true, true] || (*op == CompareOp::Equal && known != [false, false]);
            }
            Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
                let values = scan_values(world, args, env);
                if values.iter().all(Option::is_some) {
                    return true;
                }
                if values.iter().any(Option::is_some) {
                    self.scans.push((id, (*source, values)));
                } else {
                    self.later.push((Rank::WholeScan, id));
                }
            }
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                let bound = values_of(world, args, env);
                if may_call(world, *rel, &bound) {
                    match bound.iter().flatten().count() {
                        n_known if n_known == bound.len() => self.calls.push(id),
                        0 => self.later.push((Rank::OpenCall, id)),
                        _ => self.later.push((Rank::PartialCall, id)),
                    }
                }
            }
            Goal::Scan { polarity: Polarity::Negated, args, guards, .. } => {
                let args = args.iter().filter_map(plain);
                if args.chain(guards.iter().map(|(term, _)| *term)).all(|term| is_known(term, env)) {
                    self.later.push((Rank::NegatedScan, id));
                }
            }
            Goal::Call { polarity: Polarity::Negated, args, guards, .. } => {
                let args = args.iter().copied();
                if args.chain(guards.iter().map(|(term, _)| *term)).all(|term| is_known(term, env)) {
                    self.later.push((Rank::NegatedCall, id));
                }
            }
        }
        false
    }

    /// The conditions that may each lead to another assumed fact. Conditions without a known value are
    /// included only if there is at most one other, because they lead to distant facts.
    fn ways(&self) -> Vec<GoalId> {
        let ranked = |wanted: fn(Rank) -> bool| {
            let of_rank = self.later.iter().filter(move |(rank, _)| wanted(*rank));
            of_rank.map(|(_, id)| *id)
        };
        let scans = self.scans.iter().map(|(id, _)| *id);
        let partial = ranked(|rank| rank == Rank::PartialCall);
        let mut ways: Vec<GoalId> = scans.chain(self.calls.iter().copied()).chain(partial).collect();
        if ways.len() < 2 {
            ways.extend(ranked(|rank| matches!(rank, Rank::WholeScan | Rank::OpenCall)));
        }
        ways
    }

    /// The look-up with the fewest rows, where reading some shows which; else the first of the others.
    fn cheapest<R: Rows>(&self, world: &mut World<'_, R>) -> Result<Option<GoalId>, Fault<R::Error>> {
        let call = self.calls.first().copied();
        let mut most = FEW;
        while !self.scans.is_empty() {
            let mut fewest: Option<(usize, GoalId)> = None;
            for (id, query) in &self.scans {
                let fetched = world.fetch(query, most)?;
                if fetched.whole && fewest.is_none_or(|(n, _)| fetched.rows.len() < n) {
                    fewest = Some((fetched.rows.len(), *id));
                }
            }
            if let Some(id) = fewest.map(|(_, id)| id).or(call) {
                return Ok(Some(id));
            }
            most *= FEW;
        }
        Ok(call.or_else(|| self.later.iter().min().map(|(_, id)| *id)))
    }
}

/// Whether a term of a negation has a value, or is local to it.
fn is_known(term: Term, env: &Env) -> bool {
    match term {
        Term::Var(var) => env[var].is_some(),
        Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => true,
    }
}

/// Whether everything that a relation only tests is known.
pub(super) fn may_call<R: Rows>(world: &World<'_, R>, rel: RelId, bound: &[Option<Value>]) -> bool {
    let columns =
        world.rules.traced.relations[rel].adornments.iter().filter(|adornment| adornment.has_column());
    columns.zip(bound).all(|(adornment, value)| value.is_some() || !adornment.is_tested())
}
