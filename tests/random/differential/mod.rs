//! The oracle against everything that is fast: random policies, random facts, all questions.
//!
//! A *case* is one question about a policy with facts, and each is put to three judges besides the oracle:
//! the engine, whose facts are in its store and in the request, and local SQL on PostgreSQL and on SQLite,
//! with the facts split between the store, the request and the caller's tables. For a share of the policies
//! the statements themselves run on both databases, too, in every form in which they are printed. Lists in
//! pages and bulks of resources are asked over facts about many more resources.
//!
//! A run ends with what it asked, counted by kind, and one of a minute or more fails if a kind was too rare.
//! A shorter one cannot have everything, and says so.
//!
//! ```text
//! cargo test --test random -- differential::   the same policies every time: about a minute
//! scripts/differential --minutes 60 --seed 7   as many policies as an hour holds
//! scripts/differential --proofs 100000         explanations alone ([`proofs`])
//! ```
//!
//! Each policy has a seed of its own, made from the one before; so the first disagreement, which ends the
//! run, is repeated by a run that begins with its policy's seed. It is shrunk and printed as a page for
//! `fixtures/conformance`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test binary; a panic is the failure")]

mod explain;
mod judge;
mod many_resources;
mod page;
mod proofs;
mod review;
mod tally;
mod unmentioned;

use judge::{Found, judge};
use portcullis_testkit::generate::{Sample, samples};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::RefCell;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tally::Tally;

/// The default number of cases; about a minute's work without optimisation.
const CASES: usize = 6_000;

/// The default seed.
const SEED: u64 = 1;

/// One in `STEP` of a policy's questions is asked by default: another policy shows more than its other
/// questions.
const STEP: u64 = 5;

/// How often a long run reports its progress.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Judges a sample, all of its questions or the one of this text.
type JudgeSample<'j> = &'j dyn Fn(&Sample, Option<&str>) -> Result<(), Found>;

#[test]
fn all_judges_answer_what_the_oracle_answers() {
    let has_time = wanted::<f64>("PORTCULLIS_MINUTES").is_some();
    let cases = wanted("PORTCULLIS_CASES").unwrap_or(if has_time { usize::MAX } else { CASES });
    let tally = Tally::of(wanted("PORTCULLIS_STEP").unwrap_or(STEP));
    let is_enough = || tally.cases.get() >= cases;
    run("--cases 1", &|sample, only| judge(sample, &tally, only), &is_enough, &tally);
    if tally.cases.get() >= CASES {
        tally.check_shares();
    } else {
        eprintln!("fewer than {CASES} cases: whether each kind of question is among them was not looked at");
    }
}

/// Judges one policy after the other, until it is enough or the time is over. `again` are the arguments of
/// the script that repeat a disagreement.
fn run(again: &str, judge: JudgeSample<'_>, is_enough: &dyn Fn() -> bool, tally: &dyn Display) {
    let minutes: Option<f64> = wanted("PORTCULLIS_MINUTES");
    let start = Instant::now();
    let end = minutes.map(|minutes| start + Duration::from_secs_f64(minutes * 60.0));
    let mut seed = wanted("PORTCULLIS_SEED").unwrap_or(SEED);
    let mut printed = start;
    while !is_enough() && end.is_none_or(|end| Instant::now() < end) {
        if let Err(found) = try_policy(seed, judge) {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("disagreement-{seed}.md"));
            fs::write(&file, &found).unwrap();
            let again = format!("scripts/differential --seed {seed} {again}");
            panic!("{found}\nafter {tally}\nthe same again: {again}\nthe page is {}", file.display());
        }
        seed = next(seed);
        if printed.elapsed() > BETWEEN_LINES {
            printed = Instant::now();
            eprintln!("{:>5} s: {tally}", start.elapsed().as_secs());
        }
    }
    eprintln!("{} s, no disagreement: {tally}", start.elapsed().as_secs());
}

fn wanted<T: FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}

/// The seed of the next policy: one step of splitmix64, which visits every number.
fn next(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Judges the policy of a seed, and shrinks it if the judges disagree.
fn try_policy(seed: u64, judge: JudgeSample<'_>) -> Result<(), String> {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 5_000,
        max_shrink_time: 120_000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let tree = samples().new_tree(&mut runner).map_err(|reason| reason.to_string())?;
    // A smaller policy is asked the one question that failed, in every way.
    let failed: RefCell<Option<String>> = RefCell::new(None);
    let run = runner.run_one(tree, |sample| {
        let only = failed.borrow().clone();
        judge(&sample, only.as_deref()).map_err(|found| {
            failed.borrow_mut().get_or_insert(found.question);
            TestCaseError::fail(found.page)
        })
    });
    match run {
        Ok(_) => Ok(()),
        Err(TestError::Abort(reason)) => Err(reason.to_string()),
        Err(TestError::Fail(reason, Sample { policy, .. })) => {
            let reason = reason.to_string();
            Err(if reason.contains(&policy) { reason } else { format!("{reason}\n\n{policy}") })
        }
    }
}
