//! What was measured, for people and for programs.
//!
//! For people there is a table of times for each scale, one of all targets with a column for each scale, and
//! one of how checks grow. Targets are meant for scale 1, so only that column is judged.

use crate::growth::Growth;
use crate::options::Options;
use crate::run::Run;
use crate::targets::{GROWTH, TARGETS, Unit};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;

/// The scale that targets are for.
const JUDGED: f64 = 1.0;

/// The times of one scale. Writing to a text cannot fail.
pub(crate) fn times(run: &Run) -> String {
    let mut text = format!("\n## scale {}: {} facts\n\n", run.scale, run.n_facts);
    text += "| microseconds | count | p50 | p90 | p99 | longest | a second |\n";
    text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (name, times) in &run.timed {
        let [p50, p90, p99, longest] = [500, 900, 990, 1_000].map(|at| times.at(at).as_secs_f64() * 1e6);
        let (count, per_second) = (times.count(), times.per_second());
        let _ = writeln!(
            text,
            "| {name} | {count} | {p50:.0} | {p90:.0} | {p99:.0} | {longest:.0} | {per_second:.0} |"
        );
    }
    let (most, last) = (run.memory.most, run.memory.last);
    let _ = writeln!(
        text,
        "\nmemory: {:.0} MB of its own at most, {:.0} MB at the end; plus {:.0} MB of mapped files at most",
        most.own, last.own, most.mapped
    );
    let each = |bytes: u64| bytes as f64 / run.n_facts as f64;
    if let Some(bytes) = &run.bytes {
        let _ = writeln!(
            text,
            "disk: {:.1} bytes a fact, {:.1} with the log while it ran; {:.0} MB in all",
            each(bytes.closed),
            each(bytes.running),
            bytes.closed as f64 / 1e6
        );
    }
    if let Some(loaded) = &run.loaded {
        let _ =
            writeln!(text, "load: {:.1} s, {:.0} facts/s", loaded.elapsed.as_secs_f64(), loaded.per_second());
    }
    if let (Some(checks), Some(policies)) =
        (run.times("checks during policy uploads"), run.times("policy upload during checks"))
    {
        let _ = writeln!(
            text,
            "policy uploads: {}, during which {} checks were all answered correctly",
            policies.count(),
            checks.count()
        );
    }
    text
}

/// All targets.
pub(crate) fn targets(runs: &[Run]) -> String {
    let mut text = format!("\n## targets, for scale {JUDGED}\n\n| what | target |");
    for run in runs {
        let _ = write!(text, " scale {} |", run.scale);
    }
    let _ = writeln!(text, " |\n| --- | --- |{} --- |", " ---: |".repeat(runs.len()));
    for target in TARGETS {
        let _ = write!(text, "| {} | {} |", target.what, target.limit.text(target.unit));
        for number in runs.iter().map(target.measured) {
            let _ = write!(text, " {} |", number.map_or("–".to_owned(), |number| target.unit.text(number)));
        }
        let judged = runs.iter().find(|run| run.scale == JUDGED).and_then(target.measured);
        let verdict = judged.map_or("", |number| verdict(target.limit.met(number)));
        let _ = writeln!(text, " {verdict} |");
    }
    text
}

/// How much slower checks are over more facts.
pub(crate) fn growth(growth: &Growth) -> String {
    let mut text = format!("\n| p50, both alternately | scale {} | scale {} |", growth.from, growth.to);
    let _ = writeln!(text, " grows | target |  |\n| --- | ---: | ---: | ---: | --- | --- |");
    for grown in &growth.grown {
        let [small, large] = [&grown.small, &grown.large]
            .map(|times| Unit::Microseconds.text(times.at(500).as_secs_f64() * 1e6));
        let (ratio, target) = (grown.ratio(), GROWTH.text(Unit::Ratio));
        let (ratio, verdict) = (Unit::Ratio.text(ratio), verdict(GROWTH.met(ratio)));
        let _ = writeln!(text, "| {} | {small} | {large} | {ratio} | {target} | {verdict} |", grown.name);
    }
    text
}

/// Every number.
pub(crate) fn json(runs: &[Run], growth: Option<&Growth>, options: &Options) -> Json {
    let scales = runs.iter().map(|run| {
        let timed: Map<String, Json> =
            run.timed.iter().map(|(name, times)| (name.clone(), times.json())).collect();
        let judged: Vec<Json> = TARGETS
            .iter()
            .filter_map(|target| (target.measured)(run).map(|number| (target, number)))
            .map(|(target, number)| {
                let limit = target.limit.text(target.unit);
                json!({ "what": target.what, "target": limit, "measured": number, "met": target.limit.met(number) })
            })
            .collect();
        let mix: Map<String, Json> = run
            .mix
            .iter()
            .map(|(reason, (asked, yes))| (format!("{reason:?}"), json!({ "asked": asked, "allowed": yes })))
            .collect();
        let memory = |memory: crate::code_host::service::Memory| {
            json!({ "own_mb": memory.own, "mapped_mb": memory.mapped })
        };
        json!({
            "scale": run.scale, "facts": run.n_facts, "microseconds": timed, "targets": judged, "questions": mix,
            "load": run.loaded.as_ref().map(|loaded| json!({
                "seconds": loaded.elapsed.as_secs_f64(), "facts_per_second": loaded.per_second(),
            })),
            "bytes": run.bytes.map(|bytes| json!({ "closed": bytes.closed, "running": bytes.running })),
            "memory": { "most": memory(run.memory.most), "last": memory(run.memory.last) },
        })
    });
    let growth = growth.map(|growth| {
        let grown = growth.grown.iter().map(|grown| {
            let times =
                json!({ "small": grown.small.json(), "large": grown.large.json(), "ratio": grown.ratio() });
            (grown.name.to_owned(), times)
        });
        json!({ "from": growth.from, "to": growth.to, "microseconds": grown.collect::<Map<_, _>>() })
    });
    json!({
        "seed": options.seed, "order": format!("{:?}", options.order), "connections": options.connections,
        "scales": scales.collect::<Json>(), "growth": growth,
    })
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}
