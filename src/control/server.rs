//! The service's side: carries orders out, several at once.

use super::{ListedKey, MOST_BYTES, Order, Outcome, folder, socket, unknown_key};
use crate::engine::{Engine, EngineError, EngineSettings, check_environment_name};
use crate::http::{AppState, Environment};
use crate::store::{Access, Key};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;

/// How long an order may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// After a failed accept (out of file descriptors) it waits so long for connections to end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The socket of a running service, which is gone when this is dropped.
#[derive(Debug)]
pub struct Control {
    data: PathBuf,
    listener: UnixListener,
}

impl Control {
    /// Listens in a data folder whose environments this process has open, so that no other serves them.
    pub fn bind(data: &Path) -> io::Result<Self> {
        let folder = folder(data);
        if !folder.is_dir() {
            DirBuilder::new().mode(0o700).create(&folder)?;
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        remove_socket(data)?;
        let opened = File::open(&folder)?;
        let socket = socket(&folder, &opened)?;
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        Ok(Self { data: data.into(), listener })
    }

    /// Carries out orders for as long as it is polled; environments that it opens have these settings.
    pub async fn serve(self, app: Arc<AppState>, settings: EngineSettings) {
        let shared = Arc::new(Shared { app, settings, data: self.data.clone(), opening: Mutex::new(()) });
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        if let Err(error) = shared.converse(stream).await {
                            tracing::warn!(%error, "an order was not understood or its giver has gone");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept an order");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Err(error) = remove_socket(&self.data) {
            tracing::warn!(%error, "the control socket stays behind");
        }
    }
}

fn remove_socket(data: &Path) -> io::Result<()> {
    match fs::remove_file(folder(data).join("socket")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

struct Shared {
    app: Arc<AppState>,
    settings: EngineSettings,
    data: PathBuf,
    /// Held while an environment is opened, so that two orders do not open it twice.
    opening: Mutex<()>,
}

impl Shared {
    async fn converse(&self, stream: UnixStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream.take(MOST_BYTES));
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await??;
        let outcome = match serde_json::from_str(&line) {
            Ok(order) => match self.carry_out(order).await {
                Ok(outcome) => outcome,
                Err(error) => Outcome::Refused { message: error.to_string() },
            },
            Err(error) => Outcome::Refused { message: format!("the service does not know this: {error}") },
        };
        let mut text = serde_json::to_string(&outcome)?;
        text.push('\n');
        stream.into_inner().into_inner().write_all(text.as_bytes()).await
    }

    async fn carry_out(&self, order: Order) -> Result<Outcome, EngineError> {
        match order {
            Order::CreateKey { environment, name, read_only } => {
                let engine = self.environment(&environment, true).await?;
                let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
                let made = engine.create_key(environment, name, access).await?;
                tracing::info!(environment = made.key.environment, id = made.key.id, "a key was made");
                Ok(Outcome::KeyCreated { key: made.text })
            }
            Order::ListKeys { environment } => {
                let engine = self.environment(&environment, false).await?;
                let listed = |key: Key| {
                    let used = engine.key_last_used(&key.id);
                    ListedKey::new(key, used)
                };
                Ok(Outcome::Keys { keys: engine.keys().into_iter().map(listed).collect() })
            }
            Order::RevokeKey { environment, id } => {
                let engine = self.environment(&environment, false).await?;
                if !engine.revoke_key(id.clone()).await? {
                    return Ok(unknown_key(&environment, &id));
                }
                tracing::info!(environment, id, "a key was revoked");
                Ok(Outcome::KeyRevoked)
            }
            Order::OpenEnvironment { environment } => {
                self.environment(&environment, false).await?;
                Ok(Outcome::EnvironmentOpened)
            }
        }
    }

    /// An environment, opened if it is not yet, and made if it may be.
    async fn environment(&self, name: &str, make: bool) -> Result<Engine, EngineError> {
        check_environment_name(name)?;
        let _one_at_a_time = self.opening.lock().await;
        if let Some(environment) = self.app.environment(name) {
            return Ok(environment.engine.clone());
        }
        let dir = self.data.join(name);
        if !make && !dir.is_dir() {
            return Err(EngineError::NotFound(format!("there is no environment `{name}`")));
        }
        let engine = Engine::open(&dir, self.settings.clone()).await?;
        self.app.add(Environment { name: name.to_owned(), engine: engine.clone() });
        tracing::info!(environment = name, "an environment was opened");
        Ok(engine)
    }
}
