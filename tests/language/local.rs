//! Local checks answer what hosted ones do, however facts are split.
//!
//! Every heading of `fixtures/conformance` is a trial. Its facts are split between the store, the caller's
//! database and the request in every way that [`splits`] knows, each in a different style of schema; each of
//! its questions is asked in each form that fits, and the SQL runs on PostgreSQL and on SQLite. All answers
//! must be the oracle's.
//!
//! ```text
//! cargo test --test language -- local::recursion                        only the pages of one topic
//! PORTCULLIS_STYLE=17 cargo test --test language -- local::recursion    every split in this style
//! PORTCULLIS_EVERY=1 cargo test --test language -- local::              every way in every place: some minutes
//! ```
//!
//! By default the facts of a page that are all on one side are asked for in every way, and of the other
//! splits one way and place in three, each split another.

#![expect(clippy::unwrap_used, reason = "a panic is the failure of one trial")]

use libtest_mimic::{Failed, Trial};
use portcullis_testkit::fixture::{Case, Expected, Query};
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::Local;
use portcullis_testkit::local::referee::Referee;
use portcullis_testkit::local::split::splits;
use portcullis_testkit::local::ways::ways;
use portcullis_testkit::notation::{Fact, Value};
use portcullis_testkit::oracle::Oracle;
use portcullis_testkit::outcome::mentioned;
use portcullis_testkit::pages::{self, Page};
use portcullis_testkit::policy;
use std::collections::BTreeSet;

/// Of this many ways and places one is asked, by default.
const EVERY: usize = 3;

/// The splits that are asked in every way: all stored, all local.
const WHOLE: usize = 2;

/// Failures of one heading that are reported, the first of them in full.
const TOLD: usize = 12;

/// A trial for each heading with a question.
pub(crate) fn trials() -> Vec<Trial> {
    let is_asked =
        |case: &Case| !case.queries.is_empty() && !matches!(case.upload, Some(Expected::Refused(_)));
    pages::trials("local", is_asked, |page, case| finish(page, &complaints(page, case)))
}

fn finish(page: &Page, complaints: &[String]) -> Result<(), Failed> {
    if complaints.is_empty() {
        return Ok(());
    }
    let told: Vec<&str> = complaints.iter().take(TOLD).map(String::as_str).collect();
    let n = complaints.len();
    Err(format!("{}: {n} wrong answers\n{}", page.file.display(), told.join("\n")).into())
}

fn complaints(page: &Page, case: &Case) -> Vec<String> {
    let program = policy::program(&case.policy).unwrap();
    let facts: Vec<Fact> = case.facts.iter().chain(&case.context).cloned().collect();
    let questions: Vec<_> = case.queries.iter().map(|query| &query.question).collect();
    let given: Vec<Value> = questions.iter().flat_map(|question| mentioned(question)).collect();
    let oracle = Oracle::new(&program, &facts, &given, portcullis::engine::unix_time());
    let values: BTreeSet<Value> = oracle.known();
    let hosted = Hosted::new(&case.policy).unwrap();
    hosted.store(&case.facts).unwrap();
    let referee = |question| Referee {
        program: &program,
        oracle: &oracle,
        question,
        hosted: &hosted,
        context: &case.context,
    };
    let referees: Vec<Referee<'_>> = questions.iter().map(|question| referee(question)).collect();
    let chosen = number_of("PORTCULLIS_STYLE");
    let every = number_of("PORTCULLIS_EVERY").unwrap_or(EVERY);
    let first: usize = page.name.bytes().chain(case.name.bytes()).map(usize::from).sum();
    let mut complaints = Vec::new();
    if !case.written.schema.is_empty() {
        let local =
            Local::written(&case.policy, &case.written, (&case.facts, &case.context), &values, &questions);
        match local {
            Ok(local) => ask(&local, case, &referees, &mut |_, _| true, &mut complaints),
            Err(message) => complaints.push(message),
        }
    }
    for (number, split) in splits(&case.facts, &case.context).into_iter().enumerate() {
        let style = chosen.unwrap_or(first + number);
        let every = if number < WHOLE { 1 } else { every };
        let mut turn = number;
        let mut is_asked = |_, _| {
            turn += 1;
            turn.is_multiple_of(every)
        };
        let made = Local::new(&case.policy, &program, &split, style, &values, &questions);
        match made.and_then(|local| local.verify(&split).map(|()| local)) {
            Ok(local) => ask(&local, case, &referees, &mut is_asked, &mut complaints),
            Err(message) => complaints.push(format!("{}, style {style}: {message}", split.name)),
        }
    }
    complaints
}

fn number_of(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

fn ask(
    local: &Local,
    case: &Case,
    referees: &[Referee<'_>],
    is_asked: &mut dyn FnMut(usize, usize) -> bool,
    complaints: &mut Vec<String>,
) {
    for (Query { text, question, .. }, referee) in case.queries.iter().zip(referees) {
        for way in ways(question) {
            for asked in local.ask(question, way, &mut *is_asked) {
                let Err(expected) = referee.judge(local, way, &asked.found) else { continue };
                let found = asked.found.to_string();
                let is_first = complaints.is_empty();
                let found = if is_first { &found } else { found.lines().next().unwrap_or_default() };
                let mut told = format!(
                    "{text}\n  {}: {way:?} on {}\n  expected {expected}\n  found {found}\n",
                    local.name,
                    asked.place(),
                );
                if is_first {
                    told.push_str(&local.explained(question, way, &asked));
                }
                complaints.push(told);
            }
        }
    }
}
