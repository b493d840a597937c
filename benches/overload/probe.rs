//! The probe: brief checks of somebody who does nothing wrong, in an open loop.

use super::client::{ask, request};
use super::stage::{PROBE_ALLOWED, PROBE_DENIED};
use portcullis::http::DEVELOPMENT_KEY;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How often it asks.
const PAUSE: Duration = Duration::from_millis(30);

/// What the probe felt.
#[derive(Debug, Default)]
pub(crate) struct Felt {
    /// How long each right answer took, ascending.
    pub(crate) times: Vec<Duration>,
    /// Answers that say the opposite of what is right.
    pub(crate) wrong: usize,
    /// Other statuses than 200, with how often; 0 is no answer at all.
    pub(crate) refused: BTreeMap<u16, usize>,
}

/// How one check ended.
enum Outcome {
    Right(Duration),
    Wrong,
    Refused(u16),
}

impl Felt {
    /// Asks for so long, then waits for the answers that are still to come.
    pub(crate) fn of(address: SocketAddr, time: Duration) -> Self {
        let start = Instant::now();
        let mut asked = Vec::new();
        for (number, due) in (0..).map(|n| (n, start + PAUSE * n)).take_while(|(_, due)| *due < start + time)
        {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            asked.push(std::thread::spawn(move || check(address, number % 2 == 0, due)));
        }
        let mut felt = Self::default();
        for outcome in asked {
            match outcome.join().unwrap() {
                Outcome::Right(took) => felt.times.push(took),
                Outcome::Wrong => felt.wrong += 1,
                Outcome::Refused(status) => *felt.refused.entry(status).or_default() += 1,
            }
        }
        felt.times.sort_unstable();
        felt
    }

    /// What `per_mille` of a thousand right answers took at most.
    pub(crate) fn quantile(&self, per_mille: usize) -> Duration {
        let at = (self.times.len() * per_mille / 1_000).min(self.times.len().saturating_sub(1));
        self.times.get(at).copied().unwrap_or_default()
    }
}

fn check(address: SocketAddr, is_allowed: bool, due: Instant) -> Outcome {
    let actor = if is_allowed { PROBE_ALLOWED } else { PROBE_DENIED };
    let body = json!({ "actor_type": "User", "actor_id": actor, "action": "read",
        "resource_type": "Doc", "resource_id": "probed" });
    let answered = ask(address, &request("POST", "/authorize", DEVELOPMENT_KEY, &body.to_string()));
    match answered {
        Ok((200, body)) => {
            let said = serde_json::from_slice::<serde_json::Value>(&body).ok();
            match said.and_then(|said| said["allowed"].as_bool()) {
                Some(allowed) if allowed == is_allowed => Outcome::Right(due.elapsed()),
                _ => Outcome::Wrong,
            }
        }
        Ok((status, _)) => Outcome::Refused(status),
        Err(_) => Outcome::Refused(0),
    }
}
