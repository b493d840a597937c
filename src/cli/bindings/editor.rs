//! What an editor asks a database about data bindings. An answer of PostgreSQL has a time limit.

use super::database::Database;
use super::entries::entries;
use super::finding::Severity;
use super::live::Live;
use crate::cli::error::CliError;
use crate::lsp::{LiveFinding, LiveSeverity, Schema, SchemaTable};
use portcullis_compiler::bindings;
use std::time::Duration;

/// How long an answer may take.
const TIME: Duration = Duration::from_secs(10);

/// The names of all tables and views, with their columns.
pub(in crate::cli) async fn schema(url: &str) -> Result<Schema, CliError> {
    let names = within(async { Database::open(url).await?.columns_of_tables().await }).await?;
    let mut tables: Vec<SchemaTable> = Vec::new();
    for [table, column] in names {
        match tables.last_mut() {
            Some(last) if last.name == table => last.columns.push(column),
            Some(_) | None => tables.push(SchemaTable { name: table, columns: vec![column] }),
        }
    }
    Ok(Schema { tables })
}

/// Where the database contradicts a document, as `portcullis bindings check` reports it. `None` if the
/// document itself has mistakes.
pub(in crate::cli) async fn findings(url: &str, text: &str) -> Option<Vec<LiveFinding>> {
    let bindings = bindings::parse(text).ok()?;
    let read = async {
        let database = Database::open_for(url, &bindings).await?;
        Live::read(&database, &bindings).await
    };
    let live = match within(read).await {
        Ok(live) => live,
        Err(error) => {
            let (code, message) = ("database_error".to_owned(), error.to_string());
            return Some(vec![LiveFinding { line: 1, severity: LiveSeverity::Warning, code, message }]);
        }
    };
    let mut found = Vec::new();
    for row in entries(&bindings, &live, None) {
        let line = row.line.unwrap_or_else(|| line_of(text, row.section, &row.key));
        found.extend(row.findings.into_iter().map(|finding| LiveFinding {
            line,
            severity: match finding.severity {
                Severity::Error => LiveSeverity::Error,
                Severity::Warning => LiveSeverity::Warning,
                Severity::Note => LiveSeverity::Note,
            },
            code: finding.code.as_str().to_owned(),
            message: finding.message,
        }));
    }
    Some(found)
}

async fn within<T>(answer: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let late = || CliError::Database { reason: format!("no answer within {} s", TIME.as_secs()), at: None };
    tokio::time::timeout(TIME, answer).await.unwrap_or_else(|_| Err(late()))
}

/// The line of an entry in a section, or of the section if the entry is not found; otherwise the first line.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let lines = || (1..).zip(text.lines());
    let Some((start, _)) = lines().find(|(_, line)| line.starts_with(section)) else { return 1 };
    let entry = lines().skip(start).find(|(_, line)| line.trim_start().starts_with(key));
    entry.map_or(start, |(line, _)| line)
}
