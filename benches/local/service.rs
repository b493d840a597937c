//! The service with the example's policy, in this process, asked over HTTP on loopback.

use crate::http::Client;
use crate::questions::Question;
use portcullis::config::Config;
use portcullis::engine::{Engine, EngineSettings, PolicyOptions};
use portcullis::http::{AppState, DEFAULT_ENVIRONMENT, Environment};
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::sync::Arc;

const POLICY: &str = include_str!("../../docs/local-checks/policy.polar");

/// A running service without any facts of its own; it ends with the process.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
}

impl Service {
    /// Starts it.
    pub(crate) async fn start() -> Self {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        engine.set_policy(POLICY.into(), "policy.polar".into(), PolicyOptions::default()).await.unwrap();
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let environment = Environment { name: DEFAULT_ENVIRONMENT.into(), engine };
        let state = AppState::new(Config { dev: true, ..Config::default() }, [environment]);
        tokio::spawn(portcullis::http::serve(listener, Arc::new(state), std::future::pending()));
        Self { address }
    }

    /// The SQL that answers a question.
    pub(crate) fn sql(&self, question: &Question) -> String {
        let (path, body) = question.request();
        let answer: Json =
            serde_json::from_slice(Client::new(self.address).post(path, &body.to_string())).unwrap();
        answer["sql"].as_str().unwrap().to_owned()
    }
}
