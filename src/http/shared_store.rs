//! Environments in a store that other nodes use, too: those that another node has made are opened when a key
//! of one arrives.

use super::parity::Peers;
use super::{AppState, Environment};
use crate::engine::{Engine, EngineError, EngineSettings, check_environment_name, environments_at};
use crate::store::StoreError;
use crate::store::postgres::StoreServers;
use std::collections::BTreeMap;
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
    /// The environments that cannot be opened, each with the reason; or why the look-up failed.
    failed: Result<BTreeMap<String, EngineError>, EngineError>,
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
        let is_recent = |last: &LookUp| last.at.elapsed() < LOOK_UP_PAUSE;
        let last = if let Some(recent) = last.take().filter(is_recent) {
            last.insert(recent)
        } else {
            let failed = self.open_new(app).await;
            last.insert(LookUp { at: Instant::now(), failed })
        };
        match (app.environment(name), &last.failed) {
            (Some(found), _) => Ok(Some(found)),
            (None, Err(error)) => Err(error.clone()),
            (None, Ok(failed)) => failed.get(name).map_or(Ok(None), |error| Err(error.clone())),
        }
    }

    /// Opens what is new. An environment that cannot be opened does not keep the others closed; they are
    /// returned.
    async fn open_new(&self, app: &AppState) -> Result<BTreeMap<String, EngineError>, EngineError> {
        let mut failed = BTreeMap::new();
        for name in environments_at(&self.servers.primary).await? {
            if app.environment(&name).is_some() {
                continue;
            }
            match Engine::connect(&self.servers, &name, self.settings.clone()).await {
                Ok(engine) => {
                    tracing::info!(environment = name, "environment opened");
                    app.add(Environment { name, engine });
                }
                // The next one would wait for the server as long as this one did.
                Err(EngineError::Store(StoreError::Database(error))) if error.is_passing() => {
                    return Err(StoreError::from(error).into());
                }
                Err(error) => {
                    tracing::error!(environment = name, %error, "cannot open the environment");
                    failed.insert(name, error);
                }
            }
        }
        Ok(failed)
    }
}
