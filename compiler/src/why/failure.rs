//! Why something does not hold: for each goal what each rule lacks, from the question downwards.
//!
//! In: a run that found no proof. Of each rule the attempts that came furthest are shown, with the conditions
//! that they satisfied and the first one that they did not. Goals that a rule lacks are explained in turn,
//! each once.

use super::atoms::{self, Attempted};
use super::explanation::{Atom, Attempt, Condition, FailedGoal, Lack, Step};
use super::proof::Steps;
use super::rows::Rows;
use super::state::{FrameId, State, TableId, Via};
use super::step;
use super::world::{Fault, World};
use crate::datalog::{Goal, Term};
use crate::ir::{LiteralKind, Polarity, RuleId};
use crate::ordered::OrderedSet;
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// How many attempts of a rule are shown.
const SHOWN: usize = 3;

/// How many goals are explained.
const GOALS: usize = 500;

/// How many attempts of a goal are shown, of all its rules.
const ATTEMPTS: usize = 100;

/// The failed goals so far.
#[derive(Debug, Default)]
pub(super) struct Failures {
    goals: Vec<FailedGoal>,
    /// The place of each goal, and the tables that it stands for: one for each form of its predicate.
    by_atom: IndexMap<Option<Atom>, (usize, OrderedSet<TableId>)>,
    pub(super) steps: Steps,
    /// Whether a goal in which something is open holds all the same.
    open: IndexMap<Atom, bool>,
    /// Whether there are more than are shown.
    pub(super) is_cut: bool,
}

/// The failed goals and the steps.
pub(super) type Explained = (Vec<FailedGoal>, Vec<Step>);

/// The furthest attempts of one rule.
#[derive(Debug, Default)]
struct Furthest {
    n_done: usize,
    frames: Vec<FrameId>,
}

impl Failures {
    /// Explains why the question fails.
    pub(super) fn explain<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &State,
        root: TableId,
    ) -> Result<(), Fault<R::Error>> {
        // A question of one predicate is the goal itself.
        let is_one = world.question.atoms.len() == 1;
        let asked = is_one.then(|| atoms::asked(world)).flatten();
        let place = self.goal(asked, None);
        for furthest in furthest(world, state, [root]).into_values() {
            for frame in furthest.frames {
                let Some(attempt) = self.attempt(world, state, None, frame)? else { continue };
                if let Some(goal) = self.goals.get_mut(place) {
                    match attempt.lacks {
                        Lack::Fact(_) if is_one => goal.may_be_fact = true,
                        Lack::Goal(same) if is_one && same == place => {}
                        Lack::Fact(_) | Lack::Goal(_) | Lack::Refuted(_) | Lack::Test(_) => {
                            add(goal, attempt);
                        }
                    }
                }
            }
        }
        let mut at = usize::from(!is_one);
        while let Some((_, (place, tables))) = self.by_atom.get_index(at) {
            if at == GOALS {
                self.is_cut = true;
                return Ok(());
            }
            let (place, tables) = (*place, tables.clone());
            self.expand(world, state, place, tables)?;
            at += 1;
        }
        Ok(())
    }

    /// The failed goals and the steps.
    pub(super) fn finish<R: Rows>(
        self,
        world: &mut World<'_, R>,
        state: &State,
    ) -> Result<Explained, Fault<R::Error>> {
        Ok((self.goals, self.steps.finish(world, state)?))
    }

    fn expand<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &State,
        place: usize,
        tables: OrderedSet<TableId>,
    ) -> Result<(), Fault<R::Error>> {
        let atom = self.goals.get(place).and_then(|goal| goal.atom.clone());
        for (rule, furthest) in furthest(world, state, tables) {
            for frame in furthest.frames {
                if rule.is_none() {
                    if let Some(goal) = self.goals.get_mut(place) {
                        goal.may_be_fact = true;
                    }
                } else if let Some(attempt) = self.attempt(world, state, atom.as_ref(), frame)?
                    && let Some(goal) = self.goals.get_mut(place)
                {
                    add(goal, attempt);
                }
            }
        }
        Ok(())
    }

    /// The place of a goal, which also stands for this table.
    fn goal(&mut self, atom: Option<Atom>, table: Option<TableId>) -> usize {
        let place = self.goals.len();
        let (known, tables) =
            self.by_atom.entry(atom.clone()).or_insert_with(|| (place, OrderedSet::default()));
        tables.extend(table);
        let known = *known;
        if known == place {
            self.goals.push(FailedGoal { atom, ..FailedGoal::default() });
        }
        known
    }

    /// Whether the run has an answer of a goal, for some values of what is open in it.
    fn holds<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &State,
        goal: &Atom,
    ) -> Result<bool, Fault<R::Error>> {
        if goal.args.iter().all(|arg| arg.id.is_some()) {
            return Ok(false);
        }
        if let Some(known) = self.open.get(goal) {
            return Ok(*known);
        }
        let mut holds = false;
        for answer in state.answers.ids() {
            let key = &state.tables[state.answers[answer].table].key;
            if key.0.is_some_and(|rel| atoms::is_of(world, rel, &goal.predicate)) {
                world.work(1)?;
                holds |= atoms::answered(world, state, answer).is_some_and(|atom| covers(goal, &atom));
            }
        }
        self.open.insert(goal.clone(), holds);
        Ok(holds)
    }

    /// What an attempt at a goal satisfied and lacks.
    fn attempt<R: Rows>(
        &mut self,
        world: &mut World<'_, R>,
        state: &State,
        goal: Option<&Atom>,
        frame: FrameId,
    ) -> Result<Option<Attempt>, Fault<R::Error>> {
        let Some(attempted) = Attempted::of(world, state, frame) else { return Ok(None) };
        let env = goal.map(|goal| attempted.asked_for(world, goal));
        let attempted = Attempted { env: env.as_deref().unwrap_or(attempted.env), ..attempted };
        let goals = &attempted.traced.clause.goals;
        let (Some(next), called) = (state.frames[frame].next, state.frames[frame].called) else {
            return Ok(None);
        };
        let literal_of = |goal: usize| attempted.traced.literals.get(goal).copied().flatten();
        let mut met: Vec<Condition> = Vec::new();
        for (goal, via) in state.conditions(frame) {
            let Some(literal) = literal_of(goal) else { continue };
            let condition = match (via, atoms::literal_atom(world, &attempted, literal)) {
                (Via::Test, None) => {
                    let written = attempted.rule.and_then(|rule| rule.body.get(literal));
                    let Some(written) = written else { continue };
                    Condition::Test(atoms::test(world, &attempted, written))
                }
                (Via::Test, Some(atom)) => Condition::Absent(atom),
                (Via::Row(_) | Via::Answer(_) | Via::Assumed, Some(atom)) => Condition::Holds(atom),
                (Via::Row(_) | Via::Answer(_) | Via::Assumed, None) => continue,
            };
            if !met.contains(&condition) {
                met.push(condition);
            }
        }
        let atom = literal_of(next).and_then(|literal| atoms::literal_atom(world, &attempted, literal));
        let lacks = match (goals.get(next), atom) {
            (Some(Goal::Scan { polarity: Polarity::Positive, .. }), Some(atom)) => Lack::Fact(atom),
            (Some(Goal::Call { polarity: Polarity::Positive, .. }), Some(atom)) => {
                // One form of the predicate has no answer, but another one has: another attempt came further.
                if self.holds(world, state, &atom)? {
                    return Ok(None);
                }
                Lack::Goal(self.goal(Some(atom), called))
            }
            (Some(Goal::Scan { polarity: Polarity::Negated, source, args, .. }), _) => {
                let columns: Vec<Term> = args.iter().filter_map(step::plain).collect();
                let probe = (*source, step::terms(world, &columns, attempted.env));
                let rows = world.fetch_all(&probe)?.rows;
                let Some(row) = rows.iter().find(|row| step::is_same(&columns, row)) else { return Ok(None) };
                let row: Vec<_> = row.iter().copied().map(Some).collect();
                let Some(fact) = atoms::fact(world, *source, &row) else { return Ok(None) };
                Lack::Refuted(self.steps.fact(fact, &world.rules.catalog, *source))
            }
            (Some(Goal::Call { polarity: Polarity::Negated, args, .. }), _) => {
                let refutation = called.and_then(|table| step::refutation(state, table, args));
                let Some(answer) = refutation else { return Ok(None) };
                Lack::Refuted(self.steps.answer(answer))
            }
            (Some(Goal::Compare { op, left, right }), _) => {
                let written = literal_of(next).zip(attempted.rule);
                let written = written.and_then(|(literal, rule)| rule.body.get(literal));
                Lack::Test(match written {
                    Some(literal) if !matches!(literal.kind, LiteralKind::Atom { .. }) => {
                        atoms::test(world, &attempted, literal)
                    }
                    _ => atoms::comparison(world, &attempted, *op, *left, *right),
                })
            }
            (Some(Goal::Values { .. } | Goal::Scan { .. } | Goal::Call { .. }) | None, _) => return Ok(None),
        };
        Ok(Some(Attempt { rule: attempted.traced.clause.rule, met, lacks }))
    }
}

/// Whether an answer is one of a goal; what is open may be anything on either side.
fn covers(goal: &Atom, answer: &Atom) -> bool {
    let is_same = |(one, other): (&Option<String>, &Option<String>)| match (one, other) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    };
    let args = || goal.args.iter().zip(&answer.args);
    args().all(|(one, other)| is_same((&one.ty, &other.ty)) && is_same((&one.id, &other.id)))
}

/// Notes an attempt, unless another one says the same or there are many already.
fn add(goal: &mut FailedGoal, attempt: Attempt) {
    let is_same = |other: &&Attempt| other.rule == attempt.rule;
    if goal.attempts.iter().filter(is_same).any(|other| other.lacks == attempt.lacks) {
        return;
    }
    if goal.attempts.iter().filter(is_same).count() < SHOWN && goal.attempts.len() < ATTEMPTS {
        goal.attempts.push(attempt);
    } else {
        goal.n_others += 1;
    }
}

/// The attempts of each rule that satisfied the most conditions and did not continue.
fn furthest<R: Rows>(
    world: &World<'_, R>,
    state: &State,
    tables: impl IntoIterator<Item = TableId>,
) -> BTreeMap<Option<RuleId>, Furthest> {
    let mut found: BTreeMap<Option<RuleId>, Furthest> = BTreeMap::new();
    for table in tables {
        for &frame in &state.tables[table].frames {
            let attempt = &state.frames[frame];
            if attempt.continued || attempt.next.is_none() {
                continue;
            }
            let clause = world.clauses(state.tables[table].key.0).get(attempt.clause);
            let furthest = found.entry(clause.and_then(|traced| traced.clause.rule)).or_default();
            if attempt.n_done > furthest.n_done {
                furthest.n_done = attempt.n_done;
                furthest.frames.clear();
            }
            if attempt.n_done == furthest.n_done {
                furthest.frames.push(frame);
            }
        }
    }
    found
}
