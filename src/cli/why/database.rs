//! Explains a local check on the caller's own database.
//!
//! The service, or an engine in memory, says which statement to run; this runs each, in one read-only
//! transaction, until the explanation comes back.

use super::{AskedWhy, body};
use crate::cli::bindings::Database;
use crate::cli::error::CliError;
use crate::cli::local;
use crate::cli::service::Service;
use crate::engine::{CallerRow, Engine, LocalWhyRequest};
use crate::http::{LocalWhyOut, WhyOut};
use serde_json::json;
use std::path::Path;

/// How many statements are run at most; what needs more is truncated long before.
const STATEMENTS: usize = 1_000;

/// What says which statement to run.
#[derive(Clone, Copy)]
pub(super) enum Explainer<'e> {
    /// An engine with a policy and facts in files.
    Files { policy: &'e Path, facts: Option<&'e Path> },
    /// A running service.
    Service(&'e Service),
    /// An engine that holds a data folder.
    Held(&'e Engine),
}

/// What answers, once it is ready.
enum ReadyExplainer<'e> {
    Files(Box<Engine>),
    Held(&'e Engine),
    Service(&'e Service),
}

/// The explanation of a question on a database.
pub(super) async fn explained(
    explainer: Explainer<'_>,
    document: &Path,
    address: &str,
    question: &AskedWhy,
) -> Result<WhyOut, CliError> {
    let (text, database) = Database::described(document, address).await?;
    let asked = match explainer {
        Explainer::Files { policy, facts } => {
            ReadyExplainer::Files(Box::new(local::engine(policy, facts).await?))
        }
        Explainer::Service(service) => ReadyExplainer::Service(service),
        Explainer::Held(engine) => ReadyExplainer::Held(engine),
    };
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    for _ in 0..STATEMENTS {
        let LocalWhyOut { sql, explanation } = asked.next(question, &text, &rows).await?;
        match (sql, explanation) {
            (_, Some(explanation)) => return Ok(explanation),
            (Some(sql), None) => rows.extend(database.rows(&sql).await?),
            (None, None) => break,
        }
    }
    Err(CliError::ManyStatements)
}

impl ReadyExplainer<'_> {
    async fn next(
        &self,
        question: &AskedWhy,
        bindings: &str,
        rows: &[Vec<Option<String>>],
    ) -> Result<LocalWhyOut, CliError> {
        let engine = match self {
            Self::Files(engine) => engine,
            Self::Held(engine) => *engine,
            Self::Service(service) => {
                let sent = json!({ "query": body(question), "data_bindings": bindings, "rows": rows });
                return service.answer("why_query", &sent);
            }
        };
        let row = |row: &Vec<Option<String>>| match row.split_first() {
            Some((part, values)) => {
                CallerRow { part: part.clone().unwrap_or_default(), values: values.to_vec() }
            }
            None => CallerRow::default(),
        };
        let request = LocalWhyRequest {
            bindings: bindings.to_owned(),
            question: question.question.clone(),
            context: question.context.clone(),
            rows: rows.iter().map(row).collect(),
        };
        Ok(engine.explain_on_caller(request).await?.into())
    }
}
