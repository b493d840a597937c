//! Facts as JSON, one per line: `{"predicate":"is_public","args":[{"type":"Repo","id":"site"}]}`.

use super::input::{InputError, InputPosition, Tracked};
use crate::cli::facts_file::FactJson;
use crate::engine::Fact;
use std::io::{BufRead, BufReader, Write};

/// A reader of JSON lines.
pub(super) struct JsonLines {
    source: BufReader<Tracked>,
    place: InputPosition,
    line: Vec<u8>,
}

impl JsonLines {
    pub(super) fn new(source: Tracked, place: InputPosition) -> Self {
        Self { source: BufReader::new(source), place, line: Vec::new() }
    }

    /// The next fact and its line; empty lines are skipped.
    pub(super) fn next(&mut self) -> Result<Option<(Fact, u64)>, InputError> {
        loop {
            let line = self.place.lines + 1;
            self.line.clear();
            self.source.get_mut().begin_row(self.place.bytes);
            let read = self.source.read_until(b'\n', &mut self.line);
            let n = read.map_err(|error| InputError { line, column: 1, reason: error.to_string() })?;
            if n == 0 {
                return Ok(None);
            }
            let fact = if self.line.trim_ascii().is_empty() { None } else { Some(decode(&self.line, line)?) };
            self.place = InputPosition { bytes: self.place.bytes + n as u64, lines: line };
            if let Some(fact) = fact {
                return Ok(Some((fact, line)));
            }
        }
    }

    pub(super) fn place(&self) -> InputPosition {
        self.place
    }

    pub(super) fn source(&mut self) -> &mut Tracked {
        self.source.get_mut()
    }
}

fn decode(text: &[u8], line: u64) -> Result<Fact, InputError> {
    // The decoder would accept an array of the fields in order, which is never intended.
    if text.trim_ascii_start().starts_with(b"[") {
        let reason = "expected one fact on the line, an object with `predicate` and `args`".to_owned();
        return Err(InputError { line, column: 1, reason });
    }
    let fact: FactJson = serde_json::from_slice(text).map_err(|error| {
        let reason = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = reason.strip_suffix(&place).unwrap_or(&reason).to_owned();
        InputError { line, column: error.column() as u64, reason }
    })?;
    Ok(fact.into())
}

/// Writes a fact as a line.
pub(super) fn write(fact: Fact, to: &mut impl Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut *to, &FactJson::from(fact))?;
    to.write_all(b"\n")
}
