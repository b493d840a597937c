//! Facts of a type that the policy does not mention, in the caller's tables.
//!
//! A bound query may hold facts of such a type. They are left out of the calls that they could only make
//! true, so an answer is what all other facts say. Where a negation needs them, the question is refused. The
//! oracle reads all facts, also these: a question for which they take something away from the answer must be
//! refused, and none is if no negation asks for such facts.

use super::judge::Wrong;
use super::page::answer;
use super::tally::{Tally, count};
use portcullis_compiler::ir::{DenyingCalls, Program, SignatureArg};
use portcullis_compiler::question::Question;
use portcullis_testkit::domain::FOREIGN;
use portcullis_testkit::fixture::Expected;
use portcullis_testkit::generate::Sample;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::referee::Referee;
use portcullis_testkit::local::split::Split;
use portcullis_testkit::local::ways::{Way, ways};
use portcullis_testkit::local::{Asked, Local};
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::refusal::Kind;
use std::cell::Cell as Counter;
use std::collections::BTreeSet;
use std::fmt;

/// One in this many policies that read an argument of any type has such facts.
const WITH_READERS: usize = 2;

/// One in this many policies that read no argument of any type has them, too.
const WITHOUT_READERS: usize = 8;

/// The most such facts of a policy.
const MOST: usize = 12;

/// How many assignments the oracle tries for one policy.
const PATIENCE: u64 = 10_000_000;

/// Questions over such facts.
#[derive(Default)]
pub(crate) struct Counts {
    /// Refused, as a negation needs them.
    refused: Counter<usize>,
    /// Those of the refused whose answer without them would be wrong.
    denied: Counter<usize>,
    /// Judged without them.
    left_out: Counter<usize>,
}

impl Counts {
    /// Fails if they are too few for a run of so many cases.
    pub(crate) fn check(&self, cases: usize) {
        assert!(self.refused.get() > 0, "no negation needs facts of unmentioned types");
        assert!(self.left_out.get() * 20 >= cases, "too few questions leave facts of unmentioned types out");
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [refused, denied, left_out] = [&self.refused, &self.denied, &self.left_out].map(Counter::get);
        write!(
            f,
            "{} over facts of unmentioned types ({refused} refused for them, {denied} of these wrong without)",
            refused + left_out
        )
    }
}

/// A policy with such facts.
pub(crate) struct Unmentioned<'c> {
    program: &'c Program,
    /// Knows the answers without them.
    without: &'c Oracle<'c>,
    /// Knows the answers with them.
    with: Oracle<'c>,
    local: Local,
    /// Whether a negation asks for one of them.
    is_denying: bool,
}

impl<'c> Unmentioned<'c> {
    /// Adds such facts to those of the caller's tables; `None` if no fact has an argument that is no
    /// primitive, if the policy is not chosen, or if it is too much for the oracle. `now` is the time of the
    /// other oracle: both know the numbers next to it.
    pub(crate) fn new(
        sample: &Sample,
        oracle: &'c Oracle<'c>,
        program: &'c Program,
        (split, mentioned): (&Split, &[Value]),
        asked: &[&Question],
        now: i64,
    ) -> Result<Option<Self>, String> {
        let facts = [split.stored.as_slice(), &split.local, &split.request].concat();
        let (reads_any, added) = unmentioned(program, &facts);
        let one_in = if reads_any { WITH_READERS } else { WITHOUT_READERS };
        let is_chosen = (sample.placing / 3).is_multiple_of(one_in);
        if added.is_empty() || !is_chosen {
            return Ok(None);
        }
        let all = [facts, added.clone()].concat();
        let Some(with) = Oracle::of_all(program, &all, mentioned, now, PATIENCE) else { return Ok(None) };
        let local = [split.local.as_slice(), &added].concat();
        let split = Split { name: format!("{}, unmentioned", split.name), local, ..split.clone() };
        let local = Local::new(&sample.policy, program, &split, sample.placing, &with.known(), asked)?;
        local.verify(&split)?;
        let is_denying = added.iter().any(|fact| may_deny(program, fact));
        Ok(Some(Self { program, without: oracle, with, local, is_denying }))
    }

    /// Asks in the way of this turn, or in all of them.
    pub(crate) fn ask(
        &self,
        question: &Question,
        turn: Option<usize>,
        hosted: &Hosted,
        tally: &Tally,
    ) -> Result<(), Wrong> {
        let Self { program, without, .. } = self;
        let referee = Referee { program, oracle: without, question, hosted, context: &[] };
        let ways = ways(question);
        let chosen = turn.and_then(|turn| turn.checked_rem(ways.len()));
        let chosen = |at: usize| chosen.is_none_or(|chosen| chosen == at);
        for (_, &way) in ways.iter().enumerate().filter(|(at, _)| chosen(*at)) {
            let is_place = |at, n| turn.is_none_or(|turn| turn / ways.len() % n == at);
            for asked in self.local.ask(question, way, is_place) {
                let told = match &asked.found {
                    Expected::Refused(told) => told.kind,
                    Expected::Is(_) => None,
                };
                if told.is_some_and(Kind::is_too_large) {
                    continue;
                }
                if told == Some(Kind::Unmentioned) {
                    count(&tally.unmentioned.refused);
                    if self.denies(question) {
                        count(&tally.unmentioned.denied);
                    }
                    if !self.is_denying {
                        let expected = "no refusal: no negation asks for these facts".to_owned();
                        return Err((expected, self.explained(question, way, &asked)));
                    }
                    continue;
                }
                count(&tally.unmentioned.left_out);
                referee
                    .judge(&self.local, way, &asked.found)
                    .map_err(|expected| (expected, self.explained(question, way, &asked)))?;
                if matches!(asked.found, Expected::Is(_)) && self.denies(question) {
                    return Err((answer(&self.with, question), self.explained(question, way, &asked)));
                }
            }
        }
        Ok(())
    }

    /// Whether these facts take something away from the answer.
    fn denies(&self, question: &Question) -> bool {
        !self.without.values(question).is_subset(&self.with.values(question))
    }

    fn explained(&self, question: &Question, way: Way, asked: &Asked<'_>) -> String {
        let found = &asked.found;
        let explained = self.local.explained(question, way, asked);
        format!("{}: {way:?} on {}: {found}\n{explained}", self.local.name, asked.place())
    }
}

/// Whether a negation of the policy asks for facts of these types.
fn may_deny(program: &Program, fact: &Fact) -> bool {
    let all = DenyingCalls::of(program);
    let calls = all.of_predicate(&fact.predicate, fact.args.len(), program).iter();
    let mut args = calls.map(|call| call.args.iter().zip(&fact.args));
    args.any(|mut args| args.all(|(arg, value)| arg.admits(program.type_id(&value.ty), program)))
}

/// Facts of the same predicates, each with one argument of a type that the policy does not mention: first
/// those for which the policy reads any type there; and whether there are any of these. Other arguments are
/// other values of their types, because what the facts already deny cannot be denied again.
fn unmentioned(program: &Program, facts: &[Fact]) -> (bool, Vec<Fact>) {
    let is_primitive = |value: &Value| matches!(value.ty.as_str(), "String" | "Integer" | "Boolean");
    let reads_any = |fact: &Fact, place: usize| {
        program.signatures.iter().any(|signature| {
            signature.predicate == fact.predicate
                && signature.args.len() == fact.args.len()
                && matches!(signature.args.get(place), Some(SignatureArg::Any))
        })
    };
    let values: BTreeSet<&Value> = facts.iter().flat_map(|fact| &fact.args).collect();
    let another = |value: &Value, at: usize| {
        let alike: Vec<&&Value> = values.iter().filter(|other| other.ty == value.ty).collect();
        alike.get(at % alike.len()).map_or_else(|| value.clone(), |other| (**other).clone())
    };
    let mut added: Vec<(bool, Fact)> = Vec::new();
    for (at, fact) in facts.iter().enumerate() {
        let id = if at % 2 == 0 { "a" } else { "b" };
        for (place, _) in fact.args.iter().enumerate().filter(|(_, arg)| !is_primitive(arg)) {
            let args = fact.args.iter().enumerate().map(|(other, arg)| match arg {
                _ if other == place => Value::new(FOREIGN, id),
                arg if is_primitive(arg) => arg.clone(),
                arg => another(arg, at),
            });
            let changed = Fact { predicate: fact.predicate.clone(), args: args.collect() };
            added.push((reads_any(fact, place), changed));
        }
    }
    // A stable sort: what reads any type comes first.
    added.sort_by_key(|(reads_any, _)| !reads_any);
    let is_read = added.first().is_some_and(|(reads_any, _)| *reads_any);
    let added: BTreeSet<Fact> = added.into_iter().take(MOST).map(|(_, fact)| fact).collect();
    (is_read, added.into_iter().collect())
}
