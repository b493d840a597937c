//! Environments in a store that other nodes use, too: one that another node has made is opened when its first
//! key arrives.

use super::{AppState, Environment};
use crate::engine::{Engine, EngineError, EngineSettings, check_environment_name};
use crate::store::postgres::Address;
use crate::store::{DatabaseError, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The pause between two look-ups: keys of environments that do not exist are no load on the database.
const PAUSE: Duration = Duration::from_secs(1);

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct SharedStore {
    address: Address,
    settings: EngineSettings,
    /// When an unknown environment was looked up last. Held while one is opened.
    looked_up: Mutex<Option<Instant>>,
}

impl SharedStore {
    /// The store at an address. Environments that are opened get these settings.
    pub fn new(address: Address, settings: EngineSettings) -> Self {
        Self { address, settings, looked_up: Mutex::default() }
    }

    /// Opens an environment that is not open yet, if there is one of this name.
    pub(super) async fn open(
        &self,
        app: &AppState,
        name: &str,
    ) -> Result<Option<Arc<Environment>>, EngineError> {
        if check_environment_name(name).is_err() {
            return Ok(None);
        }
        let mut looked_up = self.looked_up.lock().await;
        if let Some(environment) = app.environment(name) {
            return Ok(Some(environment));
        }
        if looked_up.is_some_and(|last| last.elapsed() < PAUSE) {
            return Ok(None);
        }
        *looked_up = Some(Instant::now());
        match Engine::connect(&self.address, name, self.settings.clone()).await {
            Ok(engine) => {
                app.add(Environment { name: name.to_owned(), engine });
                tracing::info!(environment = name, "environment opened");
                *looked_up = None;
                Ok(app.environment(name))
            }
            Err(EngineError::Store(StoreError::Database(DatabaseError::NoEnvironment(_)))) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
