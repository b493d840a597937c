//! Asks a server the questions of a page over HTTP.

use super::fixture::Answer;
use super::hosted::FAULT;
use super::notation::{Cell, Fact, Value};
use super::outcome::{Allow, Outcome, ids};
use super::server::Server;
use serde_json::{Value as Json, json};

/// A server with the policy and the facts of a page.
pub struct OverHttp {
    server: Server,
}

impl OverHttp {
    /// Starts a server, uploads a policy and stores facts.
    pub fn new(policy: &str, facts: &[Fact]) -> Result<Self, String> {
        let asked = Self { server: Server::in_memory() };
        asked.post("policy", &json!({ "src": policy, "filename": "policy.polar" }))?;
        asked.post("batch", &json!([{ "inserts": wire_facts(facts) }]))?;
        Ok(asked)
    }

    /// Asks the entry point.
    pub fn ask(&self, allow: &Allow, context: &[Fact]) -> Outcome {
        let answered = match allow {
            Allow::Authorize(actor, action, resource) => self.decide(actor, action, resource, context),
            Allow::List(actor, action, ty) => self.list(actor, action, ty, context),
            Allow::Actions(actor, resource) => self.actions(actor, resource, context),
            Allow::Subjects(ty, action, resource) => self.subjects(ty.as_deref(), action, resource, context),
        };
        answered.map_or_else(|message| Outcome::Refused(message.into()), Outcome::Is)
    }

    fn decide(
        &self,
        actor: &Value,
        action: &str,
        resource: &Value,
        context: &[Fact],
    ) -> Result<Answer, String> {
        let body = json!({
            "actor_type": actor.ty, "actor_id": actor.id, "action": action,
            "resource_type": resource.ty, "resource_id": resource.id, "context_facts": wire_facts(context),
        });
        let response = self.post("authorize", &body)?;
        Ok(Answer::Decision(response["allowed"].as_bool().unwrap()))
    }

    fn list(&self, actor: &Value, action: &str, ty: &str, context: &[Fact]) -> Result<Answer, String> {
        let body = json!({
            "actor_type": actor.ty, "actor_id": actor.id, "action": action, "resource_type": ty,
            "page_size": 10_000, "context_facts": wire_facts(context),
        });
        let response = self.post("list", &body)?;
        assert_eq!(response["next_page_token"], Json::Null, "one page holds all");
        Ok(ids(ty, results(&response)))
    }

    fn actions(&self, actor: &Value, resource: &Value, context: &[Fact]) -> Result<Answer, String> {
        let body = json!({
            "actor_type": actor.ty, "actor_id": actor.id,
            "resource_type": resource.ty, "resource_id": resource.id, "context_facts": wire_facts(context),
        });
        Ok(ids("String", results(&self.post("actions", &body)?)))
    }

    fn subjects(
        &self,
        ty: Option<&str>,
        action: &str,
        resource: &Value,
        context: &[Fact],
    ) -> Result<Answer, String> {
        let body = json!({
            "action": action, "resource_type": resource.ty, "resource_id": resource.id,
            "actor_types": ty.map(|ty| [ty]), "page_size": 10_000, "context_facts": wire_facts(context),
        });
        let response = self.post("list_subjects", &body)?;
        assert_eq!(response["next_page_token"], Json::Null, "one page holds all");
        let cell =
            |subject: &Json| match [&subject["type"], &subject["id"]].map(|text| text.as_str().unwrap()) {
                ["*", "*"] => Cell::Any,
                [ty, "*"] => Cell::AnyOf(ty.to_owned()),
                [ty, id] => Cell::Value(Value::new(ty, id)),
            };
        let subjects = response["results"].as_array().unwrap();
        Ok(Answer::Rows(subjects.iter().map(|subject| vec![cell(subject)]).collect()))
    }

    /// The body of a success, or the message of a refusal; a fault of the server's says that it is one.
    fn post(&self, path: &str, body: &Json) -> Result<Json, String> {
        let answer = self.server.post(&format!("/api/{path}"), body);
        match answer.status {
            200..=299 => Ok(answer.json()),
            400 => Err(answer.message()),
            other => Err(format!("{FAULT}{other} {}", answer.message())),
        }
    }
}

fn results(response: &Json) -> Vec<String> {
    let results = response["results"].as_array().unwrap();
    results.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn wire_facts(facts: &[Fact]) -> Json {
    let value = |value: &Value| json!({ "type": value.ty, "id": value.id });
    let fact = |fact: &Fact| json!({ "predicate": fact.predicate, "args": fact.args.iter().map(value).collect::<Vec<_>>() });
    Json::Array(facts.iter().map(fact).collect())
}
