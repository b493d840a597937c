//! The service's side: accepts connections and carries out their commands, several at once.

use super::socket::{self, MAX_BYTES};
use super::{AdminCommand, AdminReply, ListedKey, default_stays, unknown_key};
use crate::engine::{Engine, EngineError, EngineSettings, check_environment_name, open_environment};
use crate::http::{AppState, DEFAULT_ENVIRONMENT, Environment, ErrorCode};
use crate::store::{self, Access, Key, StoreError};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;

/// How long a command may take to arrive.
const COMMAND_TIME: Duration = Duration::from_secs(10);

/// The pause after a failed accept (for example: out of file descriptors), in which connections may end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the last requests of an environment that is deleted may take.
const LAST_REQUESTS_TIME: Duration = Duration::from_secs(30);

/// The pause before the next attempt to delete it.
const DELETE_PAUSE: Duration = Duration::from_millis(50);

/// The socket of a running service; dropping it removes the socket.
#[derive(Debug)]
pub struct AdminSocket {
    data: PathBuf,
    listener: UnixListener,
}

impl AdminSocket {
    /// Listens in a data folder. This process has its environments open, so no other process serves them.
    pub fn bind(data: &Path) -> io::Result<Self> {
        let folder = socket::folder(data);
        if !folder.is_dir() {
            DirBuilder::new().mode(0o700).create(&folder)?;
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        remove_socket(data)?;
        let opened = File::open(&folder)?;
        let socket = socket::path(&folder, &opened)?;
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600))?;
        Ok(Self { data: data.into(), listener })
    }

    /// Carries out commands until it is dropped. Environments that it opens get these settings.
    pub async fn serve(self, app: Arc<AppState>, settings: EngineSettings) {
        let shared =
            Arc::new(AdminService { app, settings, data: self.data.clone(), opening: Mutex::new(()) });
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        if let Err(error) = shared.answer(stream).await {
                            tracing::warn!(%error, "an admin command failed: the connection broke off");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept an admin connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        if let Err(error) = remove_socket(&self.data) {
            tracing::warn!(%error, "cannot remove the admin socket");
        }
    }
}

fn remove_socket(data: &Path) -> io::Result<()> {
    match fs::remove_file(socket::folder(data).join("socket")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

struct AdminService {
    app: Arc<AppState>,
    settings: EngineSettings,
    data: PathBuf,
    /// Held while an environment is opened, so that two commands do not open it twice.
    opening: Mutex<()>,
}

impl AdminService {
    async fn answer(&self, stream: UnixStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream.take(MAX_BYTES));
        let mut line = String::new();
        tokio::time::timeout(COMMAND_TIME, stream.read_line(&mut line)).await??;
        let reply = match serde_json::from_str(&line) {
            Ok(command) => match self.carry_out(command).await {
                Ok(reply) => reply,
                Err(error) => {
                    let message = error.to_string();
                    AdminReply::Refused { message, code: ErrorCode::from(error).as_str().to_owned() }
                }
            },
            Err(error) => AdminReply::Refused {
                message: format!(
                    "the service does not know this command: {error}; use the release of the service"
                ),
                code: ErrorCode::InvalidRequest.as_str().to_owned(),
            },
        };
        let mut text = serde_json::to_string(&reply)?;
        text.push('\n');
        stream.into_inner().into_inner().write_all(text.as_bytes()).await
    }

    async fn carry_out(&self, command: AdminCommand) -> Result<AdminReply, EngineError> {
        match command {
            AdminCommand::CreateKey { environment, name, read_only } => {
                // A key that cannot be made must not leave an environment behind.
                store::check_key_name(&name)?;
                let engine = self.environment(&environment, MissingEnvironment::Created).await?;
                let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
                let made = engine.create_key(environment, name, access).await?;
                tracing::info!(environment = made.key.environment, id = made.key.id, "key created");
                Ok(AdminReply::KeyCreated { key: made.text })
            }
            AdminCommand::ListKeys { environment } => {
                let engine = self.environment(&environment, MissingEnvironment::Refused).await?;
                let listed = |key: Key| {
                    let used = engine.key_last_used(&key.id);
                    ListedKey::new(key, used)
                };
                Ok(AdminReply::Keys { keys: engine.keys().into_iter().map(listed).collect() })
            }
            AdminCommand::RevokeKey { environment, id } => {
                let engine = self.environment(&environment, MissingEnvironment::Refused).await?;
                if !engine.revoke_key(id.clone()).await? {
                    return Ok(unknown_key(&environment, &id));
                }
                tracing::info!(environment, id, "key revoked");
                Ok(AdminReply::KeyRevoked)
            }
            AdminCommand::OpenEnvironment { environment } => {
                self.environment(&environment, MissingEnvironment::Refused).await?;
                Ok(AdminReply::EnvironmentOpened)
            }
            AdminCommand::DeleteEnvironment { environment } => self.delete(environment).await,
        }
    }

    /// Deletes an environment once its last requests have ended. From the start, its keys are refused.
    async fn delete(&self, name: String) -> Result<AdminReply, EngineError> {
        check_environment_name(&name)?;
        if name == DEFAULT_ENVIRONMENT {
            return Ok(default_stays());
        }
        let _one_at_a_time = self.opening.lock().await;
        let served = self.app.remove(&name);
        let was_served = served.is_some();
        if let Some(environment) = served {
            environment.engine.end_questions();
            // The last owner to drop it waits for its queued writes.
            drop(tokio::task::spawn_blocking(move || drop(environment)));
        }
        let (dir, start) = (self.data.join(&name), Instant::now());
        loop {
            let of_thread = dir.clone();
            let deleted = tokio::task::spawn_blocking(move || store::delete(&of_thread)).await;
            match deleted.map_err(|error| EngineError::Bug(error.to_string()))? {
                Err(StoreError::Locked(_)) if start.elapsed() < LAST_REQUESTS_TIME => {
                    tokio::time::sleep(DELETE_PAUSE).await;
                }
                Err(StoreError::Locked(_)) => {
                    return Ok(AdminReply::Refused {
                        message: format!(
                            "the environment `{name}` is not served any more, but its last requests have not ended: run the command again"
                        ),
                        code: ErrorCode::Unavailable.as_str().to_owned(),
                    });
                }
                Err(StoreError::Missing(_)) => return Err(unknown_environment(&name)),
                Err(error) => {
                    let message = if was_served {
                        format!(
                            "the environment `{name}` is not served any more, but was not deleted: {error}"
                        )
                    } else {
                        error.to_string()
                    };
                    let code = ErrorCode::from(EngineError::from(error)).as_str().to_owned();
                    return Ok(AdminReply::Refused { message, code });
                }
                Ok(()) => {
                    tracing::info!(environment = name, "environment deleted");
                    return Ok(AdminReply::EnvironmentDeleted);
                }
            }
        }
    }

    /// An environment, which is opened if it is not open yet.
    async fn environment(&self, name: &str, missing: MissingEnvironment) -> Result<Engine, EngineError> {
        check_environment_name(name)?;
        // Commands about an open one do not wait until another one is opened or deleted.
        let served = || self.app.environment(name).map(|environment| environment.engine.clone());
        if let Some(engine) = served() {
            return Ok(engine);
        }
        let _one_at_a_time = self.opening.lock().await;
        if let Some(engine) = served() {
            return Ok(engine);
        }
        let dir = self.data.join(name);
        if missing == MissingEnvironment::Refused && !dir.is_dir() {
            return Err(unknown_environment(name));
        }
        let engine = open_environment(&self.data, name, &self.settings).await?;
        self.app.add(Environment { name: name.to_owned(), engine: engine.clone() });
        tracing::info!(environment = name, "environment opened");
        Ok(engine)
    }
}

/// What happens if there is no environment of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingEnvironment {
    Created,
    Refused,
}

fn unknown_environment(name: &str) -> EngineError {
    EngineError::NotFound(format!("there is no environment `{name}`: check its name"))
}
