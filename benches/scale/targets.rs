//! What the service should reach at scale 1, on two cores that also run the clients.

use crate::load::Loaded;
use crate::run::Run;
use crate::times::Times;

/// A number, and what it should be.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) what: &'static str,
    pub(crate) limit: Limit,
    pub(crate) unit: Unit,
    /// The number; none if it was not measured.
    pub(crate) measured: fn(&Run) -> Option<f64>,
}

/// On which side of a number it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// What a number counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    PerSecond,
    Bytes,
    Megabytes,
    Ratio,
}

impl Limit {
    /// Whether a number is on the right side.
    pub(crate) fn met(self, measured: f64) -> bool {
        match self {
            Self::AtMost(limit) => measured <= limit,
            Self::AtLeast(limit) => measured >= limit,
        }
    }

    /// In words.
    pub(crate) fn text(self, unit: Unit) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {}", unit.text(limit)),
            Self::AtLeast(limit) => format!("≥ {}", unit.text(limit)),
        }
    }
}

impl Unit {
    /// A number with its unit, as exact as it matters.
    pub(crate) fn text(self, number: f64) -> String {
        let digits = if number < 10.0 && number.fract() != 0.0 { 2 } else { 0 };
        match self {
            Self::Microseconds => format!("{number:.0} µs"),
            Self::Milliseconds => format!("{number:.digits$} ms"),
            Self::PerSecond => format!("{number:.0}/s"),
            Self::Bytes => format!("{number:.1} B"),
            Self::Megabytes => format!("{number:.0} MB"),
            Self::Ratio => format!("{number:.2} ×"),
        }
    }
}

/// How often authorize may be slower at the largest scale than at the smallest.
pub(crate) const GROWTH: Limit = Limit::AtMost(1.3);

/// All that is judged at one scale.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        what: "authorize, HTTP, one client, p50",
        limit: Limit::AtMost(250.0),
        unit: Unit::Microseconds,
        measured: |run| micros(run, "authorize, HTTP, one client", 500),
    },
    Target {
        what: "authorize, HTTP, one client, p99",
        limit: Limit::AtMost(3.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "authorize, HTTP, one client", 990),
    },
    Target {
        what: "authorize, HTTP, eight clients",
        limit: Limit::AtLeast(8_000.0),
        unit: Unit::PerSecond,
        measured: |run| run.times("authorize, HTTP, eight clients").map(Times::per_second),
    },
    Target {
        what: "authorize, engine, p50",
        limit: Limit::AtMost(60.0),
        unit: Unit::Microseconds,
        measured: |run| micros(run, "authorize, engine", 500),
    },
    Target {
        what: "list of 10 repositories, HTTP, p50",
        limit: Limit::AtMost(0.5),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 10 repositories, HTTP", 500),
    },
    Target {
        what: "list of 1,000 repositories, HTTP, p50",
        limit: Limit::AtMost(2.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 1,000 repositories, HTTP", 500),
    },
    Target {
        what: "list of 10,000 repositories, HTTP, p50",
        limit: Limit::AtMost(10.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 10,000 repositories, HTTP", 500),
    },
    Target {
        what: "list of 10 issues, HTTP, p50",
        limit: Limit::AtMost(0.5),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 10 issues, HTTP", 500),
    },
    Target {
        what: "list of 1,000 issues, HTTP, p50",
        limit: Limit::AtMost(2.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 1,000 issues, HTTP", 500),
    },
    Target {
        what: "list of 10,000 issues, HTTP, p50",
        limit: Limit::AtMost(10.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "list of 10,000 issues, HTTP", 500),
    },
    Target {
        what: "actions, HTTP, p50",
        limit: Limit::AtMost(400.0),
        unit: Unit::Microseconds,
        measured: |run| micros(run, "actions, HTTP", 500),
    },
    Target {
        what: "authorize_resources of 100, HTTP, p50",
        limit: Limit::AtMost(3.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "authorize_resources of 100, HTTP", 500),
    },
    Target {
        what: "explain a yes, HTTP, p50",
        limit: Limit::AtMost(5.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "explain a yes, HTTP", 500),
    },
    Target {
        what: "explain a yes, HTTP, p99",
        limit: Limit::AtMost(50.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "explain a yes, HTTP", 990),
    },
    Target {
        what: "explain a no, HTTP, p50",
        limit: Limit::AtMost(5.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "explain a no, HTTP", 500),
    },
    Target {
        what: "explain a no, HTTP, p99",
        limit: Limit::AtMost(50.0),
        unit: Unit::Milliseconds,
        measured: |run| millis(run, "explain a no, HTTP", 990),
    },
    Target {
        what: "load in batches of 10,000, facts",
        limit: Limit::AtLeast(150_000.0),
        unit: Unit::PerSecond,
        measured: |run| run.loaded.as_ref().map(Loaded::per_second),
    },
    Target {
        what: "size of a fact on the disk",
        limit: Limit::AtMost(60.0),
        unit: Unit::Bytes,
        measured: |run| run.bytes.map(|bytes| bytes.closed as f64 / run.n_facts as f64),
    },
    Target {
        what: "own memory, at most",
        limit: Limit::AtMost(150.0),
        unit: Unit::Megabytes,
        measured: |run| Some(run.memory.most.own),
    },
    Target {
        what: "checks during batches of 1,000, p99 to that alone",
        limit: Limit::AtMost(2.0),
        unit: Unit::Ratio,
        measured: |run| Some(micros(run, "checks during batches", 990)? / micros(run, "checks alone", 990)?),
    },
];

/// This many of a thousand were no slower, in microseconds.
fn micros(run: &Run, name: &str, per_mille: usize) -> Option<f64> {
    run.times(name).map(|times| times.at(per_mille).as_secs_f64() * 1e6)
}

fn millis(run: &Run, name: &str, per_mille: usize) -> Option<f64> {
    micros(run, name, per_mille).map(|micros| micros / 1e3)
}
