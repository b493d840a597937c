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

/// What a chunk is stored from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkForm {
    /// Its facts.
    Facts,
    /// The body of a request.
    Body,
}

/// Facts that are stored together or not at all.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// How many there are; at least one.
    pub(super) n_facts: usize,
    /// The facts, if it is stored from them.
    pub(super) facts: Vec<Fact>,
    /// The body of the batch that adds them, if it is stored from that.
    pub(super) body: Vec<u8>,
    /// The lines of the first and the last fact.
    lines: (u64, u64),
}

/// Reads the next chunk of at most `most` facts; `None` at the end.
pub(super) fn next(
    input: &mut Input,
    policy: &ActivePolicy,
    most: usize,
    form: ChunkForm,
) -> Result<Option<Chunk>, InputError> {
    let mut chunk = Chunk::default();
    while chunk.n_facts < most && chunk.body.len() < MOST_BYTES {
        let Some((fact, line)) = input.next()? else { break };
        let wrong = |reason| InputError { line, column: 1, reason };
        check(policy, &fact).map_err(wrong)?;
        match form {
            ChunkForm::Facts => chunk.facts.push(fact),
            ChunkForm::Body => {
                let before: &[u8] = if chunk.n_facts == 0 { b"[{\"inserts\":[" } else { b"," };
                chunk.body.extend_from_slice(before);
                let added = serde_json::to_writer(&mut chunk.body, &FactJson::from(fact));
                added.map_err(|error| wrong(error.to_string()))?;
            }
        }
        let first = if chunk.n_facts == 0 { line } else { chunk.lines.0 };
        chunk.lines = (first, line);
        chunk.n_facts += 1;
    }
    if form == ChunkForm::Body {
        chunk.body.extend_from_slice(b"]}]");
    }
    Ok((chunk.n_facts > 0).then_some(chunk))
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
