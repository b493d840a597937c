//! The oracle against everything that is fast: random policies, random facts, all questions.
//!
//! The engine answers all of them; for a share of the policies the statements also run on SQLite and on
//! PostgreSQL, in every form in which they are printed; and for a share the facts are split between the store,
//! a caller's tables and the request, and local checks answer a share of the questions.
//!
//! The seed is fixed, so a run is the same everywhere; `PORTCULLIS_CASES` says how many policies,
//! `PORTCULLIS_SEED` takes another seed, `PORTCULLIS_DATABASES=1` runs the statements of every policy, `2` of
//! every other one, and `PORTCULLIS_SPLITS` says the same of local checks. A failure is shrunk and printed as a fixture, ready to be
//! committed under `fixtures/conformance`.

#![expect(clippy::unwrap_used, reason = "a test binary; a panic is the failure")]

mod support;

use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell as Counter;
use std::fmt::Write;
use support::fixture::{Answer, Expected};
use support::generate::{IDS, Sample, samples};
use support::hosted::{FAULT, Hosted};
use support::local::Local;
use support::local::asked::ways;
use support::local::referee::{Referee, TOO_LARGE};
use support::local::split;
use support::notation::{self, Cell, Fact, Value};
use support::oracle::Oracle;
use support::outcome::{Allow, Outcome, mentioned};
use support::policy;
use support::returned::Returned;

/// How many policies by default: less than a minute's work.
const CASES: u32 = 25;

/// One check in so many is asked in every way, and with the facts in the request; the others once.
const EVERY_WAY: usize = 7;

/// Of every fourth policy the statements run on the databases, too: as slow as all the rest together.
const DATABASES: u32 = 4;

/// The reasons for which a check may be refused: on the way to its answer it asks for *some* value of a
/// variable that a rule only tests (`d != Doc{"a"}`, `not closed(d)`); or several recursions that are not
/// linear read each other, and the statement would be larger than SQLite takes.
const REASONS: [&str; 3] =
    ["cannot be enumerated", "too many places for one statement", "too many alternatives"];

/// The most checks in a thousand that may be refused for it.
const REFUSED_CHECKS_PER_MILLE: usize = 10;

/// The most enumerations in a thousand that may be refused.
const REFUSED_PER_MILLE: usize = 120;

/// Of every third policy the facts are split.
const SPLITS: u32 = 3;

/// Of the ways to ask for a local check, and the places, one in so many is taken.
const LOCAL: usize = 5;

/// The most local checks in a thousand that may be refused because the statement would be too large.
const TOO_LARGE_PER_MILLE: usize = 20;

/// The place of the answers that no engine gave.
const DATABASE: &str = "on a database";

#[derive(Default)]
struct Tally {
    policies: Counter<usize>,
    refused_policies: Counter<usize>,
    decisions: Counter<usize>,
    granted: Counter<usize>,
    enumerations: Counter<usize>,
    found: Counter<usize>,
    wildcards: Counter<usize>,
    refused: Counter<usize>,
    refused_checks: Counter<usize>,
    statements: Counter<usize>,
    local: Counter<usize>,
    too_large: Counter<usize>,
    /// Whether a local check failed; then all are asked about every smaller policy.
    local_failed: Counter<bool>,
    /// Whether a database failed; then it is asked about every smaller policy, too.
    database_failed: Counter<bool>,
}

impl Tally {
    fn note(&self, found: &Outcome) {
        match found {
            Expected::Is(Answer::Decision(granted)) => {
                count(&self.decisions);
                if *granted {
                    count(&self.granted);
                }
            }
            Expected::Is(Answer::Rows(rows)) => {
                count(&self.enumerations);
                if !rows.is_empty() {
                    count(&self.found);
                }
                if rows.iter().flatten().any(|cell| !matches!(cell, Cell::Value(_))) {
                    count(&self.wildcards);
                }
            }
            Expected::Refused(_) => {
                count(&self.enumerations);
                count(&self.refused);
            }
        }
    }
}

fn count(counter: &Counter<usize>) {
    counter.set(counter.get() + 1);
}

#[test]
fn the_engine_answers_what_the_oracle_answers() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u32>().unwrap());
    let config = Config {
        cases: number("PORTCULLIS_CASES").unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 3_000,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number("PORTCULLIS_SEED").unwrap_or(1).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let tally = Tally::default();
    let databases = number("PORTCULLIS_DATABASES").unwrap_or(DATABASES) as usize;
    let splits = number("PORTCULLIS_SPLITS").unwrap_or(SPLITS) as usize;
    let run = TestRunner::new_with_rng(config, rng).run(&samples(), |sample| {
        let asks_databases = tally.policies.get().is_multiple_of(databases) || tally.database_failed.get();
        compare(&sample, &tally, asks_databases)?;
        if tally.policies.get().is_multiple_of(splits) || tally.local_failed.get() {
            compare_local(&sample, &tally)?;
        }
        Ok(())
    });
    eprintln!(
        "{} policies ({} refused), {} decisions ({} yes), {} enumerations ({} not empty, {} with wildcards, {} refused), {} checks refused, {} answers of databases, {} of local checks ({} too large)",
        tally.policies.get(),
        tally.refused_policies.get(),
        tally.decisions.get(),
        tally.granted.get(),
        tally.enumerations.get(),
        tally.found.get(),
        tally.wildcards.get(),
        tally.refused.get(),
        tally.refused_checks.get(),
        tally.statements.get(),
        tally.local.get(),
        tally.too_large.get(),
    );
    if let Err(error) = run {
        panic!("{error}");
    }
    assert!(tally.granted.get() * 20 >= tally.decisions.get(), "too few questions are answered yes");
    assert!(tally.found.get() * 20 >= tally.enumerations.get(), "too few enumerations find anything");
    assert!(tally.wildcards.get() * 100 >= tally.enumerations.get(), "too few answers are wildcards");
    assert!(tally.refused_policies.get() * 4 <= tally.policies.get(), "too many policies are refused");
    assert!(
        tally.refused_checks.get() * 1000 <= tally.decisions.get() * REFUSED_CHECKS_PER_MILLE,
        "too many checks are refused"
    );
    assert!(
        tally.too_large.get() * 1000 <= tally.local.get() * TOO_LARGE_PER_MILLE,
        "too many local checks are refused"
    );
    assert!(
        tally.refused.get() * 1000 <= tally.enumerations.get() * REFUSED_PER_MILLE,
        "too many enumerations are refused"
    );
}

fn compare(sample: &Sample, tally: &Tally, asks_databases: bool) -> Result<(), TestCaseError> {
    count(&tally.policies);
    let program = match policy::program(&sample.policy) {
        Ok(program) => program,
        // The only mistake that the generator may make.
        Err(message) if message.contains("depends on its own negation") => {
            count(&tally.refused_policies);
            return Ok(());
        }
        Err(message) => return Err(TestCaseError::fail(format!("{message}\n{}", sample.policy))),
    };
    let facts = sample.facts(&program);
    let questions = questions(&program);
    let values: Vec<Value> = questions.iter().flat_map(|(_, question)| mentioned(question)).collect();
    let oracle = Oracle::new(&program, &facts, &values, 1_700_000_000);
    let fail = |message: String| TestCaseError::fail(format!("{message}\n{}", sample.policy));
    let stored = Hosted::new(&sample.policy).map_err(fail)?;
    stored.store(&facts).map_err(fail)?;
    let empty = Hosted::new(&sample.policy).map_err(fail)?;
    let returned = asks_databases.then(|| Returned::new(&program, &facts, 1_700_000_000));
    let returned = returned.transpose().map_err(fail)?;
    for (number, (text, question)) in questions.iter().enumerate() {
        let allow = Allow::of(question);
        let is_check = matches!(allow, Some(Allow::Authorize(..)));
        let mut asked = Vec::new();
        if let (true, Some(allow)) = (is_check, &allow) {
            asked.push(("stored", "entry point", stored.ask_allow(allow, &[])));
        }
        if !is_check || number % EVERY_WAY == 0 {
            asked.extend(
                stored.ask_every_way(question, &[]).into_iter().map(|(way, found)| ("stored", way, found)),
            );
            let ways = empty.ask_every_way(question, &facts);
            asked.extend(ways.into_iter().take(1).map(|(way, found)| ("in the request", way, found)));
            let ways = returned.iter().flat_map(|returned| returned.ask_every_way(question));
            asked.extend(ways.map(|(way, found)| (DATABASE, way, found)));
        }
        for (place, way, found) in asked {
            tally.note(&found);
            if place == DATABASE {
                count(&tally.statements);
            }
            let agrees = match &found {
                Expected::Is(Answer::Decision(decision)) => *decision == oracle.decision(question),
                Expected::Is(Answer::Rows(rows)) => oracle.agrees(question, rows),
                Expected::Refused(message) if message.starts_with(FAULT) => false,
                Expected::Refused(message) if is_check => {
                    count(&tally.refused_checks);
                    REASONS.iter().any(|reason| message.contains(reason))
                }
                Expected::Refused(_) => true,
            };
            if !agrees {
                tally.database_failed.set(tally.database_failed.get() || place == DATABASE);
                let answer = as_answer(&oracle, question);
                let message = format!("{way} ({place}): {found}");
                return Err(TestCaseError::fail(report(&sample.policy, &facts, text, &answer, &message)));
            }
        }
    }
    Ok(())
}

/// The same questions, with the facts split.
fn compare_local(sample: &Sample, tally: &Tally) -> Result<(), TestCaseError> {
    let Ok(program) = policy::program(&sample.policy) else { return Ok(()) };
    let facts = sample.facts(&program);
    let all = questions(&program);
    let values: Vec<Value> = all.iter().flat_map(|(_, question)| mentioned(question)).collect();
    let oracle = Oracle::new(&program, &facts, &values, portcullis::engine::unix_time());
    let fail = |message: String| TestCaseError::fail(format!("{message}\n{}", sample.policy));
    let hosted = Hosted::new(&sample.policy).map_err(fail)?;
    hosted.store(&facts).map_err(fail)?;
    let split = split::by_number(&facts, sample.placing);
    let asked: Vec<&Question> = all.iter().map(|(_, question)| question).collect();
    let values = oracle.known();
    let local =
        Local::new(&sample.policy, &program, &split, sample.placing, &values, &asked).map_err(fail)?;
    local.verify(&split).map_err(fail)?;
    let every = if tally.local_failed.get() { 1 } else { LOCAL };
    let mut turn = 0;
    for (text, question) in &all {
        let referee = Referee {
            program: &program,
            oracle: &oracle,
            question,
            hosted: &hosted,
            facts: &facts,
            context: &[],
        };
        for way in ways(question) {
            let is_asked = || {
                turn += 1;
                usize::is_multiple_of(turn, every)
            };
            for asked in local.ask(question, way, is_asked) {
                count(&tally.local);
                let found = asked.found.to_string();
                if TOO_LARGE.iter().any(|reason| found.contains(reason)) && !found.contains(FAULT) {
                    count(&tally.too_large);
                    continue;
                }
                let Err(expected) = referee.judge(&local, way, &asked.found) else { continue };
                tally.local_failed.set(true);
                let message = format!(
                    "{}: {way:?} on {}: {found}\n{}",
                    local.name,
                    asked.place(),
                    local.explained(question, way, &asked)
                );
                return Err(TestCaseError::fail(report(&sample.policy, &facts, text, &expected, &message)));
            }
        }
    }
    Ok(())
}

/// Every check over the known ids and an unknown one, every list and list of actions, and patterns.
fn questions(program: &Program) -> Vec<(String, Question)> {
    let values = |types: &[&str]| -> Vec<String> {
        let of = IDS.iter().filter(|(ty, _)| types.contains(ty));
        of.flat_map(|(ty, ids)| ids.iter().map(move |id| format!("{ty}:{id}"))).collect()
    };
    let actions = ["p0", "p1", "p2", "p3"];
    let resources = values(&["Doc", "Org", "Memo"]);
    let actors = ["User:a", "User:b", "User:zz", "Group:a"];
    let mut texts = Vec::new();
    for actor in actors {
        for action in actions {
            texts.extend(resources.iter().map(|resource| format!("allow({actor}, {action:?}, {resource})")));
            texts.extend(["Doc", "Org", "Memo"].map(|ty| format!("allow({actor}, {action:?}, {ty}:?)")));
        }
        texts.extend(resources.iter().map(|resource| format!("allow({actor}, String:?, {resource})")));
        texts.push(format!("allow({actor}, String:?)"));
    }
    let patterns = [
        "allow(User:?, \"p0\", Doc:?)",
        "allow(User:?, \"p1\", Doc:a)",
        "allow(Group:?, String:?, Org:?)",
        "has_role(User:?, String:?, Doc:a)",
        "has_role(User:a, \"r1\", Doc:?)",
        "has_role(User:a, \"r0\")",
        "has_role(Group:?, \"r0\", Doc:_)",
        "has_permission(User:?, \"q0\")",
        "has_relation(Doc:a, \"parent\", Doc:?)",
        "has_relation(Doc:?, \"parent\", Doc:?)",
        "has_permission(User:a, \"p0\", Doc:?) and has_role(User:a, \"r0\", Doc:?)",
        "allow(User:?u, \"p0\", Doc:a) and allow(User:?u, \"p1\", Doc:a)",
        "d0(Doc:?)",
        "d0(Memo:?)",
        "d1(Doc:?, Doc:?)",
        "d1(Doc:a, Doc:?)",
        "d1(Doc:?, Memo:a)",
        "d1(Doc:zz, Doc:_)",
        "d1(Doc:?x, Doc:?x)",
        "d2(User:?, Doc:?)",
        "d2(User:a, Doc:?)",
        "d2(User:_, Doc:?)",
        "d2(User:?, Doc:zz)",
        "d3(Org:?)",
        "d4(User:?, Org:a)",
        "d4(User:b, Org:?)",
        "d2(User:?u, Doc:?d) and d1(Doc:?d, Doc:a)",
        "allow(User:[a, zz], \"p1\", Doc:[a, b, zz])",
    ];
    texts.extend(patterns.map(str::to_owned));
    let questions = texts.into_iter().map(|text| (text.clone(), notation::question(&text).unwrap()));
    let is_known = |question: &Question| {
        question.atoms.iter().all(|atom| {
            !atom.predicate.starts_with('d')
                || program.predicate_id(&atom.predicate, atom.args.len()).is_some()
        })
    };
    questions.filter(|(_, question)| is_known(question)).collect()
}

fn as_answer(oracle: &Oracle<'_>, question: &Question) -> String {
    let is_decision = question.vars.iter().all(|var| support::outcome::given(var).is_some());
    if is_decision {
        return Outcome::Is(Answer::Decision(oracle.decision(question))).to_string();
    }
    oracle.answers(question).map_or_else(|| "refused: ".to_owned(), |rows| Answer::Rows(rows).to_string())
}

/// The smallest failure as a page.
fn report(policy: &str, facts: &[Fact], query: &str, answer: &str, found: &str) -> String {
    let mut page = format!("{found}\n\n# A title\n\nA sentence.\n\n```policy\n{policy}```\n\n```facts\n");
    facts.iter().for_each(|fact| writeln!(page, "{fact}").unwrap());
    write!(
        page,
        "```\n\n## a heading\n\nWhy.\n\n| query | answer |\n| --- | --- |\n| {query} | {answer} |\n"
    )
    .unwrap();
    page
}
