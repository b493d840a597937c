//! Checks the facts of a file and groups them into chunks.
//!
//! Every fact is checked against the active policy before its chunk is sent, with the service's own function.
//! So a fact that would be refused is reported with its line, and its chunk changes nothing.

use super::input::{Input, InputError};
use crate::cli::active_policy::ActivePolicy;
use crate::cli::facts_file::FactJson;
use crate::engine::{Fact, check_fact};

/// The maximum size of a chunk's body in bytes: below a service's default limit of 10 MiB.
const MOST_BYTES: usize = 8 << 20;

/// Facts that are stored together or not at all.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The facts; at least one.
    pub(super) facts: Vec<Fact>,
    /// The body of the batch that adds them.
    pub(super) body: String,
    /// The lines of the first and the last fact.
    pub(super) lines: (u64, u64),
}

/// Reads the next chunk of at most `most` facts; `None` at the end.
pub(super) fn next(
    input: &mut Input,
    policy: &ActivePolicy,
    most: usize,
) -> Result<Option<Chunk>, InputError> {
    let mut body = String::from("[{\"inserts\":[");
    let mut facts = Vec::new();
    let mut lines: Option<(u64, u64)> = None;
    while facts.len() < most && body.len() < MOST_BYTES {
        let Some((fact, line)) = input.next()? else { break };
        check(policy, &fact).map_err(|reason| InputError { line, column: 1, reason })?;
        if !facts.is_empty() {
            body.push(',');
        }
        let text = serde_json::to_string(&FactJson::from(fact.clone()));
        body.push_str(&text.map_err(|error| InputError { line, column: 1, reason: error.to_string() })?);
        lines = Some((lines.map_or(line, |(first, _)| first), line));
        facts.push(fact);
    }
    body.push_str("]}]");
    Ok(lines.map(|lines| Chunk { facts, body, lines }))
}

fn check(policy: &ActivePolicy, fact: &Fact) -> Result<(), String> {
    let program = match policy {
        ActivePolicy::Known(program) => Some(&**program),
        ActivePolicy::None => None,
        // What it accepts is not known.
        ActivePolicy::Foreign => return Ok(()),
    };
    check_fact(program, fact).map_err(|error| error.to_string())
}

impl Chunk {
    /// The lines that it came from, in words.
    pub(super) fn place(&self, name: &str) -> String {
        let (first, last) = self.lines;
        format!("{name}, lines {first} to {last}")
    }
}
