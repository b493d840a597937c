//! One evaluation: the question that it asks, its decision, and its line in the decision log.

use super::input::{ActionIn, EntityIn, Properties, Taken};
use crate::engine::{Decision, Engine, EngineError, Fact, Value};
use crate::http::Environment;
use crate::http::auth::QuestionAccess;
use crate::http::decision_log::{Decided, Outcome, Witness};
use crate::http::error::ApiError;
use crate::http::json::{Object, decode_fields};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenEvaluation)]
pub(super) struct EvaluationIn {
    #[schema(value_type = EntityIn)]
    subject: Object<EntityIn>,
    #[schema(value_type = ActionIn)]
    action: Object<ActionIn>,
    #[schema(value_type = EntityIn)]
    resource: Object<EntityIn>,
    /// What the policy reads of it is facts of this request; the rest is ignored.
    #[schema(value_type = Option<Object>)]
    context: Properties,
}

/// A decision.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenDecision)]
pub(super) struct EvaluationOut {
    pub(super) decision: bool,
    /// Why an evaluation failed, or that it ended the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, Value>>, nullable = false)]
    pub(super) context: Option<Json>,
}

/// A question, and the engine that answers it, which has its attributes.
struct PreparedEvaluation {
    engine: Engine,
    subject: Value,
    action: String,
    resource: Value,
}

impl PreparedEvaluation {
    fn of(engine: &Engine, asked: EvaluationIn) -> Self {
        let mut taken = Taken::default();
        let (subject, action) = (taken.subject(asked.subject), taken.action(asked.action));
        let resource = taken.resource(asked.resource);
        taken.context(asked.context);
        let engine = engine.with_attributes(taken.attributes);
        Self { engine, subject, action, resource }
    }

    /// The question, and its decision or what is wrong with it.
    async fn decided(
        access: &QuestionAccess,
        asked: EvaluationIn,
    ) -> Result<(Self, Result<Decision<bool>, EngineError>), ApiError> {
        let decide = async |engine: &Engine| {
            let asked = Self::of(engine, asked);
            let decision = asked.engine.decide(&asked.subject, &asked.action, &asked.resource, &[]).await;
            Ok((asked, decision))
        };
        access.ask(decide).await
    }

    /// Logs a decision, with the facts that its policy read of the attributes.
    fn note(&self, environment: &Environment, witness: &Witness, decision: &Decision<bool>) {
        self.note_outcome(environment, witness, decision.into(), &decision.attributes);
    }

    /// Logs a denial of a question with a mistake, of which no policy has decided.
    fn note_mistake(&self, environment: &Environment, witness: &Witness, message: &str) {
        if witness.is_watching() {
            // Wrong attributes are the reason for a denial, and are not facts.
            let context = self.engine.attribute_facts().unwrap_or_default();
            self.note_outcome(environment, witness, Outcome::Mistake(message), &context);
        }
    }

    fn note_outcome(
        &self,
        environment: &Environment,
        witness: &Witness,
        outcome: Outcome<'_>,
        context: &[Fact],
    ) {
        let Self { subject: actor, action, resource, .. } = self;
        witness.note(Decided { environment, actor, action, resource, outcome, context });
    }
}

/// The decision of a single evaluation; an error if the evaluation is wrong.
pub(super) async fn decide(
    access: &QuestionAccess,
    witness: &Witness,
    asked: EvaluationIn,
) -> Result<bool, ApiError> {
    let (asked, decision) = PreparedEvaluation::decided(access, asked).await?;
    let decision = decision?;
    asked.note(access.opened(), witness, &decision);
    Ok(decision.answer)
}

/// The decision of one of several evaluations. One that is wrong is denied, and logged if it names subject,
/// action and resource.
pub(super) async fn decide_part(
    access: &QuestionAccess,
    witness: &Witness,
    evaluation: Map<String, Json>,
) -> Result<EvaluationOut, ApiError> {
    let (asked, decision) = match decode_fields(evaluation) {
        Ok(asked) => PreparedEvaluation::decided(access, asked).await?,
        Err(error) => return Ok(Mistake::of(error)?.into()),
    };
    match decision {
        Ok(decision) => {
            asked.note(access.opened(), witness, &decision);
            Ok(EvaluationOut { decision: decision.answer, context: None })
        }
        Err(error) => {
            let mistake = Mistake::of(error.into())?;
            asked.note_mistake(access.opened(), witness, &mistake.message);
            Ok(mistake.into())
        }
    }
}

/// What is wrong with an evaluation.
struct Mistake {
    status: StatusCode,
    message: String,
}

impl Mistake {
    /// A fault of the service, or a lost write, is not a mistake of the evaluation, and ends the request.
    fn of(error: ApiError) -> Result<Self, ApiError> {
        if !error.is_client_error() || matches!(error, ApiError::LostWrite(_)) {
            return Err(error);
        }
        let (status, message) = error.into_parts();
        Ok(Self { status, message })
    }
}

impl From<Mistake> for EvaluationOut {
    fn from(Mistake { status, message }: Mistake) -> Self {
        let context = json!({ "error": { "status": status.as_u16(), "message": message } });
        Self { decision: false, context: Some(context) }
    }
}
