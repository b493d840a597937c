//! What a statement costs inside the server, and two statements side by side.

use portcullis_testkit::expert::database::Database;
use portcullis_testkit::expert::scans;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio_postgres::Error;

/// Above this estimate PostgreSQL compiles a statement to machine code first, unless told otherwise.
const JIT_ABOVE_COST: f64 = 100_000.0;

/// The time that the server took for a statement, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) planning: f64,
    pub(crate) execution: f64,
}

impl Cost {
    pub(crate) fn sum(self) -> f64 {
        self.planning + self.execution
    }

    /// The median of each part.
    fn median(costs: &[Self]) -> Self {
        Self {
            planning: median(costs.iter().map(|cost| cost.planning)),
            execution: median(costs.iter().map(|cost| cost.execution)),
        }
    }
}

/// A statement's plan, as far as it is compared.
#[derive(Debug)]
struct Plan {
    cost: Cost,
    /// The tables that are read from end to end.
    scans: BTreeSet<String>,
    estimate: f64,
    /// PostgreSQL compiled it to machine code, which it does not do where `jit` is off.
    is_compiled: bool,
}

impl Plan {
    /// Runs the statement; what it changes is undone.
    async fn of(database: &Database, sql: &str) -> Result<Self, Error> {
        let explain = format!("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}");
        let text = database.undone(&explain).await?.concat();
        let json: Json = serde_json::from_str(&text).unwrap();
        let number = |pointer: &str| json.pointer(pointer).and_then(Json::as_f64).unwrap();
        Ok(Self {
            cost: Cost { planning: number("/0/Planning Time"), execution: number("/0/Execution Time") },
            scans: scans::of(&json),
            estimate: number("/0/Plan/Total Cost"),
            is_compiled: json.pointer("/0/JIT").is_some(),
        })
    }
}

/// How often a pair of statements runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// Before anything is measured.
    pub(crate) unmeasured: u16,
    /// At most so often.
    pub(crate) most: u16,
    /// After this time no further round begins.
    pub(crate) time: Duration,
}

/// The expert's statement and ours, measured alternately.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) expert: Cost,
    pub(crate) ours: Cost,
    /// The median, over the rounds, of our planning and execution to the expert's.
    pub(crate) ratio: f64,
    /// What is suspicious about our plan.
    pub(crate) remarks: Vec<String>,
}

impl Pair {
    /// Runs both in each round; they take turns to be first.
    pub(crate) async fn measure(
        database: &Database,
        expert: &str,
        ours: &str,
        rounds: Rounds,
    ) -> Result<Self, Error> {
        for _ in 0..rounds.unmeasured {
            Plan::of(database, expert).await?;
            Plan::of(database, ours).await?;
        }
        let start = Instant::now();
        let (mut experts, mut our_costs) = (Vec::new(), Vec::new());
        let mut remarks = BTreeSet::new();
        for round in 0..rounds.most {
            if round > 0 && start.elapsed() > rounds.time {
                break;
            }
            let (their, our);
            if round % 2 == 0 {
                their = Plan::of(database, expert).await?;
                our = Plan::of(database, ours).await?;
            } else {
                our = Plan::of(database, ours).await?;
                their = Plan::of(database, expert).await?;
            }
            remarks.extend(our.scans.difference(&their.scans).map(|table| format!("scans {table}")));
            if our.is_compiled {
                let both = if their.is_compiled { ", as the expert's" } else { "" };
                remarks.insert(format!("JIT{both}"));
            } else if our.estimate > JIT_ABOVE_COST && their.estimate <= JIT_ABOVE_COST {
                remarks.insert("would be compiled to machine code".to_owned());
            }
            experts.push(their.cost);
            our_costs.push(our.cost);
        }
        Ok(Self { remarks: remarks.into_iter().collect(), ..Self::of_rounds(&experts, &our_costs) })
    }

    /// What each round cost.
    pub(crate) fn of_rounds(experts: &[Cost], ours: &[Cost]) -> Self {
        Self {
            ratio: median(ours.iter().zip(experts).map(|(our, their)| our.sum() / their.sum())),
            expert: Cost::median(experts),
            ours: Cost::median(ours),
            remarks: Vec::new(),
        }
    }
}

/// The middle of some numbers; the upper one of two.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
