//! What must not change an answer, and how answers must hang together, whatever the right answer is.
//!
//! The policies, facts and questions are those of the differential test, and no oracle is asked: each test compares
//! what the service says with what it says elsewhere. The seeds are fixed, so a run is the same everywhere.

#![expect(clippy::panic, reason = "a test binary; a panic is the failure")]

#[path = "../support/mod.rs"]
mod support;

use portcullis_compiler::ir::{LiteralKind, Polarity, Program, TypeId};
use portcullis_compiler::question::{Question, Shape};
use portcullis_compiler::{Dialect, explain};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeSet;
use support::fixture::{Answer, Expected};
use support::generate::{Sample, samples};
use support::hosted::Hosted;
use support::local::Local;
use support::local::asked::{Way, filtered, ways};
use support::local::split;
use support::notation::{Cell, Fact, Value};
use support::oracle::Oracle;
use support::outcome::{Allow, Outcome, mentioned};
use support::questions::questions;
use support::reorder::{mixed, reordered};
use support::{expand, policy};

/// A random policy with its facts and what is asked about it.
struct Known<'s> {
    sample: &'s Sample,
    program: Program,
    facts: Vec<Fact>,
    questions: Vec<(String, Question)>,
}

impl Known<'_> {
    /// Every so many-th question, others for each policy.
    fn every(&self, n: usize) -> impl Iterator<Item = &(String, Question)> {
        self.questions.iter().skip(self.sample.placing % n).step_by(n)
    }

    /// An engine with the policy and these facts.
    fn hosted(&self, facts: &[Fact]) -> Result<Hosted, String> {
        let hosted = Hosted::new(&self.sample.policy)?;
        hosted.store(facts)?;
        Ok(hosted)
    }

    /// The checks that a list or a list of actions is made of: each with the value that it is about.
    fn checks(&self, allow: &Allow) -> Vec<(Value, Allow)> {
        let known = self.facts.iter().flat_map(|fact| &fact.args).cloned();
        let known: BTreeSet<Value> =
            known.chain(self.questions.iter().flat_map(|(_, question)| mentioned(question))).collect();
        match allow {
            Allow::Authorize(..) => Vec::new(),
            Allow::List(actor, action, ty) => known
                .into_iter()
                .filter(|value| value.ty == *ty)
                .map(|value| (value.clone(), Allow::Authorize(actor.clone(), action.clone(), value)))
                .collect(),
            Allow::Actions(actor, resource) => {
                let literals = self.program.constants.iter().filter(|literal| literal.ty == TypeId::STRING);
                let texts: BTreeSet<&str> =
                    literals.map(|literal| literal.text.as_str()).chain(["unheard of"]).collect();
                texts
                    .into_iter()
                    .map(|text| {
                        let check = Allow::Authorize(actor.clone(), text.to_owned(), resource.clone());
                        (Value::new("String", text), check)
                    })
                    .collect()
            }
        }
    }
}

/// Tries a number of random policies that are accepted.
fn try_policies(n: u32, seed: u8, holds: impl Fn(&Known<'_>) -> Result<(), String>) {
    let config = Config { cases: n, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let run = TestRunner::new_with_rng(config, rng).run(&samples(), |sample| {
        let Ok(program) = policy::program(&sample.policy) else {
            return Err(TestCaseError::reject("a cycle through negation"));
        };
        let (facts, questions) = (sample.facts(&program), questions(&program, sample.guise));
        let known = Known { sample: &sample, program, facts, questions };
        holds(&known).map_err(|message| {
            let facts: Vec<String> = known.facts.iter().map(Fact::to_string).collect();
            TestCaseError::fail(format!("{message}\n{}{}", sample.policy, facts.join("\n")))
        })
    });
    if let Err(error) = run {
        panic!("{error}");
    }
}

/// The same answer, or refused both.
fn same(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Expected::Is(left), Expected::Is(right)) => left == right,
        (Expected::Refused(_), Expected::Refused(_)) => true,
        (Expected::Is(_), Expected::Refused(_)) | (Expected::Refused(_), Expected::Is(_)) => false,
    }
}

#[test]
fn the_order_of_rules_conjuncts_and_facts_changes_nothing() {
    try_policies(20, 1, |known| {
        let one = known.hosted(&known.facts)?;
        let number = known.sample.placing;
        let policy = reordered(&known.sample.policy, number);
        let other = Hosted::new(&policy)?;
        for fact in mixed(known.facts.clone(), number) {
            other.store(&[fact])?;
        }
        for (text, question) in known.every(6) {
            let found = one.ask_every_way(question, &[]).into_iter().zip(other.ask_every_way(question, &[]));
            for ((way, one), (_, other)) in found {
                if !same(&one, &other) {
                    return Err(format!("{text}, {way}: {one}, and in another order {other}\n{policy}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn without_negation_another_fact_takes_no_answer_away() {
    try_policies(25, 2, |known| {
        let literals = || known.program.rules.iter().flat_map(|rule| &rule.body);
        let negates =
            |kind: &LiteralKind| matches!(kind, LiteralKind::Atom { polarity: Polarity::Negated, .. });
        let Some((last, others)) = mixed(known.facts.clone(), known.sample.placing)
            .split_last()
            .map(|(last, others)| (last.clone(), others.to_vec()))
        else {
            return Ok(());
        };
        if literals().any(|literal| negates(&literal.kind)) {
            return Ok(());
        }
        let (before, after) = (known.hosted(&others)?, known.hosted(&known.facts)?);
        for (text, question) in known.every(6) {
            let found =
                before.ask_every_way(question, &[]).into_iter().zip(after.ask_every_way(question, &[]));
            for ((way, before), (_, after)) in found {
                let keeps = match (&before, &after) {
                    (Expected::Is(Answer::Decision(before)), Expected::Is(Answer::Decision(after))) => {
                        !before || *after
                    }
                    (Expected::Is(Answer::Rows(before)), Expected::Is(Answer::Rows(after))) => {
                        let is_kept =
                            |row: &Vec<Cell>| after.iter().any(|other| Cell::row_covers(other, row));
                        before.iter().all(is_kept)
                    }
                    (Expected::Refused(_), _) | (_, Expected::Refused(_)) => true,
                    (Expected::Is(_), Expected::Is(_)) => false,
                };
                if !keeps {
                    return Err(format!("{text}, {way}: {before}, and with {last} {after}"));
                }
            }
        }
        Ok(())
    });
}

/// Whether rows, wildcards among them, hold a value.
fn holds(rows: &BTreeSet<Vec<Cell>>, value: &Value) -> bool {
    let cell = [Cell::Value(value.clone())];
    rows.iter().any(|row| Cell::row_covers(row, &cell))
}

/// Compares enumerations of the entry point with checks.
fn enumerations_hold_what_checks_allow(
    known: &Known<'_>,
    is_tried: fn(&Allow) -> bool,
) -> Result<(), String> {
    let hosted = known.hosted(&known.facts)?;
    let asked = known.questions.iter().filter_map(|(text, question)| Some((text, Allow::of(question)?)));
    let asked = asked.filter(|(_, allow)| is_tried(allow));
    for (text, allow) in asked.skip(known.sample.placing % 3).step_by(3) {
        let Expected::Is(Answer::Rows(rows)) = hosted.ask_allow(&allow, &[]) else { continue };
        for (value, check) in known.checks(&allow) {
            let found = hosted.ask_allow(&check, &[]);
            let Expected::Is(Answer::Decision(allowed)) = found else { continue };
            if holds(&rows, &value) != allowed {
                let rows = Answer::Rows(rows);
                return Err(format!("{text}: {rows}, and a check of {value}: {found}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_list_holds_what_checks_allow() {
    try_policies(16, 3, |known| {
        enumerations_hold_what_checks_allow(known, |allow| matches!(allow, Allow::List(..)))
    });
}

#[test]
fn actions_are_what_checks_allow() {
    try_policies(14, 4, |known| {
        enumerations_hold_what_checks_allow(known, |allow| matches!(allow, Allow::Actions(..)))
    });
}

#[test]
fn a_filter_passes_the_rows_that_a_list_holds() {
    try_policies(8, 5, |known| {
        let hosted = known.hosted(&known.facts)?;
        let split = split::by_number(&known.facts, known.sample.placing);
        let lists: Vec<(&String, &Question, Allow)> = known
            .questions
            .iter()
            .filter_map(|(text, question)| Some((text, question, Allow::of(question)?)))
            .filter(|(_, _, allow)| matches!(allow, Allow::List(..)))
            .collect();
        let asked: Vec<&Question> = lists.iter().map(|(_, question, _)| *question).collect();
        let given: Vec<Value> = asked.iter().flat_map(|question| mentioned(question)).collect();
        let values = Oracle::new(&known.program, &known.facts, &given, 0).known();
        let style = known.sample.placing;
        let local = Local::new(&known.sample.policy, &known.program, &split, style, &values, &asked)?;
        for (text, question, allow) in lists.iter().step_by(4) {
            let Expected::Is(Answer::Rows(rows)) = hosted.ask_allow(allow, &[]) else { continue };
            for way in ways(question).into_iter().filter(|way| matches!(way, Way::List | Way::Filter(_))) {
                let (ty, _) = filtered(question, way).unwrap();
                let listed: BTreeSet<Vec<Cell>> = local
                    .listed(&ty)
                    .filter(|value| holds(&rows, value))
                    .map(|value| vec![Cell::Value(value.clone())])
                    .collect();
                for asked in local.ask(question, way, |_, _| true) {
                    let Expected::Is(found) = &asked.found else { continue };
                    if *found != Answer::Rows(listed.clone()) {
                        let list = Answer::Rows(rows);
                        return Err(format!("{text}: {list}, and {way:?} on {}: {found}", asked.place()));
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn shorthand_is_the_longhand_that_it_stands_for() {
    try_policies(40, 6, |known| {
        let longhand = known.sample.guise.policy(&expand::longhand(&known.sample.plain));
        let spelled = policy::program(&longhand)?;
        let catalog = policy::tables(&known.facts);
        for (text, question) in known.every(12) {
            for dialect in [Dialect::Sqlite, Dialect::Postgresql] {
                let explained = |program| {
                    explain(program, &catalog, &Shape::of(program, question), dialect)
                        .map(|explained| (explained.plan, explained.sql))
                        .map_err(|error| error.to_string())
                };
                let (short, long) = (explained(&known.program), explained(&spelled));
                if short != long {
                    return Err(format!("{text}: {short:#?}\nand in full {long:#?}\n{longhand}"));
                }
            }
        }
        Ok(())
    });
}
