//! The oracle against everything that is fast: random policies, random facts, all questions.
//!
//! The seed is fixed, so a run is the same everywhere; `PORTCULLIS_CASES` says how many policies,
//! `PORTCULLIS_SEED` takes another seed. A failure is shrunk and printed as a fixture, ready to be
//! committed under `fixtures/conformance`.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test binary that reports what it found")]

mod support;

use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell as Counter;
use std::fmt::Write;
use support::fixture::{Answer, Expected};
use support::generate::{IDS, Sample, samples};
use support::hosted::Hosted;
use support::notation::{self, Fact, Value};
use support::oracle::Oracle;
use support::outcome::{Allow, Outcome, mentioned};
use support::policy;

/// How many policies by default: a minute's work.
const CASES: u32 = 150;

/// The most enumerations in a thousand that may be refused.
const REFUSED_PER_MILLE: usize = 120;

#[derive(Default)]
struct Tally {
    policies: Counter<usize>,
    refused_policies: Counter<usize>,
    decisions: Counter<usize>,
    enumerations: Counter<usize>,
    refused: Counter<usize>,
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
        ..Config::default()
    };
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number("PORTCULLIS_SEED").unwrap_or(1).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let tally = Tally::default();
    let run = TestRunner::new_with_rng(config, rng).run(&samples(), |sample| compare(&sample, &tally));
    eprintln!(
        "{} policies ({} refused), {} decisions, {} enumerations ({} refused)",
        tally.policies.get(),
        tally.refused_policies.get(),
        tally.decisions.get(),
        tally.enumerations.get(),
        tally.refused.get(),
    );
    if let Err(error) = run {
        panic!("{error}");
    }
    assert!(tally.refused_policies.get() * 4 <= tally.policies.get(), "too many policies are refused");
    assert!(
        tally.refused.get() * 1000 <= tally.enumerations.get() * REFUSED_PER_MILLE,
        "too many enumerations are refused"
    );
}

fn compare(sample: &Sample, tally: &Tally) -> Result<(), TestCaseError> {
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
    let facts: Vec<Fact> = sample.facts.iter().filter(|fact| is_storable(&program, fact)).cloned().collect();
    let questions = questions();
    let values: Vec<Value> = questions.iter().flat_map(|(_, question)| mentioned(question)).collect();
    let oracle = Oracle::new(&program, &facts, &values, 1_700_000_000);
    let fail = |message: String| TestCaseError::fail(format!("{message}\n{}", sample.policy));
    let stored = Hosted::new(&sample.policy).map_err(fail)?;
    stored.store(&facts).map_err(fail)?;
    let empty = Hosted::new(&sample.policy).map_err(fail)?;
    for (text, question) in &questions {
        let asked = [
            ("stored", stored.ask_every_way(question, &[])),
            ("in the request", empty.ask_every_way(question, &facts)),
        ];
        for (place, (way, found)) in
            asked.into_iter().flat_map(|(place, ways)| ways.into_iter().map(move |way| (place, way)))
        {
            let agrees = match &found {
                Expected::Is(Answer::Decision(decision)) => {
                    count(&tally.decisions);
                    *decision == oracle.decision(question)
                }
                Expected::Is(Answer::Rows(rows)) => {
                    count(&tally.enumerations);
                    oracle.agrees(question, rows)
                }
                Expected::Refused(_) => {
                    let is_enumeration = !matches!(Allow::of(question), Some(Allow::Authorize(..)));
                    count(&tally.enumerations);
                    count(&tally.refused);
                    is_enumeration
                }
            };
            if !agrees {
                let answer = as_answer(&oracle, question);
                let message = format!("engine ({place}, {way}): {found}");
                return Err(TestCaseError::fail(report(&sample.policy, &facts, text, &answer, &message)));
            }
        }
    }
    Ok(())
}

/// Every check over the known ids and an unknown one, every list and list of actions, and patterns.
fn questions() -> Vec<(String, Question)> {
    let values = |types: &[&str]| -> Vec<String> {
        let of = IDS.iter().filter(|(ty, _)| types.contains(ty));
        of.flat_map(|(ty, ids)| ids.iter().map(move |id| format!("{ty}:{id}"))).collect()
    };
    let actions = ["p0", "p1", "p2", "p3"];
    let resources = values(&["Doc", "Org", "Memo"]);
    let mut texts = Vec::new();
    for actor in values(&["User", "Group"]) {
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
        "allow(User:[a, zz], \"p1\", Doc:[a, b, zz])",
    ];
    texts.extend(patterns.map(str::to_owned));
    texts.into_iter().map(|text| (text.clone(), notation::question(&text).unwrap())).collect()
}

fn is_storable(program: &Program, fact: &Fact) -> bool {
    let args: Vec<(&str, &str)> = fact.args.iter().map(|arg| (arg.ty.as_str(), arg.id.as_str())).collect();
    program.accepts(&fact.predicate, &args).is_ok()
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
