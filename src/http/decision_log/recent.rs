//! The recent decisions of each environment, in memory, for the studio.
//!
//! A decision belongs to the environment whose engine made it, by its name and its secret. So an environment
//! that is deleted and created again under the same name starts without decisions.
//!
//! Keeping a decision only stores a pointer under a lock, and reading copies at most a thousand pointers. So
//! unlike a file it needs neither a queue nor a thread.

use super::line::Line;
use crate::http::Environment;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many decisions of an environment are kept.
pub(in crate::http) const MOST_DECISIONS: usize = 1_000;

/// How many bytes the decisions of an environment may have.
const MOST_BYTES: usize = 2 << 20;

/// How many bytes one decision may have; a larger one would push out too many others.
const MOST_OF_ONE: usize = 64 << 10;

/// For how many environments decisions are kept: those that decided last.
const MOST_ENVIRONMENTS: usize = 32;

/// A decision with its number. The decisions of an environment are numbered from 1.
pub(in crate::http) type Numbered = (u64, Arc<Line>);

/// The recent decisions.
#[derive(Debug, Default)]
pub(super) struct RecentDecisions {
    environments: Mutex<Vec<EnvironmentDecisions>>,
    /// How many were too large to be kept.
    n_dropped: AtomicU64,
}

/// The recent decisions of one environment, oldest first.
struct EnvironmentDecisions {
    name: String,
    secret: [u8; 32],
    lines: VecDeque<Numbered>,
    n_bytes: usize,
    next: u64,
    decided: Instant,
}

impl std::fmt::Debug for EnvironmentDecisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvironmentDecisions")
            .field("name", &self.name)
            .field("n", &self.lines.len())
            .finish_non_exhaustive()
    }
}

impl EnvironmentDecisions {
    fn of(environment: &Environment) -> Self {
        Self {
            name: environment.name.clone(),
            secret: *environment.engine.secret(),
            lines: VecDeque::new(),
            n_bytes: 0,
            next: 1,
            decided: Instant::now(),
        }
    }

    fn is_of(&self, environment: &Environment) -> bool {
        self.secret == *environment.engine.secret() && self.name == environment.name
    }

    /// Adds a decision; returns those that it pushes out.
    fn add(&mut self, line: &Arc<Line>, n_bytes: usize) -> Vec<Numbered> {
        self.decided = Instant::now();
        self.lines.push_back((self.next, Arc::clone(line)));
        self.next += 1;
        self.n_bytes += n_bytes;
        let mut gone = Vec::new();
        while self.lines.len() > MOST_DECISIONS || self.n_bytes > MOST_BYTES {
            let Some((number, oldest)) = self.lines.pop_front() else { break };
            self.n_bytes -= oldest.n_bytes();
            gone.push((number, oldest));
        }
        gone
    }
}

impl RecentDecisions {
    /// Keeps a decision of this environment.
    pub(super) fn keep(&self, environment: &Environment, line: &Arc<Line>) {
        let n_bytes = line.n_bytes();
        if n_bytes > MOST_OF_ONE {
            self.n_dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut environments = self.environments.lock();
        let gone = if let Some(latest) = environments.iter_mut().find(|latest| latest.is_of(environment)) {
            (latest.add(line, n_bytes), None)
        } else {
            let mut latest = EnvironmentDecisions::of(environment);
            latest.add(line, n_bytes);
            let oldest = environments.iter().enumerate().min_by_key(|(_, latest)| latest.decided);
            let oldest = oldest.map(|(at, _)| at).filter(|_| environments.len() == MOST_ENVIRONMENTS);
            let gone = oldest.map(|at| environments.swap_remove(at));
            environments.push(latest);
            (Vec::new(), gone)
        };
        // Memory is freed after unlocking.
        drop(environments);
        drop(gone);
    }

    /// The decisions of this environment with a larger number, newest first, and the latest number.
    pub(super) fn since(&self, environment: &Environment, number: u64) -> (Vec<Numbered>, u64) {
        let environments = self.environments.lock();
        let Some(latest) = environments.iter().find(|latest| latest.is_of(environment)) else {
            return (Vec::new(), 0);
        };
        let newer = latest.lines.iter().rev().take_while(|(known, _)| *known > number);
        (newer.cloned().collect(), latest.next - 1)
    }

    /// Forgets the decisions of an environment that is removed.
    pub(super) fn forget(&self, environment: &Environment) {
        self.environments.lock().retain(|latest| !latest.is_of(environment));
    }

    /// How many decisions were too large to be kept.
    pub(super) fn n_dropped(&self) -> u64 {
        self.n_dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::tests::line;
    use super::*;
    use crate::engine::{Engine, EngineSettings};

    async fn environment(name: &str) -> Environment {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        Environment { name: name.to_owned(), engine }
    }

    fn actions(recent: &RecentDecisions, environment: &Environment, after: u64) -> Vec<String> {
        let (lines, _) = recent.since(environment, after);
        lines.iter().map(|(_, line)| line.question().action).collect()
    }

    #[tokio::test]
    async fn an_environment_has_its_own_decisions_even_under_the_same_name() {
        let recent = RecentDecisions::default();
        let [one, other, again] =
            [environment("one").await, environment("other").await, environment("one").await];
        recent.keep(&one, &line("read", 0));
        recent.keep(&one, &line("write", 0));
        recent.keep(&other, &line("erase", 0));
        assert_eq!(actions(&recent, &one, 0), ["write", "read"]);
        assert_eq!(actions(&recent, &one, 1), ["write"]);
        assert_eq!(recent.since(&one, 2).1, 2);
        assert_eq!(actions(&recent, &other, 0), ["erase"]);
        assert_eq!(recent.since(&again, 0).0.len(), 0, "another environment once had this name");
        recent.forget(&again);
        assert_eq!(actions(&recent, &one, 0).len(), 2);
        recent.forget(&one);
        assert_eq!(recent.since(&one, 0).0.len(), 0);
        assert_eq!(actions(&recent, &other, 0), ["erase"]);
    }

    #[tokio::test]
    async fn numbers_bytes_and_environments_are_limited() {
        let recent = RecentDecisions::default();
        let first = environment("first").await;
        for n in 0..MOST_DECISIONS + 5 {
            recent.keep(&first, &line(&n.to_string(), 0));
        }
        let (lines, latest) = recent.since(&first, 0);
        assert_eq!((lines.len(), latest), (MOST_DECISIONS, MOST_DECISIONS as u64 + 5));
        assert_eq!(lines[0].1.question().action, (MOST_DECISIONS + 4).to_string());

        let large = environment("large").await;
        for _ in 0..MOST_DECISIONS {
            recent.keep(&large, &line("read", 50_000));
        }
        let (lines, _) = recent.since(&large, 0);
        let n_bytes: usize = lines.iter().map(|(_, line)| line.n_bytes()).sum();
        assert!(n_bytes <= MOST_BYTES && n_bytes > MOST_BYTES - MOST_OF_ONE, "{n_bytes}");
        recent.keep(&large, &line("read", MOST_OF_ONE));
        assert_eq!((recent.since(&large, 0).0.len(), recent.n_dropped()), (lines.len(), 1));

        for n in 0..MOST_ENVIRONMENTS {
            recent.keep(&environment(&n.to_string()).await, &line("read", 0));
        }
        assert_eq!(recent.environments.lock().len(), MOST_ENVIRONMENTS);
        assert_eq!(
            recent.since(&first, 0).0.len(),
            0,
            "the one that has decided nothing for longest gave way"
        );
    }
}
