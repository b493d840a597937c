//! Questions for the caller's own database, for `compile` and `explain`.
//!
//! In: a policy, data bindings, optionally stored facts, and a question in the notation. Out: an engine that
//! holds all of it in memory, and the request that the service would get, so that the printed text is what
//! the service answers. The form of the question decides which request it is:
//!
//! | question | asked as |
//! |---|---|
//! | `allow`, all three given | a decision, column `allowed` |
//! | `allow`, the action wanted | actions, column `actions` |
//! | `allow`, the resource wanted, with `--filter` | a list, a condition over the column |
//! | any other | a conjunction: rows with a column for each wanted variable, or with `--filter` a condition |

use super::active_policy::ActivePolicy;
use super::ask::names::warn_in;
use super::error::{ArgumentError, CliError};
use super::{facts_file, policy_file};
use crate::engine::{
    Change, Engine, EngineSettings, EvaluateQuery, EvaluateVar, LocalRequest, PolicyOptions, QuestionNames,
    local_question,
};
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// The arguments for questions about the caller's own database.
#[derive(Debug, clap::Args)]
pub(super) struct LocalArgs {
    /// Data bindings: write the SQL for the database that they describe, in its dialect
    #[arg(long, value_name = "FILE", conflicts_with = "dialect")]
    pub(super) bindings: Option<PathBuf>,
    /// Facts stored in the service: one per line, in the notation of questions or as JSON
    #[arg(long, value_name = "FILE", requires = "bindings")]
    facts: Option<PathBuf>,
    /// Write a condition over this column instead of rows; the question must have one wanted variable
    #[arg(long, value_name = "COLUMN", requires = "bindings")]
    filter: Option<String>,
}

impl LocalArgs {
    /// Whether the result is a condition, not a statement.
    pub(super) fn is_condition(&self) -> bool {
        self.filter.is_some()
    }

    /// An engine with the policy and the facts, and the request for it.
    pub(super) async fn prepare(
        &self,
        policy: &Path,
        question: &str,
        bindings: &Path,
    ) -> Result<(Engine, LocalRequest), CliError> {
        let parsed = super::compile::question_on(policy, question)?;
        let unfit = |reason| ArgumentError::Unfit { question: question.to_owned(), reason };
        let request = LocalRequest {
            question: local_question(&parsed, self.filter.as_deref()).map_err(unfit)?,
            bindings: policy_file::read(bindings)?,
            context: Vec::new(),
        };
        let engine = engine(policy, self.facts.as_deref()).await?;
        if let ActivePolicy::Known(program) = ActivePolicy::of_engine(&engine).await? {
            warn_in(&QuestionNames::of_question(&parsed), &program);
        }
        Ok((engine, request))
    }
}

/// An engine in memory with a policy and facts.
pub(super) async fn engine(policy: &Path, facts: Option<&Path>) -> Result<Engine, CliError> {
    let engine = Engine::in_memory(EngineSettings::default()).await?;
    // Its tests are for `portcullis test`.
    let options = PolicyOptions { force: true, ..PolicyOptions::default() };
    engine.set_policy(policy_file::read(policy)?, policy.display().to_string(), options).await?;
    if let Some(facts) = facts {
        engine.apply(vec![Change::Insert(facts_file::read(facts)?)]).await?;
    }
    Ok(engine)
}

/// The body of the request that asks a service for a conjunction.
pub(super) fn evaluate_body(EvaluateQuery { atoms, vars }: &EvaluateQuery) -> Json {
    let constraint = |var: &EvaluateVar| json!({ "type": var.ty, "ids": var.ids });
    let constraints: Map<String, Json> =
        vars.iter().map(|(name, var)| (name.clone(), constraint(var))).collect();
    let (first, others) =
        atoms.split_first().map_or((json!(null), &[][..]), |(first, others)| (json!(first), others));
    json!({ "predicate": first, "calls": others, "constraints": constraints })
}
