//! Facts as a table: `predicate,type1,id1,type2,id2,…`, one row for each.
//!
//! The header is required, so that an unrelated table is refused at once. Rows may be shorter than the
//! header.

use super::input::{InputError, InputPosition, Tracked};
use crate::engine::{Fact, Value};
use csv::{ByteRecord, Reader, ReaderBuilder, Writer};
use std::io::Write;

/// The names of the columns.
const HEADER: [&str; 11] =
    ["predicate", "type1", "id1", "type2", "id2", "type3", "id3", "type4", "id4", "type5", "id5"];

/// A reader of a table.
pub(super) struct Table {
    reader: Reader<Tracked>,
    /// Where the reader started.
    start: InputPosition,
    /// Whether the header was read.
    begun: bool,
    row: ByteRecord,
}

impl Table {
    pub(super) fn new(source: Tracked, start: InputPosition) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(source);
        Self { reader, start, begun: start.bytes > 0, row: ByteRecord::new() }
    }

    /// The next fact and the first line of its row.
    pub(super) fn next(&mut self) -> Result<Option<(Fact, u64)>, InputError> {
        if !self.begun {
            self.begun = true;
            self.header()?;
        }
        let begin = self.place();
        if !self.read()? {
            return Ok(None);
        }
        // The CSV reader leaves the second character of a line break, and empty lines, to the next row.
        let line = begin.lines + 1 + self.reader.get_ref().empty_lines(begin.bytes);
        fact(&self.row, line).map(|fact| Some((fact, line)))
    }

    pub(super) fn place(&self) -> InputPosition {
        let position = self.reader.position();
        InputPosition {
            bytes: self.start.bytes + position.byte(),
            lines: self.start.lines + position.line().saturating_sub(1),
        }
    }

    pub(super) fn source(&mut self) -> &mut Tracked {
        self.reader.get_mut()
    }

    fn read(&mut self) -> Result<bool, InputError> {
        let begin = self.place();
        self.reader.get_mut().begin_row(begin.bytes);
        self.reader.read_byte_record(&mut self.row).map_err(|error| InputError {
            line: begin.lines + 1,
            column: 1,
            reason: error.to_string(),
        })
    }

    fn header(&mut self) -> Result<(), InputError> {
        self.read()?;
        let n_columns = self.row.len();
        let named = self.row.iter().eq(HEADER.iter().take(n_columns).map(|name| name.as_bytes()));
        if named && n_columns >= 3 && n_columns % 2 == 1 {
            return Ok(());
        }
        let reason = format!("the first row must be the header `{}`, or the start of it", HEADER.join(","));
        Err(InputError { line: 1, column: 1, reason })
    }
}

fn fact(row: &ByteRecord, line: u64) -> Result<Fact, InputError> {
    let fault = |column: usize, reason: String| InputError { line, column: column as u64 + 1, reason };
    let mut cells = Vec::with_capacity(row.len());
    for (column, cell) in row.iter().enumerate() {
        let text = std::str::from_utf8(cell).map_err(|error| fault(column, format!("not UTF-8: {error}")))?;
        cells.push(text);
    }
    while cells.last().is_some_and(|cell| cell.is_empty()) {
        cells.pop();
    }
    if cells.len() > HEADER.len() {
        return Err(fault(HEADER.len(), "a fact has at most 5 arguments".to_owned()));
    }
    let Some((predicate, pairs)) = cells.split_first() else {
        return Err(fault(0, "a row of empty cells".to_owned()));
    };
    let mut args = Vec::with_capacity(pairs.len() / 2);
    for (position, pair) in pairs.chunks(2).enumerate() {
        let column = 1 + 2 * position;
        match pair {
            [ty, id] if !ty.is_empty() && !id.is_empty() => args.push(Value::new(ty, id)),
            ["", _] => return Err(fault(column, "an empty type".to_owned())),
            _ => return Err(fault(column + 1, "an empty id".to_owned())),
        }
    }
    Ok(Fact::new(predicate, args))
}

/// Writes facts as rows.
pub(super) struct TableWriter<W: Write>(Writer<W>);

impl<W: Write> TableWriter<W> {
    /// Writes the header.
    pub(super) fn new(to: W) -> std::io::Result<Self> {
        let mut writer = Writer::from_writer(to);
        writer.write_record(HEADER).map_err(std::io::Error::from)?;
        Ok(Self(writer))
    }

    /// Writes a row, as wide as the header.
    pub(super) fn write(&mut self, fact: &Fact) -> std::io::Result<()> {
        let pairs = fact.args.iter().flat_map(|arg| [arg.ty.as_str(), arg.id.as_str()]);
        let cells = std::iter::once(fact.predicate.as_str()).chain(pairs);
        let filled = cells.chain(std::iter::repeat("")).take(HEADER.len());
        self.0.write_record(filled).map_err(std::io::Error::from)
    }

    /// Flushes, and returns the target.
    pub(super) fn finish(self) -> std::io::Result<W> {
        self.0.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}
