//! A real server on a free port, asked over HTTP as a client would.

use super::fixture::Answer;
use super::hosted::{FAULT, RUNTIME};
use super::notation::{Fact, Value};
use super::outcome::{Allow, Outcome, ids};
use portcullis::config::Config;
use portcullis::engine::{Engine, EngineSettings};
use portcullis::http::{AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, Environment, serve};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A running server with an empty environment; it ends when this is dropped.
pub(crate) struct Server {
    base: String,
    agent: ureq::Agent,
    _running: oneshot::Sender<()>,
}

impl Server {
    /// Starts a server.
    pub(crate) fn start() -> Self {
        let (running, ended) = oneshot::channel::<()>();
        let address = RUNTIME.block_on(async {
            let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
            let environment = Environment { name: DEFAULT_ENVIRONMENT.to_owned(), engine };
            let app = AppState::new(Config { dev: true, ..Config::default() }, [environment]);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let until = async {
                let _dropped = ended.await;
            };
            tokio::spawn(serve(listener, Arc::new(app), until));
            address
        });
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        Self { base: format!("http://{address}/api"), agent, _running: running }
    }

    /// Uploads a policy and stores facts.
    pub(crate) fn load(&self, policy: &str, facts: &[Fact]) -> Result<(), String> {
        self.post("policy", &json!({ "src": policy, "filename": "policy.polar" }))?;
        self.post("batch", &json!([{ "inserts": wire_facts(facts) }]))?;
        Ok(())
    }

    /// Asks the entry point.
    pub(crate) fn ask(&self, allow: &Allow, context: &[Fact]) -> Outcome {
        let answered = match allow {
            Allow::Authorize(actor, action, resource) => self.decide(actor, action, resource, context),
            Allow::List(actor, action, ty) => self.list(actor, action, ty, context),
            Allow::Actions(actor, resource) => self.actions(actor, resource, context),
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

    /// The body of a success, or the message of a refusal; a fault of the server's says that it is one.
    fn post(&self, path: &str, body: &Json) -> Result<Json, String> {
        let request = self.agent.post(format!("{}/{path}", self.base));
        let request = request.header("Authorization", format!("Bearer {DEVELOPMENT_KEY}"));
        let mut response = request.send_json(body).unwrap();
        let status = response.status();
        let body: Json = response.body_mut().read_json().unwrap();
        let message = || body["message"].as_str().unwrap_or_else(|| panic!("{path}: no message in {body}"));
        match status.as_u16() {
            200..=299 => Ok(body),
            400 => Err(message().to_owned()),
            other => Err(format!("{FAULT}{other} {}", message())),
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
