//! One scrape: the counted metrics, the engines' counters, and what is stored.
//!
//! The engines keep their own counters. A scrape copies them into a registry of its own, which is dropped
//! with the answer, so environments and policy versions that are gone leave no series behind.

use super::kept;
use crate::engine::{Counters, Engine, EngineError, EngineStats, Usage};
use crate::http::error::ApiError;
use crate::http::{AppState, Environment};
use crate::share::Budget;
use crate::store::postgres::{PoolUsage, ReplicaUsage};
use prometheus::proto::{LabelPair, MetricFamily};
use prometheus::{CounterVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a store may take to say what is in it. Scrapers usually wait for ten seconds in total.
const STORED_TIME: Duration = Duration::from_secs(3);

/// The metrics of these environments, and those of the whole service. What is stored is left out for an
/// environment whose store does not answer.
pub(super) async fn text(app: &AppState, environments: &[Arc<Environment>]) -> Result<String, ApiError> {
    let series = Series::new();
    series.shared(&app.budget);
    if let Some(log) = &app.decision_log {
        for (sink, n_lines) in log.dropped() {
            series.dropped.with_label_values(&[sink]).inc_by(n_lines);
        }
    }
    // All stores are asked at the same time: a scraper waits for seconds, however many do not answer.
    let all = environments.iter().map(|environment| {
        let engine = environment.engine.clone();
        (environment, tokio::spawn(async move { stored(&engine).await }))
    });
    let all: Vec<_> = all.collect();
    for (environment, stored) in all {
        let engine = &environment.engine;
        match stored.await {
            Ok(Ok((stats, bytes))) => series.stored(&environment.name, &stats, bytes),
            // The metrics say that requests fail, and which connections are used: above all now.
            Ok(Err(error)) => {
                let environment = &environment.name;
                tracing::warn!(environment, %error, "the metrics lack what is stored");
            }
            Err(lost) => return Err(EngineError::Bug(lost.to_string()).into()),
        }
        series.counted(&environment.name, &engine.counters());
        series.used(&environment.name, engine.usage());
        series.connected(&environment.name, &engine.pool_usage());
        series.asked(&environment.name, &engine.replica_usage());
        if let Some(is_silent) = engine.primary_is_silent() {
            series.silent.with_label_values(&[&environment.name]).set(i64::from(is_silent));
        }
    }
    let mut families = app.metrics.registry.gather();
    families.extend(series.registry.gather());
    if let Some(node) = &app.config.node {
        name_node(&mut families, node);
    }
    let text = TextEncoder::new().encode_to_string(&families);
    text.map_err(|error| EngineError::Bug(format!("the metrics have no text form: {error}")).into())
}

/// What an environment says about its store, and the bytes of the store.
async fn stored(engine: &Engine) -> Result<(EngineStats, u64), EngineError> {
    let stored = async { Ok((engine.stats().await?, engine.bytes().await?)) };
    let silent = |_| EngineError::Timeout(format!("the store does not answer within {STORED_TIME:?}"));
    timeout(STORED_TIME, stored).await.map_err(silent)?
}

/// Gives every series the name of this node.
fn name_node(families: &mut [MetricFamily], node: &str) {
    for metric in families.iter_mut().flat_map(MetricFamily::mut_metric) {
        let mut label = LabelPair::default();
        label.set_name("node".to_owned());
        label.set_value(node.to_owned());
        let others = metric.take_label();
        metric.set_label(std::iter::once(label).chain(others).collect());
    }
}

/// The series of environments, and those of the whole service.
struct Series {
    registry: Registry,
    memory: IntGauge,
    memory_refused: IntCounter,
    dropped: IntCounterVec,
    facts: IntGaugeVec,
    bytes: IntGaugeVec,
    version: IntGaugeVec,
    questions: IntGaugeVec,
    connections: IntGaugeVec,
    waits: IntCounterVec,
    waited: CounterVec,
    replicas: IntCounterVec,
    silent: IntGaugeVec,
    lookups: IntCounterVec,
    decisions: IntCounterVec,
    batches: IntCounterVec,
    written: IntCounterVec,
}

impl Series {
    fn new() -> Self {
        let registry = Registry::new();
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            kept(&registry, IntGaugeVec::new(Opts::new(name, help), labels))
        };
        let gauge = |name: &str, help: &str| gauges(name, help, &["environment"]);
        let counter = |name: &str, help: &str, labels: &[&str]| {
            kept(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let memory = "Bytes that large bodies and answers take at the moment.";
        let memory = IntGauge::new("portcullis_memory_bytes", memory);
        let refused = "Requests that were refused because large bodies and answers used up their memory.";
        let refused = IntCounter::new("portcullis_memory_refused_total", refused);
        Self {
            dropped: counter(
                "portcullis_decisions_dropped_total",
                "Decisions that the decision log could not write or send.",
                &["sink"],
            ),
            memory: kept(&registry, memory),
            memory_refused: kept(&registry, refused),
            facts: gauge("portcullis_facts", "Facts that are stored."),
            bytes: gauge("portcullis_store_bytes", "Bytes of the store's files, its log included."),
            version: gauge("portcullis_policy_version", "The version of the active policy; 0 without one."),
            questions: gauges(
                "portcullis_questions",
                "Brief and long questions that are running, and long ones that are waiting.",
                &["environment", "kind", "state"],
            ),
            connections: gauges(
                "portcullis_store_connections",
                "Readers for questions, per server of a store in a database (the primary, or 1 for the first \
                replica), used and free. Each connects at its first question.",
                &["environment", "server", "kind", "state"],
            ),
            waits: counter(
                "portcullis_store_waits_total",
                "Questions that found no free connection.",
                &["environment", "server", "kind"],
            ),
            waited: {
                let help = "Seconds for which questions have waited for a connection.";
                let waited = Opts::new("portcullis_store_wait_seconds_total", help);
                kept(&registry, CounterVec::new(waited, &["environment", "server", "kind"]))
            },
            replicas: counter(
                "portcullis_replica_questions_total",
                "Questions that a replica (1 is the first that is configured) answered, for which it was behind, \
                 and which failed.",
                &["environment", "replica", "outcome"],
            ),
            silent: gauge(
                "portcullis_store_primary_silent",
                "1 while the primary of a store in a database does not answer, and what needs it is refused at once.",
            ),
            lookups: counter(
                "portcullis_plan_cache_lookups_total",
                "Look-ups of compiled questions, to the store (hosted) and to a caller's database (local).",
                &["environment", "kind", "result"],
            ),
            decisions: counter(
                "portcullis_decisions_total",
                "Single decisions, by the version of the policy that made them; the latest versions only.",
                &["environment", "policy_version", "decision"],
            ),
            batches: counter(
                "portcullis_batches_written_total",
                "Batches of facts that were written.",
                &["environment"],
            ),
            written: counter(
                "portcullis_facts_written_total",
                "Facts that a batch inserted or deleted.",
                &["environment", "change"],
            ),
            registry,
        }
    }

    fn shared(&self, budget: &Budget) {
        self.memory.set(i64::try_from(budget.held()).unwrap_or(i64::MAX));
        self.memory_refused.inc_by(budget.refused());
    }

    fn stored(&self, environment: &str, stats: &EngineStats, bytes: u64) {
        let version = stats.versions.last().copied().unwrap_or_default();
        for (gauge, value) in
            [(&self.facts, stats.facts.total), (&self.bytes, bytes), (&self.version, version)]
        {
            if let Ok(gauge) = gauge.get_metric_with_label_values(&[environment]) {
                gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
    }

    fn used(&self, environment: &str, usage: Usage) {
        let Usage { brief_running, long_running, long_waiting } = usage;
        for (kind, state, value) in [
            ("brief", "running", brief_running),
            ("long", "running", long_running),
            ("long", "waiting", long_waiting),
        ] {
            if let Ok(gauge) = self.questions.get_metric_with_label_values(&[environment, kind, state]) {
                gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
    }

    fn connected(&self, environment: &str, servers: &[PoolUsage]) {
        for (nth, PoolUsage { brief, long }) in servers.iter().enumerate() {
            let server = if nth == 0 { "primary".to_owned() } else { nth.to_string() };
            for (kind, usage) in [("brief", brief), ("long", long)] {
                let labels = [environment, &server, kind];
                for (state, n) in
                    [("used", usage.running), ("free", usage.readers.saturating_sub(usage.running))]
                {
                    let labels = [environment, &server, kind, state];
                    if let Ok(gauge) = self.connections.get_metric_with_label_values(&labels) {
                        gauge.set(i64::try_from(n).unwrap_or(i64::MAX));
                    }
                }
                add(&self.waits, &labels, usage.waits);
                if let Ok(waited) = self.waited.get_metric_with_label_values(&labels) {
                    waited.inc_by(usage.waited.as_secs_f64());
                }
            }
        }
    }

    fn asked(&self, environment: &str, replicas: &[ReplicaUsage]) {
        for (nth, ReplicaUsage { answered, behind, failed, .. }) in (1..).zip(replicas) {
            let nth: i32 = nth;
            for (outcome, n) in [("answered", answered), ("behind", behind), ("failed", failed)] {
                add(&self.replicas, &[environment, &nth.to_string(), outcome], *n);
            }
        }
    }

    fn counted(&self, environment: &str, counters: &Counters) {
        let Counters { stored_plans, local_plans, batches, inserted, deleted, decisions } = counters;
        for (kind, lookups) in [("hosted", stored_plans), ("local", local_plans)] {
            add(&self.lookups, &[environment, kind, "hit"], lookups.hits);
            add(&self.lookups, &[environment, kind, "miss"], lookups.misses);
        }
        for decided in decisions {
            let version = decided.version.map_or("none".to_owned(), |version| version.to_string());
            add(&self.decisions, &[environment, &version, "allowed"], decided.allowed);
            add(&self.decisions, &[environment, &version, "denied"], decided.denied);
        }
        add(&self.batches, &[environment], *batches);
        add(&self.written, &[environment, "inserted"], *inserted);
        add(&self.written, &[environment, "deleted"], *deleted);
    }
}

/// Sets a counter that is still zero.
fn add(counter: &IntCounterVec, labels: &[&str], value: u64) {
    if let Ok(counter) = counter.get_metric_with_label_values(labels) {
        counter.inc_by(value);
    }
}
