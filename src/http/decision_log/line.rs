//! A line of the decision log, and the extractor through which a handler writes it.

use super::DecisionLog;
use crate::config::LoggedFacts;
use crate::engine::{DecidingPolicy, Decision, Fact, PastQuestion, Value};
use crate::http::auth::KeyName;
use crate::http::headers::RequestId;
use crate::http::values::{FactText, ValueText};
use crate::http::{AppState, Environment};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Serialize, Serializer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How many bytes of an id, a type or an action are kept.
const MOST_TEXT: usize = 1_000;

/// What one decision was about, and how it ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Decided<'d> {
    pub(in crate::http) environment: &'d Environment,
    pub(in crate::http) actor: &'d Value,
    pub(in crate::http) action: &'d str,
    pub(in crate::http) resource: &'d Value,
    pub(in crate::http) outcome: Outcome<'d>,
    pub(in crate::http) context: &'d [Fact],
}

/// How a decision ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum Outcome<'d> {
    /// The policy decided.
    Answer {
        allowed: bool,
        /// The policy.
        policy: Option<DecidingPolicy>,
        /// The offset of the store.
        offset: u64,
    },
    /// The question has this mistake, and the client got a denial.
    Mistake(&'d str),
}

impl From<&Decision<bool>> for Outcome<'_> {
    fn from(decision: &Decision<bool>) -> Self {
        let Decision { answer: allowed, policy, offset, .. } = *decision;
        Self::Answer { allowed, policy, offset }
    }
}

/// Sees the decisions of one request. It must be extracted after the key.
#[derive(Debug)]
pub(in crate::http) struct Witness {
    /// `None` if nothing is logged.
    request: Option<LoggedRequest>,
}

/// A request whose decisions are logged.
#[derive(Debug)]
struct LoggedRequest {
    log: Arc<DecisionLog>,
    request: RequestId,
    key: Option<KeyName>,
    started: Instant,
}

impl FromRequestParts<Arc<AppState>> for Witness {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, Infallible> {
        let request = app.decision_log.as_ref().map(|log| LoggedRequest {
            log: Arc::clone(log),
            request: RequestId::of(&head.headers),
            key: head.extensions.get().cloned(),
            started: Instant::now(),
        });
        Ok(Self { request })
    }
}

impl Witness {
    /// Whether decisions are logged.
    pub(in crate::http) fn is_watching(&self) -> bool {
        self.request.is_some()
    }

    /// Logs a decision.
    pub(in crate::http) fn note(&self, decided: Decided<'_>) {
        let Some(LoggedRequest { log, request, key, started }) = &self.request else { return };
        let Decided { environment, actor, action, resource, outcome, context } = decided;
        let (allowed, policy, offset, error) = match outcome {
            Outcome::Answer { allowed, policy, offset } => (allowed, policy, Some(offset), None),
            Outcome::Mistake(message) => (false, None, None, Some(message.to_owned())),
        };
        let mut texts = KeptTexts::default();
        let line = Line {
            time: Timestamp::now(),
            request_id: request.as_str().to_owned(),
            environment: environment.name.clone(),
            key: key.clone(),
            policy,
            offset,
            actor: texts.value(actor),
            action: texts.text(action),
            resource: texts.value(resource),
            allowed,
            error: error.map(|error| KeptTexts::default().text(&error)),
            is_cut: texts.are_cut,
            took: started.elapsed(),
            context: logged(&log.facts, context),
        };
        log.note(environment, line);
    }
}

/// Cuts the texts of a question. Otherwise a caller could push older decisions out by sending megabytes. No
/// fact can have an argument as long as what is kept.
#[derive(Debug, Default)]
struct KeptTexts {
    are_cut: bool,
}

impl KeptTexts {
    fn text(&mut self, text: &str) -> String {
        if text.len() <= MOST_TEXT {
            return text.to_owned();
        }
        self.are_cut = true;
        let (kept, _) = text.split_at(text.floor_char_boundary(MOST_TEXT));
        format!("{kept}…")
    }

    fn value(&mut self, Value { ty, id }: &Value) -> Value {
        Value { ty: self.text(ty), id: self.text(id) }
    }
}

/// The context facts that are logged, and how many are left out.
fn logged(facts: &LoggedFacts, context: &[Fact]) -> (Vec<Fact>, usize) {
    let logged: Vec<Fact> = context.iter().filter(|fact| facts.covers(&fact.predicate)).cloned().collect();
    let n_left_out = context.len() - logged.len();
    (logged, n_left_out)
}

/// When something happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamp(Duration);

impl Timestamp {
    fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// Nanoseconds since the epoch.
    pub(super) fn nanos(self) -> u128 {
        self.0.as_nanos()
    }

    fn text(self) -> String {
        let time = OffsetDateTime::UNIX_EPOCH.checked_add(time::Duration::new(
            i64::try_from(self.0.as_secs()).unwrap_or(i64::MAX),
            i32::try_from(self.0.subsec_micros()).unwrap_or_default() * 1_000,
        ));
        time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
    }
}

/// A decision on its way to the log, with everything that it may mention.
#[derive(Debug)]
pub(in crate::http) struct Line {
    time: Timestamp,
    request_id: String,
    environment: String,
    key: Option<KeyName>,
    policy: Option<DecidingPolicy>,
    offset: Option<u64>,
    actor: Value,
    action: String,
    resource: Value,
    allowed: bool,
    error: Option<String>,
    /// Whether the actor, the action or the resource is longer than what is kept of it.
    is_cut: bool,
    took: Duration,
    context: (Vec<Fact>, usize),
}

impl Line {
    /// Its time, and its text without the end of the line.
    pub(super) fn text(&self) -> (Timestamp, String) {
        // Strings and numbers always encode.
        (self.time, serde_json::to_string(&self.as_json()).unwrap_or_default())
    }

    /// The question, as far as the log has it.
    pub(in crate::http) fn question(&self) -> PastQuestion {
        let (actor, action, resource) = (self.actor.clone(), self.action.clone(), self.resource.clone());
        PastQuestion { actor, action, resource, context: self.context.0.clone() }
    }

    /// Whether the question can be asked again: it was valid, and the log has all of it.
    pub(in crate::http) fn is_whole(&self) -> bool {
        self.error.is_none() && !self.is_cut && self.context.1 == 0
    }

    /// About how many bytes of memory it takes.
    pub(super) fn n_bytes(&self) -> usize {
        let value = |value: &Value| size_of::<Value>() + value.ty.len() + value.id.len();
        let fact = |fact: &Fact| {
            size_of::<Fact>() + fact.predicate.len() + fact.args.iter().map(value).sum::<usize>()
        };
        let texts = [&self.request_id, &self.environment, &self.action].map(String::len);
        size_of::<Self>()
            + texts.iter().sum::<usize>()
            + value(&self.actor)
            + value(&self.resource)
            + self.error.as_ref().map_or(0, String::len)
            + self.context.0.iter().map(fact).sum::<usize>()
    }

    fn as_json(&self) -> LineJson<'_> {
        let (context, n_left_out) = &self.context;
        LineJson {
            time: self.time.text(),
            request_id: &self.request_id,
            environment: &self.environment,
            key: self.key.as_ref().map(KeyName::as_str),
            policy: self.policy.map(|policy| policy.version),
            policy_digest: self.policy.map(|policy| policy.digest.to_string()),
            offset: self.offset,
            actor: ValueText::from(&self.actor),
            action: &self.action,
            resource: ValueText::from(&self.resource),
            allowed: self.allowed,
            error: self.error.as_deref(),
            cut: self.is_cut,
            took_us: u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            context_facts: context.iter().map(FactText::from).collect(),
            context_facts_left_out: *n_left_out,
        }
    }
}

/// As in the log.
impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_json().serialize(serializer)
    }
}

/// A line as it is written.
#[derive(Serialize)]
struct LineJson<'l> {
    time: String,
    request_id: &'l str,
    environment: &'l str,
    key: Option<&'l str>,
    policy: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_digest: Option<String>,
    offset: Option<u64>,
    actor: ValueText<'l>,
    action: &'l str,
    resource: ValueText<'l>,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'l str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    took_us: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context_facts: Vec<FactText<'l>>,
    #[serde(skip_serializing_if = "is_none")]
    context_facts_left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(n: &usize) -> bool {
    *n == 0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A decision about an action, with an id of so many bytes.
    pub(in super::super) fn line(action: &str, n_bytes: usize) -> Arc<Line> {
        let value = |id: String| Value { ty: "T".into(), id };
        Arc::new(Line {
            time: Timestamp::now(),
            request_id: "1".into(),
            environment: "e".into(),
            key: None,
            policy: None,
            offset: Some(1),
            actor: value("a".into()),
            action: action.into(),
            resource: value("x".repeat(n_bytes)),
            allowed: true,
            error: None,
            is_cut: false,
            took: Duration::ZERO,
            context: (Vec::new(), 0),
        })
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut texts = KeptTexts::default();
        assert_eq!(texts.text(&"a".repeat(MOST_TEXT)), "a".repeat(MOST_TEXT));
        assert!(!texts.are_cut);
        let cut = texts.text(&format!("a{}", "é".repeat(MOST_TEXT)));
        assert_eq!((cut.chars().count(), texts.are_cut), (501, true), "999 bytes and the mark");
    }
}
