//! What must not change an answer, and how answers must agree with each other, without knowing the right one.
//!
//! The policies, facts and questions are those of the differential test, and no oracle is asked: each test
//! compares what the service says with what it says elsewhere. The seeds are fixed, so a run is the same
//! everywhere. What is refused on one side shows nothing, so each test counts what it compared, and fails if
//! that is too little.

#![expect(clippy::panic, reason = "a test binary; a panic is the failure")]

use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::ir::{LiteralKind, Polarity, Program, TypeId};
use portcullis_compiler::question::{CompileError, Question};
use portcullis_compiler::{Dialect, explain};
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::generate::{Sample, samples};
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::Local;
use portcullis_testkit::local::split;
use portcullis_testkit::local::ways::{Way, filtered, ways};
use portcullis_testkit::notation::{Cell, Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::{Allow, Outcome, mentioned};
use portcullis_testkit::questions::questions;
use portcullis_testkit::refusal::{self, Kind};
use portcullis_testkit::reorder::{mixed, reordered};
use portcullis_testkit::{desugar, policy};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell as Counter;
use std::collections::BTreeSet;

/// A random policy with its facts and what is asked about it.
struct Known<'s> {
    sample: &'s Sample,
    program: Program,
    facts: Vec<Fact>,
    questions: Vec<(String, Question)>,
}

impl Known<'_> {
    /// Every `n`th question, others for each policy.
    fn every(&self, n: usize) -> impl Iterator<Item = &(String, Question)> {
        self.questions.iter().skip(self.sample.placing % n).step_by(n)
    }

    /// An engine with the policy and these facts.
    fn hosted(&self, facts: &[Fact]) -> Result<Hosted, String> {
        let hosted = Hosted::new(&self.sample.policy)?;
        hosted.store(facts)?;
        Ok(hosted)
    }

    /// The checks that a list of resources, actions or actors is made of: each with the value that it is
    /// about.
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
            Allow::Subjects(ty, action, resource) => known
                .into_iter()
                .filter(|value| ty.as_ref().is_none_or(|ty| value.ty == *ty))
                .map(|value| (value.clone(), Allow::Authorize(value, action.clone(), resource.clone())))
                .collect(),
        }
    }
}

/// The share of comparisons that may find a refusal instead of an answer.
const REFUSED_PERCENT: usize = 10;

/// How often answers were compared, and how often there was none to compare.
#[derive(Default)]
struct Compared {
    answers: Counter<usize>,
    telling: Counter<usize>,
    refused: Counter<usize>,
}

impl Compared {
    /// Counts a comparison; `is_telling` if something is granted or found, so that a service that denies all
    /// of it does not look right.
    fn count(&self, is_telling: bool) {
        self.answers.set(self.answers.get() + 1);
        self.telling.set(self.telling.get() + usize::from(is_telling));
    }

    /// The answer, or `None` if there is a refusal, which is counted; anything else is an error.
    fn answer<'o>(&self, found: &'o Outcome) -> Result<Option<&'o Answer>, String> {
        match found {
            Expected::Is(answer) => Ok(Some(answer)),
            Expected::Refused(told) if told.kind.is_some_and(|kind| kind != Kind::Late) => {
                self.refused.set(self.refused.get() + 1);
                Ok(None)
            }
            Expected::Refused(told) => Err(format!("neither an answer nor a refusal: {told}")),
        }
    }

    fn is_enough(&self, name: &str, at_least: usize) {
        let [answers, telling, refused] = [&self.answers, &self.telling, &self.refused].map(Counter::get);
        eprintln!("{name}: {answers} comparisons, {telling} of something; {refused} refusals");
        assert!(answers >= at_least, "only {answers} comparisons");
        assert!(telling * 50 >= answers, "only {telling} comparisons of {answers} are of something");
        assert!(
            refused * 100 <= (answers + refused) * REFUSED_PERCENT,
            "{refused} refusals, {answers} answers"
        );
    }
}

/// Whether an answer grants or finds something.
fn is_something(answer: &Answer) -> bool {
    match answer {
        Answer::Decision(granted) => *granted,
        Answer::Rows(rows) => !rows.is_empty(),
    }
}

/// Tries a number of random policies that are accepted and fit, and demands a number of comparisons.
fn try_policies(
    (n, seed): (u32, u8),
    at_least: usize,
    fits: impl Fn(&Known<'_>) -> bool,
    holds: impl Fn(&Known<'_>, &Compared) -> Result<(), String>,
) {
    let compared = Compared::default();
    let config = Config { cases: n, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let run = TestRunner::new_with_rng(config, rng).run(&samples(), |sample| {
        let Ok(program) = policy::program(&sample.policy) else {
            return Err(TestCaseError::reject("a cycle through negation"));
        };
        let (facts, questions) =
            (sample.facts(&program), questions(&program, &sample.words, sample.spelling));
        let known = Known { sample: &sample, program, facts, questions };
        if !fits(&known) {
            return Err(TestCaseError::reject("a policy that the test is not about"));
        }
        holds(&known, &compared).map_err(|message| {
            let facts: Vec<String> = known.facts.iter().map(Fact::to_string).collect();
            TestCaseError::fail(format!("{message}\n{}{}", sample.policy, facts.join("\n")))
        })
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    compared.is_enough(std::thread::current().name().unwrap_or_default(), at_least);
}

/// The same answer, or refused both for the same reason.
fn same(left: &Outcome, right: &Outcome, compared: &Compared) -> Result<bool, String> {
    Ok(match (compared.answer(left)?, compared.answer(right)?) {
        (Some(left), Some(right)) => {
            compared.count(is_something(left));
            left == right
        }
        (None, None) => kind(left) == kind(right),
        (Some(_), None) | (None, Some(_)) => false,
    })
}

/// Why a question is refused.
fn kind(found: &Outcome) -> Option<Kind> {
    match found {
        Expected::Is(_) => None,
        Expected::Refused(told) => told.kind,
    }
}

/// For a test of all policies.
fn all(_: &Known<'_>) -> bool {
    true
}

/// Whether no rule negates.
fn is_positive(known: &Known<'_>) -> bool {
    let literals = known.program.rules.iter().flat_map(|rule| &rule.body);
    let negates = |kind: &LiteralKind| matches!(kind, LiteralKind::Atom { polarity: Polarity::Negated, .. });
    !literals.into_iter().any(|literal| negates(&literal.kind))
}

#[test]
fn the_order_of_rules_conjuncts_and_facts_changes_nothing() {
    try_policies((20, 1), 1_000, all, |known, compared| {
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
                if !same(&one, &other, compared)? {
                    return Err(format!("{text}, {way}: {one}, and in another order {other}\n{policy}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn without_negation_another_fact_takes_no_answer_away() {
    let fits = |known: &Known<'_>| !known.facts.is_empty() && is_positive(known);
    try_policies((14, 2), 500, fits, |known, compared| {
        let Some((last, others)) = mixed(known.facts.clone(), known.sample.placing)
            .split_last()
            .map(|(last, others)| (last.clone(), others.to_vec()))
        else {
            return Ok(());
        };
        let (before, after) = (known.hosted(&others)?, known.hosted(&known.facts)?);
        for (text, question) in known.every(6) {
            let found =
                before.ask_every_way(question, &[]).into_iter().zip(after.ask_every_way(question, &[]));
            for ((way, before), (_, after)) in found {
                let (Some(one), Some(other)) = (compared.answer(&before)?, compared.answer(&after)?) else {
                    continue;
                };
                compared.count(is_something(one));
                let keeps = match (one, other) {
                    (Answer::Decision(before), Answer::Decision(after)) => !before || *after,
                    (Answer::Rows(before), Answer::Rows(after)) => {
                        let is_kept =
                            |row: &Vec<Cell>| after.iter().any(|other| Cell::row_covers(other, row));
                        before.iter().all(is_kept)
                    }
                    (Answer::Decision(_), Answer::Rows(_)) | (Answer::Rows(_), Answer::Decision(_)) => false,
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
    compared: &Compared,
    is_tried: fn(&Allow) -> bool,
) -> Result<(), String> {
    let hosted = known.hosted(&known.facts)?;
    let asked = known.questions.iter().filter_map(|(text, question)| Some((text, Allow::of(question)?)));
    let asked = asked.filter(|(_, allow)| is_tried(allow));
    for (text, allow) in asked.skip(known.sample.placing % 3).step_by(3) {
        let all = hosted.ask_allow(&allow, &[]);
        let Some(Answer::Rows(rows)) = compared.answer(&all)? else { continue };
        // Most lists are empty, and one denial is much like the other.
        let step = if rows.is_empty() { 3 } else { 1 };
        for (value, check) in known.checks(&allow).into_iter().step_by(step) {
            let found = hosted.ask_allow(&check, &[]);
            let Some(Answer::Decision(allowed)) = compared.answer(&found)? else { continue };
            compared.count(*allowed);
            if holds(rows, &value) != *allowed {
                let rows = Answer::Rows(rows.clone());
                return Err(format!("{text}: {rows}, and a check of {value}: {found}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_list_holds_what_checks_allow() {
    try_policies((64, 3), 1_000, all, |known, compared| {
        enumerations_hold_what_checks_allow(known, compared, |allow| matches!(allow, Allow::List(..)))
    });
}

#[test]
fn actions_are_what_checks_allow() {
    try_policies((24, 4), 1_000, all, |known, compared| {
        enumerations_hold_what_checks_allow(known, compared, |allow| matches!(allow, Allow::Actions(..)))
    });
}

#[test]
fn the_listed_actors_are_those_that_checks_allow() {
    try_policies((64, 6), 500, all, |known, compared| {
        enumerations_hold_what_checks_allow(known, compared, |allow| matches!(allow, Allow::Subjects(..)))
    });
}

#[test]
fn a_filter_passes_the_rows_that_a_list_holds() {
    try_policies((8, 5), 200, all, |known, compared| {
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
            let all = hosted.ask_allow(allow, &[]);
            let Some(Answer::Rows(rows)) = compared.answer(&all)? else { continue };
            for way in ways(question).into_iter().filter(|way| matches!(way, Way::List | Way::Filter(_))) {
                let (ty, _) = filtered(question, way).unwrap();
                let listed: BTreeSet<Vec<Cell>> = local
                    .listed(&ty)
                    .filter(|value| holds(rows, value))
                    .map(|value| vec![Cell::Value(value.clone())])
                    .collect();
                for asked in local.ask(question, way, |_, _| true) {
                    if matches!(&asked.found, Expected::Refused(message) if local.is_mistaken(message)) {
                        continue;
                    }
                    let Some(found) = compared.answer(&asked.found)? else { continue };
                    compared.count(is_something(found));
                    if *found != Answer::Rows(listed.clone()) {
                        let list = Answer::Rows(rows.clone());
                        return Err(format!("{text}: {list}, and {way:?} on {}: {found}", asked.place()));
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn shorthand_has_the_answers_of_its_longhand() {
    try_policies((40, 6), 1_000, all, |known, compared| {
        let longhand =
            known.sample.spelling.policy(&desugar::desugared(&known.sample.words, &known.sample.plain));
        let spelled = policy::program(&longhand)?;
        let catalog = policy::tables(&known.facts);
        for (text, question) in known.every(12) {
            for dialect in [Dialect::Sqlite, Dialect::Postgresql] {
                let explained = |program| {
                    explain(program, &catalog, question, dialect, Deadline::NEVER)
                        .map(|explained| {
                            (
                                explained.stages.into_iter().find(|stage| stage.title == "the plan"),
                                explained.sql,
                            )
                        })
                        // A refusal names the line of a rule, which is a different one there.
                        .map_err(|error| match error {
                            CompileError::Refused(refusal) => Ok(refusal::kind(&refusal)),
                            CompileError::OutOfTime(_) => Err("out of time".to_owned()),
                            CompileError::Bug(text) => Err(text),
                        })
                };
                let (short, long) = (explained(&known.program), explained(&spelled));
                if short != long {
                    return Err(format!("{text}: {short:#?}\nand in full {long:#?}\n{longhand}"));
                }
                match &short {
                    Ok((_, sql)) => compared.count(sql.contains(" FROM ")),
                    Err(Ok(_)) => compared.refused.set(compared.refused.get() + 1),
                    Err(Err(fault)) => return Err(format!("neither a plan nor a refusal: {fault}")),
                }
            }
        }
        Ok(())
    });
}
