//! `/studio/lsp`: the language server of `portcullis lsp`, over a WebSocket.
//!
//! Each message is the text of one message of the protocol. The server runs on a thread of its own, and
//! another one passes on what it says. A browser that sends faster than the server answers has to wait: only
//! a few messages are queued in each direction. The server sees what the browser sends and nothing else.

use super::{NO_SESSION, StudioState};
use crate::http::error::ApiError;
use crate::lsp::{self, Settings, Workbench};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use lsp_server::Connection;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

/// The largest message: a policy of the largest size, escaped.
const MOST_BYTES: usize = 4 << 20;

/// How many messages wait in each direction.
const QUEUE: usize = 16;

/// How long a full queue is left alone.
const PAUSE: Duration = Duration::from_millis(5);

/// How often the browser is asked whether it is still there.
const PING: Duration = Duration::from_secs(20);

/// Connects an editor
pub(super) async fn connect(
    State(state): State<StudioState>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let key = state.studio.sessions.key(&headers).ok_or(ApiError::Unauthorized(NO_SESSION))?;
    super::opens(&key, &state.app).await?;
    let upgrade = upgrade.map_err(|error| ApiError::BadRequest(error.to_string()))?;
    let seat = Arc::clone(&state.studio.sockets).try_acquire_owned();
    let seat =
        seat.map_err(|_| ApiError::Unavailable("too many editors of the studio at once".to_owned()))?;
    let (workbench, stopping) = (Arc::clone(&state.studio.workbench), state.studio.stopping.subscribe());
    let upgrade = upgrade.max_message_size(MOST_BYTES).max_frame_size(MOST_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, workbench, stopping, seat)).into_response())
}

/// Serves an editor until it goes, its session would end, or the service stops.
async fn serve(
    mut socket: WebSocket,
    workbench: Arc<dyn Workbench + Send + Sync>,
    mut stopping: watch::Receiver<bool>,
    _seat: OwnedSemaphorePermit,
) {
    let (to_server, mut from_server) = match start(workbench) {
        Ok(started) => started,
        Err(error) => return tracing::warn!(%error, "cannot start a language server for the studio"),
    };
    let mut pings = tokio::time::interval(PING);
    let end = tokio::time::sleep(super::sessions::LIFETIME);
    let mut end = std::pin::pin!(end);
    // Whether it has answered since the last ping.
    let mut is_there = true;
    loop {
        tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => {
                    is_there = true;
                    match serde_json::from_str::<lsp_server::Message>(&text) {
                        Ok(message) => {
                            if !queued(&to_server, message).await {
                                break;
                            }
                        }
                        Err(error) => tracing::debug!(%error, "an editor sent what is not a message"),
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => is_there = true,
                Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => break,
            },
            said = from_server.recv() => {
                let Some(said) = said else { break };
                if socket.send(Message::Text(said.into())).await.is_err() {
                    break;
                }
            }
            _ = pings.tick() => {
                if !std::mem::take(&mut is_there) || socket.send(Message::Ping(Bytes::new())).await.is_err() {
                    break;
                }
            }
            () = &mut end => break,
            () = async { drop(stopping.wait_for(|is_stopping| *is_stopping).await) } => break,
        }
    }
    // The threads end when they lose their queues.
}

/// Queues a message once there is room; returns whether the server still runs.
async fn queued(to_server: &Sender<lsp_server::Message>, mut message: lsp_server::Message) -> bool {
    loop {
        match to_server.try_send(message) {
            Ok(()) => return true,
            Err(TrySendError::Disconnected(_)) => return false,
            Err(TrySendError::Full(back)) => message = back,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Starts the server and the thread that passes on what it says.
fn start(
    workbench: Arc<dyn Workbench + Send + Sync>,
) -> std::io::Result<(Sender<lsp_server::Message>, mpsc::Receiver<String>)> {
    let (to_server, receiver) = bounded(QUEUE);
    let (sender, said): (_, Receiver<lsp_server::Message>) = bounded(QUEUE);
    let (to_socket, from_server) = mpsc::channel(QUEUE);
    thread::Builder::new().name("studio-lsp".to_owned()).spawn(move || {
        let connection = Connection { sender, receiver };
        let settings = Settings { workbench: &*workbench, pages: None };
        if let Err(error) = lsp::serve(&connection, settings) {
            tracing::debug!(%error, "a session of the language server ended");
        }
    })?;
    thread::Builder::new().name("studio-lsp-out".to_owned()).spawn(move || {
        for message in said {
            let Ok(text) = serde_json::to_string(&message) else { continue };
            if to_socket.blocking_send(text).is_err() {
                break;
            }
        }
    })?;
    Ok((to_server, from_server))
}
