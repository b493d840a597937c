//! Facts in parts, whichever engine keeps them.

use super::embedded::SqliteReading;
use super::error::StoreError;
use super::fact::Fact;
use super::postgres::PgFactReading;
use std::ops::ControlFlow;

/// Facts of one moment, to be read in parts, however many there are.
#[derive(Debug)]
pub enum FactReading {
    /// From the file of the embedded store.
    Embedded(SqliteReading),
    /// From a PostgreSQL server.
    Postgres(PgFactReading),
}

impl FactReading {
    /// Passes facts to `each` until it has enough; returns whether there may be more. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if the reading was cut: facts are missing.
    pub fn part(&self, each: impl FnMut(&Fact) -> ControlFlow<()>) -> Result<bool, StoreError> {
        match self {
            Self::Embedded(reading) => reading.part(each),
            Self::Postgres(reading) => reading.part(each),
        }
    }
}
