//! Why something does not hold: for each goal what each rule lacks, from the question downwards.
//!
//! In: a run that found no proof. Of each rule the attempts that came furthest are shown, with the conditions
//! that they satisfied and the first one that they did not. Nothing is said to fail unless it fails in
//! [every relation](super::claim). Goals that a rule lacks are explained in turn, each once. A rule that was
//! not tried, because types or values exclude it, is [mentioned](excluded) with what excludes it.

mod excluded;
mod fill;
mod merge;
mod open;

use super::atoms::{self, Attempted};
use super::claim::{Claim, Sought};
use super::explanation::{Atom, Attempt, FailedGoal, FailureId, Lack, MetCondition, Step, StepId};
use super::proof::Steps;
use super::rows::{Budget, Rows};
use super::run::Run;
use super::state::{AnswerTableId, Derivations, FrameId, Via};
use super::step::refutation;
use super::terms::{is_same, plain, values_of};
use super::world::{Fault, World};
use crate::datalog::{Goal, Term};
use crate::id_vec::IdVec;
use crate::ir::{BodyLiteralId, LiteralKind, Polarity, RuleId};
use crate::ordered::OrderedSet;
use crate::specialise::{GoalId, TracedClause};
use fill::{FilledAttempt, filled};
use indexmap::IndexMap;
use open::{MissingCondition, OpenAttempt, OpenLack};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many attempts of a rule are shown.
const SHOWN: usize = 3;

/// How many goals are explained.
const GOALS: usize = 500;

/// How many attempts of a goal are shown, of all its rules.
const ATTEMPTS: usize = 100;

/// The failed goals so far.
#[derive(Debug)]
pub(super) struct Failures {
    goals: IdVec<FailureId, FailedGoal>,
    /// The id of each goal, with its tables: one for each relation of its predicate.
    by_atom: IndexMap<Option<Atom>, (FailureId, OrderedSet<AnswerTableId>)>,
    steps: Steps,
    claims: FxHashMap<Sought, Claim>,
    /// What is left for values that other conditions determine.
    fill: Budget,
    /// Whether there are more than are shown.
    pub(super) is_cut: bool,
}

/// The failed goals and the steps.
pub(super) type FailureParts = (IdVec<FailureId, FailedGoal>, IdVec<StepId, Step>);

/// How far an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reach {
    /// Whether it lacks a condition of its rule, not just a value of its clause.
    lacks_condition: bool,
    /// How many conditions hold.
    n_met: usize,
}

/// The attempts of each rule that did not continue, the furthest first.
type DeadEnds = BTreeMap<Option<RuleId>, BTreeMap<Reverse<Reach>, Vec<FrameId>>>;

impl Failures {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self {
            goals: IdVec::new(),
            by_atom: IndexMap::new(),
            steps: Steps::default(),
            claims: FxHashMap::default(),
            fill: fill::BUDGET,
            is_cut: false,
        }
    }

    /// Explains why the question fails.
    pub(super) fn explain<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        root: AnswerTableId,
    ) -> Result<(), Fault<R::Error>> {
        // A question of one predicate is the goal itself.
        let is_one = run.world.question.atoms.len() == 1;
        let atom = is_one.then(|| atoms::of_question(run.world)).flatten();
        let question = self.goal(atom, &[]);
        for ends in dead_ends(run.world, &run.state, [root]).into_values() {
            for attempt in self.furthest(run, None, ends)? {
                let goal = &mut self.goals[question];
                match attempt.lacks {
                    Lack::Fact(_) if is_one => goal.may_be_fact = true,
                    Lack::Goal(same) if is_one && same == question => {}
                    Lack::Fact(_) | Lack::Goal(_) | Lack::Refuted(_) | Lack::Test(_) => add(goal, attempt),
                }
            }
        }
        let mut at = usize::from(!is_one);
        while let Some((_, (id, tables))) = self.by_atom.get_index(at) {
            if at == GOALS {
                self.is_cut = true;
                return Ok(());
            }
            let (id, tables) = (*id, tables.clone());
            self.expand(run, id, tables)?;
            at += 1;
        }
        Ok(())
    }

    /// The failed goals and the steps.
    pub(super) fn finish<R: Rows>(self, run: &mut Run<'_, '_, R>) -> Result<FailureParts, Fault<R::Error>> {
        Ok((self.goals, self.steps.finish(run.world, &run.state)?))
    }

    fn expand<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        id: FailureId,
        tables: OrderedSet<AnswerTableId>,
    ) -> Result<(), Fault<R::Error>> {
        let atom = self.goals[id].atom.clone();
        let dead_ends = dead_ends(run.world, &run.state, tables);
        let tried: OrderedSet<RuleId> = dead_ends.keys().filter_map(|rule| *rule).collect();
        for (rule, ends) in dead_ends {
            let attempts = match rule {
                None => Vec::new(),
                Some(_) => self.furthest(run, atom.as_ref(), ends)?,
            };
            let goal = &mut self.goals[id];
            goal.may_be_fact |= rule.is_none();
            attempts.into_iter().for_each(|attempt| add(goal, attempt));
        }
        self.add_excluded(run, id, &tried)
    }

    /// The attempts of a rule that came furthest, of those that lack what fails in every relation.
    fn furthest<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        goal: Option<&Atom>,
        ends: BTreeMap<Reverse<Reach>, Vec<FrameId>>,
    ) -> Result<Vec<Attempt>, Fault<R::Error>> {
        for frames in ends.into_values() {
            let mut attempts = Vec::new();
            for frame in frames {
                run.world.work(1)?;
                attempts.append(&mut self.attempt(run, goal, frame)?);
            }
            // Of these, some come further by conditions that were not tried before.
            let most = attempts.iter().map(|attempt| attempt.met.len()).max();
            attempts.retain(|attempt| Some(attempt.met.len()) == most);
            let attempts = self.merged(run, attempts)?;
            if !attempts.is_empty() {
                return Ok(attempts);
            }
        }
        self.is_cut = true;
        Ok(Vec::new())
    }

    /// The goal, which these tables answer, too.
    fn goal(&mut self, atom: Option<Atom>, tables: &[AnswerTableId]) -> FailureId {
        let Self { goals, by_atom, .. } = self;
        let (id, answered_by) = by_atom.entry(atom.clone()).or_insert_with(|| {
            (goals.push(FailedGoal { atom, ..FailedGoal::default() }), OrderedSet::default())
        });
        answered_by.extend(tables.iter().copied());
        *id
    }

    /// What an attempt at a goal satisfied and lacks; nothing if what it lacks is there in another relation,
    /// where another attempt came further. If other conditions determine a value of what is lacking, there is
    /// an attempt for each of the first such values.
    fn attempt<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        goal: Option<&Atom>,
        frame: FrameId,
    ) -> Result<Vec<OpenAttempt>, Fault<R::Error>> {
        let attempted = Attempted::of(run.world, &run.state, frame);
        let env = goal.map(|goal| attempted.asked_for(run.world, goal));
        let env = env.unwrap_or_else(|| attempted.env.clone());
        let Some(next) = run.state.frames[frame].next else { return Ok(Vec::new()) };
        let filled = filled(run, frame, next, &env, SHOWN, &mut self.fill)?;
        let unfilled = FilledAttempt { literals: Vec::new(), env, fails: None };
        let mut attempts = Vec::new();
        for FilledAttempt { literals, env, fails } in filled.into_iter().chain([unfilled]) {
            if literals.is_empty() && !attempts.is_empty() {
                break;
            }
            let attempted = Attempted::with(run.world, &run.state, frame, &env);
            let mut met = met(run.world, &run.state, &attempted, frame);
            for literal in literals {
                met.extend(atoms::literal_atom(run.world, &attempted, literal).map(MetCondition::Holds));
            }
            let rule = attempted.traced.clause.rule;
            let lacks = self.lacking(run, &attempted, frame, fails.unwrap_or(next))?;
            attempts.extend(lacks.map(|lacks| OpenAttempt { rule, met, lacks }));
        }
        Ok(attempts)
    }

    /// What is lacking for the condition at which an attempt ended.
    fn lacking<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        attempted: &Attempted<'_>,
        frame: FrameId,
        next: GoalId,
    ) -> Result<Option<OpenLack>, Fault<R::Error>> {
        let literal = attempted.traced.literals[next];
        let known = match attempted.traced.goal(next) {
            wanted @ (Goal::Scan { polarity: Polarity::Positive, .. }
            | Goal::Call { polarity: Polarity::Positive, .. }) => match literal {
                Some(literal) => return self.missing(run, attempted, literal, wanted),
                None => None,
            },
            Goal::Scan { polarity: Polarity::Negated, source, args, .. } => {
                let columns: Vec<Term> = args.iter().filter_map(plain).collect();
                let query = (*source, values_of(run.world, &columns, attempted.env));
                let rows = run.world.fetch_all(&query)?.rows;
                let row = rows.iter().find(|row| is_same(&columns, row));
                let row: Option<Vec<_>> = row.map(|row| row.iter().copied().map(Some).collect());
                let fact = row.map(|row| atoms::fact(run.world, *source, &row));
                fact.map(|fact| Lack::Refuted(self.steps.fact(fact, &run.world.rules.catalog, *source)))
            }
            Goal::Call { polarity: Polarity::Negated, args, .. } => {
                let called = run.state.frames[frame].called;
                let refutation = called.and_then(|table| refutation(&run.state, table, args));
                refutation.map(|answer| Lack::Refuted(self.steps.answer(answer)))
            }
            Goal::Compare { op, left, right } => {
                let written = literal.zip(attempted.rule).map(|(literal, rule)| &rule.body[literal]);
                match written {
                    Some(literal) if !matches!(literal.kind, LiteralKind::Atom { .. }) => {
                        Some(Lack::Test(atoms::test(run.world, attempted, literal)))
                    }
                    _ => {
                        if let Some(missing) = self.answered_otherwise(run, attempted, frame)? {
                            return Ok(Some(missing));
                        }
                        Some(Lack::Test(atoms::comparison(run.world, attempted, *op, *left, *right)))
                    }
                }
            }
            Goal::Values { .. } => None,
        };
        Ok(known.map(OpenLack::Other))
    }

    /// The first condition that fails for the attempt's values, where a clause could only be used with other
    /// values: a rule of the condition has a literal in its place.
    fn answered_otherwise<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        attempted: &Attempted<'_>,
        frame: FrameId,
    ) -> Result<Option<OpenLack>, Fault<R::Error>> {
        for (id, goal) in attempted.traced.goals() {
            let (Goal::Scan { polarity, .. } | Goal::Call { polarity, .. }) = goal else { continue };
            let Some(literal) = attempted.traced.literals[id] else { continue };
            if *polarity == Polarity::Positive && !run.state.frames[frame].is_done(id) {
                let missing = self.missing(run, attempted, literal, goal)?;
                if matches!(missing, Some(OpenLack::Missing(_))) {
                    return Ok(missing);
                }
            }
        }
        Ok(None)
    }

    /// A condition that nothing answers.
    fn missing<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        attempted: &Attempted<'_>,
        literal: BodyLiteralId,
        goal: &Goal,
    ) -> Result<Option<OpenLack>, Fault<R::Error>> {
        let sought = Sought::of(run.world, attempted, literal, goal);
        let atom = atoms::literal_atom(run.world, attempted, literal);
        let (Some(sought), Some(atom)) = (sought, atom) else { return Ok(None) };
        let is_fact = matches!(goal, Goal::Scan { .. });
        Ok(match self.claim(run, &sought)? {
            Claim::Fails(tables) => {
                Some(OpenLack::Missing(MissingCondition { sought, atom, is_fact, tables }))
            }
            Claim::Differs => Some(OpenLack::Other(Lack::Test(format!("{atom} with values that are equal")))),
            Claim::Holds | Claim::Open => None,
        })
    }

    /// Whether a condition fails in every form of its predicate.
    fn claim<R: Rows>(
        &mut self,
        run: &mut Run<'_, '_, R>,
        sought: &Sought,
    ) -> Result<Claim, Fault<R::Error>> {
        if let Some(known) = self.claims.get(sought) {
            return Ok(known.clone());
        }
        let claim = sought.claim(run)?;
        self.claims.insert(sought.clone(), claim.clone());
        Ok(claim)
    }
}

/// The conditions that an attempt satisfied.
fn met<R: Rows>(
    world: &mut World<'_, R>,
    state: &Derivations,
    attempted: &Attempted<'_>,
    frame: FrameId,
) -> Vec<MetCondition> {
    let satisfied = satisfied(state, attempted.traced, frame);
    let mut met: Vec<MetCondition> = Vec::new();
    for (goal, via) in state.conditions(frame) {
        let Some(literal) = attempted.traced.literals[goal].filter(|literal| satisfied.contains(literal))
        else {
            continue;
        };
        let condition = match (via, atoms::literal_atom(world, attempted, literal)) {
            (Via::Test, None) => {
                let Some(rule) = attempted.rule else { continue };
                MetCondition::Test(atoms::test(world, attempted, &rule.body[literal]))
            }
            (Via::Test, Some(_)) => {
                let Some(absent) = atoms::absent(world, attempted, literal) else { continue };
                absent
            }
            (Via::Row(_) | Via::Answer(_) | Via::Assumed, Some(atom)) => MetCondition::Holds(atom),
            (Via::Row(_) | Via::Answer(_) | Via::Assumed, None) => continue,
        };
        if !met.contains(&condition) {
            met.push(condition);
        }
    }
    met
}

/// The conditions of the rule that an attempt satisfied. A negation has a goal for each relation of its
/// predicate, and is satisfied once all are.
fn satisfied(state: &Derivations, traced: &TracedClause, frame: FrameId) -> OrderedSet<BodyLiteralId> {
    let frame = &state.frames[frame];
    let goals = || traced.literals.enumerate();
    let left: OrderedSet<BodyLiteralId> =
        goals().filter(|(goal, _)| !frame.is_done(*goal)).filter_map(|(_, literal)| *literal).collect();
    goals().filter_map(|(_, literal)| *literal).filter(|literal| !left.contains(literal)).collect()
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

/// The attempts at some goals that did not continue.
fn dead_ends<R: Rows>(
    world: &World<'_, R>,
    state: &Derivations,
    tables: impl IntoIterator<Item = AnswerTableId>,
) -> DeadEnds {
    let mut found = DeadEnds::new();
    for table in tables {
        let clauses = world.clauses(state.tables[table].key.0);
        for &frame in &state.tables[table].frames {
            let attempt = &state.frames[frame];
            let Some(next) = attempt.next else { continue };
            if attempt.continued {
                continue;
            }
            let traced = &clauses[attempt.clause];
            let reach = Reach {
                lacks_condition: traced.literals[next].is_some(),
                n_met: satisfied(state, traced, frame).len(),
            };
            let of_rule = found.entry(traced.clause.rule).or_default();
            of_rule.entry(Reverse(reach)).or_default().push(frame);
        }
    }
    found
}
