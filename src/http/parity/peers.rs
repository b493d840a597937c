//! Asks the other nodes of a shared store what they have decided.
//!
//! ```text
//! ask ENVIRONMENT NONCE REQUEST ──▶ all nodes
//! answer NONCE TAG              ◀── the one that decided
//! ```
//!
//! Decisions are not stored for this, so a check costs what it costs on a single node. If the node that
//! decided has ended, or cannot be reached, then its decisions are unknown, and the report is not recorded.
//!
//! Every role of the database may read and write such lines, and so learn which requests are known. A tag is
//! an HMAC under the secret of the environment, over the question, its nonce and the decision: others cannot
//! read the decision from it, and neither they nor an answer to an earlier question can make one up.

use crate::http::headers::is_fit_for_log;
use crate::http::page::keyed_mac;
use crate::http::{AppState, Environment};
use crate::store::postgres::{Address, Notices};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use sha2::Sha256;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long to wait for other nodes. A node that knows the request answers within milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many questions may wait at once. Further ones are answered as if no node knew the request: a client
/// that reports faster than this mostly reports unknown requests. A waiting question counts towards the
/// requests that a node works on.
const MOST_WAITING: usize = 64;

/// The length of a nonce: that of eight bytes.
const NONCE: usize = 11;

/// What every tag begins with: the secret has other uses.
const PURPOSE: &str = "expected decision";

/// The other nodes of a shared store.
pub(in crate::http) struct Peers {
    notices: Notices,
    /// The questions of this node without an answer, by nonce.
    waiting: Mutex<FxHashMap<String, WaitingReport>>,
    /// How many questions were not asked, because too many waited.
    n_dropped: AtomicU64,
}

/// Who waits for an answer.
struct WaitingReport {
    asked: DecisionTag,
    reply: oneshot::Sender<bool>,
}

/// What the tag of an answer is made from, apart from the decision.
struct DecisionTag {
    secret: [u8; 32],
    environment: String,
    nonce: String,
    request: String,
}

impl fmt::Debug for Peers {
    /// Without the secrets of its questions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("notices", &self.notices).finish_non_exhaustive()
    }
}

/// Removes a question once it is answered or given up.
struct AskedPeers<'p>(&'p Peers, String);

impl Drop for AskedPeers<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().remove(&self.1);
    }
}

impl Peers {
    /// Those that use the store at this address.
    pub(in crate::http) fn new(address: Address) -> Self {
        Self { notices: Notices::new(address), waiting: Mutex::default(), n_dropped: AtomicU64::new(0) }
    }

    /// Answers the others, and gets their answers, as long as it is polled.
    pub(in crate::http) async fn run(&self, app: &AppState) {
        self.notices.run(|line| self.receive(app, line)).await;
    }

    /// What another node has decided for a request; `None` if none says that it has.
    pub(super) async fn decision(&self, environment: &Environment, request: &str) -> Option<bool> {
        if !self.notices.is_listening() || !is_fit_for_log(request.as_bytes()) {
            return None;
        }
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(getrandom::u64().ok()?.to_be_bytes());
        let asked = DecisionTag {
            secret: *environment.engine.secret(),
            environment: environment.name.clone(),
            nonce: nonce.clone(),
            request: request.to_owned(),
        };
        let line = format!("ask {} {nonce} {request}", environment.name);
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= MOST_WAITING {
                self.note_dropped();
                return None;
            }
            waiting.insert(nonce.clone(), WaitingReport { asked, reply });
        }
        let _asked = AskedPeers(self, nonce);
        self.notices.send(line);
        timeout(PATIENCE, answer).await.ok()?.ok()
    }

    /// Counts a question that is not asked, and says so the first time, the second, the fourth, and so on.
    fn note_dropped(&self) {
        let n_dropped = self.n_dropped.fetch_add(1, Ordering::Relaxed) + 1;
        if n_dropped.is_power_of_two() {
            tracing::warn!(n_dropped, "too many reports of unknown requests: other nodes are not asked");
        }
    }

    fn receive(&self, app: &AppState, line: &str) {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        match *words {
            ["ask", environment, nonce, request] => self.reply(app, environment, nonce, request),
            ["answer", nonce, tag] => self.accept(nonce, tag),
            // Of another release.
            _ => {}
        }
    }

    /// Answers another node, if this one has decided.
    fn reply(&self, app: &AppState, environment: &str, nonce: &str, request: &str) {
        // An answer repeats the nonce, and must not be longer than a notification.
        let Some(environment) = app.environment(environment).filter(|_| nonce.len() == NONCE) else { return };
        let Some(allowed) = app.decisions.of_request(&environment, request) else { return };
        let asked = DecisionTag {
            secret: *environment.engine.secret(),
            environment: environment.name.clone(),
            nonce: nonce.to_owned(),
            request: request.to_owned(),
        };
        self.notices.send(format!("answer {nonce} {}", asked.text(allowed)));
    }

    /// Passes an answer on to the report that is waiting for it.
    fn accept(&self, nonce: &str, tag: &str) {
        let mut waiting = self.waiting.lock();
        let decision = waiting.get(nonce).and_then(|report| report.asked.decision(tag));
        if let Some(allowed) = decision
            && let Some(WaitingReport { reply, .. }) = waiting.remove(nonce)
        {
            // The client may have left.
            let _ = reply.send(allowed);
        }
    }
}

impl DecisionTag {
    fn mac(&self, allowed: bool) -> Hmac<Sha256> {
        let Self { secret, environment, nonce, request } = self;
        let mut mac = keyed_mac(secret);
        for part in [PURPOSE, environment, nonce, request, if allowed { "allowed" } else { "denied" }] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    /// The tag of a decision.
    fn text(&self, allowed: bool) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.mac(allowed).finalize().into_bytes())
    }

    /// The decision of which this is the tag.
    fn decision(&self, tag: &str) -> Option<bool> {
        let tag = BASE64_URL_SAFE_NO_PAD.decode(tag).ok()?;
        [true, false].into_iter().find(|allowed| self.mac(*allowed).verify_slice(&tag).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_of_one_decision_one_question_and_one_environment() {
        let tag = |secret: u8, environment: &str, nonce: &str, request: &str| DecisionTag {
            secret: [secret; 32],
            environment: environment.to_owned(),
            nonce: nonce.to_owned(),
            request: request.to_owned(),
        };
        let asked = tag(1, "a", "n", "7b3f-42");
        assert_eq!(asked.decision(&asked.text(true)), Some(true));
        assert_eq!(asked.decision(&asked.text(false)), Some(false));
        let others = [
            tag(2, "a", "n", "7b3f-42"),
            tag(1, "b", "n", "7b3f-42"),
            tag(1, "a", "m", "7b3f-42"),
            tag(1, "a", "n", "7b3f-4"),
            tag(1, "an", "", "7b3f-42"),
        ];
        for other in others {
            let DecisionTag { environment, nonce, request, .. } = &other;
            assert_eq!(asked.decision(&other.text(true)), None, "{environment} {nonce} {request}");
        }
        for wrong in ["", "?!", "AAAA", &asked.text(true).split_off(1)] {
            assert_eq!(asked.decision(wrong), None, "{wrong}");
        }
    }
}
