//! Explanations alone, and many of them.
//!
//! The run that compares all judges explains a fifth of its questions, and few questions about a random
//! policy hold. Here the oracle chooses those that do, and some that do not; the engine explains them, with
//! facts in its store and in the request, and nothing else is asked. Of a policy only some questions are
//! taken, because another policy shows more.

use super::explain::{Explained, Explaining};
use super::judge::{Found, PATIENCE, asked, no_question, program};
use super::page::page;
use super::tally::count;
use super::{next, run, wanted};
use portcullis_testkit::generate::Sample;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::split;
use portcullis_testkit::oracle::Oracle;
use std::cell::Cell as Counter;
use std::fmt;

/// The default number of proofs: some seconds.
const PROOFS: usize = 500;

/// From how many proofs on a run must have some of every kind.
const MANY_PROOFS: usize = 5_000;

/// How many proofs and how many noes of one policy there are at most.
const YES_OF_POLICY: usize = 24;
const NO_OF_POLICY: usize = 6;

/// Counts of a run.
#[derive(Default)]
struct ProofTally {
    policies: Counter<usize>,
    /// Policies that are refused, or too much for the oracle.
    without: Counter<usize>,
    explained: Explained,
}

#[test]
fn every_proof_passes_the_checker() {
    let most = wanted("PORTCULLIS_PROOFS").unwrap_or(PROOFS);
    let tally = ProofTally::default();
    let is_enough = || tally.explained.proved.get() >= most;
    run("--proofs 1", &|sample, only| judge(sample, &tally, only), &is_enough, &tally);
    if tally.explained.proved.get() >= MANY_PROOFS {
        tally.explained.check_shares();
    }
}

/// Explains some of a policy's questions, or only the one of this text.
fn judge(sample: &Sample, tally: &ProofTally, only: Option<&str>) -> Result<(), Found> {
    count(&tally.policies);
    let Some(program) = program(sample)? else {
        count(&tally.without);
        return Ok(());
    };
    let (questions, values) = asked(sample, &program, only);
    let facts = sample.facts(&program);
    let now = portcullis::engine::unix_time();
    let Some(oracle) = Oracle::patient(&program, &facts, &values, now, PATIENCE) else {
        count(&tally.without);
        return Ok(());
    };
    let split = split::by_number(&facts, sample.placing);
    let stored = || {
        let hosted = Hosted::new(&sample.policy)?;
        hosted.store(&split.stored)?;
        hosted.store(&split.local)?;
        Ok(hosted)
    };
    let hosted = stored().map_err(|message: String| no_question(sample, &message))?;
    let explaining = Explaining { program: &program, oracle: &oracle, hosted: &hosted, split: &split };
    // By chance, because questions of a kind have equal distances; high proofs more often than low ones.
    let mut order = Vec::new();
    for (number, (text, question)) in (0_u64..).zip(&questions) {
        let height = oracle.height(question);
        let chance = next(number << 16 | sample.placing as u64);
        order.push((chance >> (2 * height.unwrap_or_default().min(8)), height.is_some(), text, question));
    }
    order.sort_unstable_by_key(|(chance, ..)| *chance);
    let mut left = [NO_OF_POLICY, YES_OF_POLICY];
    for (turn, (_, holds, text, question)) in order.into_iter().enumerate() {
        let [no, yes] = &mut left;
        if *no + *yes == 0 {
            break;
        }
        let left = if holds { yes } else { no };
        if *left == 0 && only.is_none() {
            continue;
        }
        *left = left.saturating_sub(1);
        let turn = only.is_none().then_some(turn);
        explaining.judge(question, turn, &tally.explained).map_err(|(expected, found)| Found {
            question: text.clone(),
            page: page(&sample.policy, &facts, text, &expected, &found),
        })?;
    }
    Ok(())
}

impl fmt::Display for ProofTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policies, without, explained } = self;
        write!(
            f,
            "{} policies ({} refused, or too much for the oracle): {explained}",
            policies.get(),
            without.get()
        )
    }
}
