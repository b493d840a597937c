//! Environments in a store that other nodes use, too: those that another node has made are opened when a key
//! of one arrives.

use super::parity::Peers;
use super::{AppState, Environment};
use crate::engine::{Engine, EngineError, EngineSettings, check_environment_name, environments_at};
use crate::store::postgres::StoreServers;
use crate::store::{DatabaseError, StoreError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The pause between two look-ups: keys of environments that do not exist must not load the database.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct SharedStore {
    servers: StoreServers,
    settings: EngineSettings,
    peers: Peers,
    /// The last look-up. Held during one.
    last: Mutex<Option<LookUp>>,
}

/// A look-up of all environments.
#[derive(Debug)]
struct LookUp {
    at: Instant,
    /// Why it failed, if the store did.
    failed: Option<DatabaseError>,
}

impl SharedStore {
    /// The store on these servers. Environments that are opened get these settings.
    pub fn new(servers: StoreServers, settings: EngineSettings) -> Self {
        let peers = Peers::new(servers.primary.clone());
        Self { servers, settings, peers, last: Mutex::default() }
    }

    /// The other nodes that use it.
    pub(super) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The environment with this name, if it is in the store. All that are new there are opened, whatever the
    /// name: unknown names must not keep a known one waiting.
    pub(super) async fn find(
        &self,
        app: &AppState,
        name: &str,
    ) -> Result<Option<Arc<Environment>>, EngineError> {
        if check_environment_name(name).is_err() {
            return Ok(None);
        }
        let mut last = self.last.lock().await;
        if last.as_ref().is_none_or(|last| last.at.elapsed() >= LOOK_UP_PAUSE) {
            let failed = match self.open_new(app).await {
                Ok(()) => None,
                Err(EngineError::Store(StoreError::Database(error))) => Some(error),
                Err(error) => return Err(error),
            };
            *last = Some(LookUp { at: Instant::now(), failed });
        }
        let failed = last.as_ref().and_then(|last| last.failed.clone());
        match (app.environment(name), failed) {
            (None, Some(error)) => Err(StoreError::from(error).into()),
            (found, _) => Ok(found),
        }
    }

    async fn open_new(&self, app: &AppState) -> Result<(), EngineError> {
        for name in environments_at(&self.servers.primary).await? {
            if app.environment(&name).is_none() {
                let engine = Engine::connect(&self.servers, &name, self.settings.clone()).await?;
                tracing::info!(environment = name, "environment opened");
                app.add(Environment { name, engine });
            }
        }
        Ok(())
    }
}
