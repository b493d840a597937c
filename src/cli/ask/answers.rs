//! What a source answers: an engine directly, a service over its endpoints.

use crate::cli::active_policy::ActivePolicy;
use crate::cli::error::CliError;
use crate::cli::facts_file::ValueJson;
use crate::cli::local;
use crate::cli::source::Source;
use crate::engine::{ANY, ArgPattern, Assignment, EvaluateQuery, SubjectsQuestion, Value};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

#[derive(Deserialize)]
struct Allowed {
    allowed: bool,
}

#[derive(Deserialize)]
struct ResultsJson<T> {
    results: Vec<T>,
}

impl Source {
    /// The policy.
    pub(super) fn policy(&self) -> Result<ActivePolicy, CliError> {
        match self {
            Self::Memory { engine, runtime, .. } => Ok(runtime.block_on(ActivePolicy::of_engine(engine))?),
            Self::Service(service) => service.policy(),
        }
    }

    /// Whether the actor may do this to the resource.
    pub(super) fn authorize(&self, actor: &Value, action: &str, resource: &Value) -> Result<bool, CliError> {
        match self {
            Self::Memory { engine, runtime, .. } => {
                Ok(runtime.block_on(engine.decide(actor, action, resource, &[]))?.answer)
            }
            Self::Service(service) => {
                let mut body = pair(actor, resource);
                body.insert("action".to_owned(), json!(action));
                Ok(service.ask::<Allowed>("authorize", &Json::Object(body))?.allowed)
            }
        }
    }

    /// The actions that the actor may do to the resource, [`ANY`] for every one.
    pub(super) fn actions(&self, actor: &Value, resource: &Value) -> Result<Vec<String>, CliError> {
        match self {
            Self::Memory { engine, runtime, .. } => {
                Ok(runtime.block_on(engine.actions(actor.clone(), resource.clone(), Vec::new()))?)
            }
            Self::Service(service) => {
                let body = Json::Object(pair(actor, resource));
                Ok(service.ask::<ResultsJson<String>>("actions", &body)?.results)
            }
        }
    }

    /// The actors that may do this to the resource, [`ANY`] for every one of a type, and for any type.
    pub(super) fn subjects(
        &self,
        action: &str,
        resource: &Value,
        types: Option<BTreeSet<String>>,
    ) -> Result<Vec<Value>, CliError> {
        let value = |ty: String, id: String| Value { ty, id };
        match self {
            Self::Memory { engine, runtime, .. } => {
                let question =
                    SubjectsQuestion { action: action.to_owned(), resource: resource.clone(), types };
                let found = runtime.block_on(engine.list_subjects(question, None, Vec::new()))?;
                let subject = |subject: ArgPattern| match subject {
                    ArgPattern::Exact(value) => value,
                    ArgPattern::Typed(ty) => value(ty, ANY.to_owned()),
                    ArgPattern::Any => value(ANY.to_owned(), ANY.to_owned()),
                };
                Ok(found.subjects.into_iter().map(subject).collect())
            }
            Self::Service(service) => {
                let body = json!({
                    "action": action, "resource_type": resource.ty, "resource_id": resource.id,
                    "actor_types": types,
                });
                let found = service.ask::<ResultsJson<ValueJson>>("list_subjects", &body)?.results;
                Ok(found.into_iter().map(Value::from).collect())
            }
        }
    }

    /// The values of the variables for which a conjunction holds, `None` for any value.
    pub(super) fn evaluate(&self, query: &EvaluateQuery) -> Result<Vec<Assignment>, CliError> {
        match self {
            Self::Memory { engine, runtime, .. } => {
                Ok(runtime.block_on(engine.evaluate(query.clone(), Vec::new()))?)
            }
            Self::Service(service) => {
                let body = local::evaluate_body(query);
                Ok(service.ask::<ResultsJson<Assignment>>("evaluate_query", &body)?.results)
            }
        }
    }
}

fn pair(actor: &Value, resource: &Value) -> Map<String, Json> {
    let fields = [
        ("actor_type", &actor.ty),
        ("actor_id", &actor.id),
        ("resource_type", &resource.ty),
        ("resource_id", &resource.id),
    ];
    fields.into_iter().map(|(name, text)| (name.to_owned(), json!(text))).collect()
}
