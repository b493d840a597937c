//! `/studio/lsp`: the language server of `portcullis lsp`, over a WebSocket.
//!
//! Each message is the text of one message of the protocol. The server runs on a thread of its own, and
//! another one passes on what it says. A browser that sends faster than the server answers has to wait: only
//! a few messages are queued in each direction. The server sees what the browser sends and nothing else.

use super::editors::{EditorSeat, NoSeat};
use super::{NO_SESSION, StudioState};
use crate::http::error::ApiError;
use crate::lsp::{self, Settings, Workbench};
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use lsp_server::Connection;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// The largest message: a policy of the largest size, escaped.
const MOST_BYTES: usize = 4 << 20;

/// How many messages wait in each direction.
const QUEUE: usize = 16;

/// How long a full queue is left alone.
const PAUSE: Duration = Duration::from_millis(5);

/// How often the browser is asked whether it is still there, and how long it may take to read a message.
const PING: Duration = Duration::from_secs(20);

/// How long a refused editor may take to disconnect.
const LEAVING: Duration = Duration::from_secs(2);

/// Connects an editor
pub(super) async fn connect(
    State(state): State<StudioState>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let key = state.studio.sessions.key(&headers).ok_or(ApiError::Unauthorized(NO_SESSION))?;
    super::opens(&key, &state.app).await?;
    let upgrade = upgrade.map_err(|error| ApiError::BadRequest(error.to_string()))?;
    let upgrade = upgrade.max_message_size(MOST_BYTES).max_frame_size(MOST_BYTES);
    Ok(match state.studio.editors.take(&key) {
        Ok(seat) => upgrade.on_upgrade(move |socket| serve(socket, state, headers, seat)).into_response(),
        Err(refused) => upgrade.on_upgrade(move |socket| refuse(socket, refused)).into_response(),
    })
}

/// Tells the page why it gets no editor. A browser hides the answer to a refused WebSocket request from the
/// page, so the socket is opened, and closed with the reason.
async fn refuse(mut socket: WebSocket, refused: NoSeat) {
    let reason = CloseFrame { code: close_code::AGAIN, reason: refused.to_string().into() };
    if is_sent(&mut socket, Message::Close(Some(reason))).await {
        // Read what the browser has sent meanwhile: unread bytes would reset the connection before the reason
        // arrives.
        let leaving = async { while let Some(Ok(_)) = socket.recv().await {} };
        drop(timeout(LEAVING, leaving).await);
    }
}

/// Serves an editor until it disconnects, its session has ended, or the service stops.
async fn serve(mut socket: WebSocket, state: StudioState, headers: HeaderMap, _seat: EditorSeat) {
    let (to_server, mut from_server) = match start(Arc::clone(&state.studio.workbench)) {
        Ok(started) => started,
        Err(error) => return tracing::warn!(%error, "cannot start a language server for the studio"),
    };
    let mut stopping = state.studio.stopping.subscribe();
    let mut pings = tokio::time::interval(PING);
    // Whether it has answered since the last ping.
    let mut is_there = true;
    // A message for which the server's queue has no room yet. The answers are passed on meanwhile: the server
    // itself may be waiting for that.
    let mut waiting: Option<lsp_server::Message> = None;
    loop {
        if let Some(message) = waiting.take() {
            match to_server.try_send(message) {
                Ok(()) => {}
                Err(TrySendError::Full(message)) => waiting = Some(message),
                Err(TrySendError::Disconnected(_)) => break,
            }
        }
        tokio::select! {
            received = socket.recv(), if waiting.is_none() => match received {
                Some(Ok(Message::Text(text))) => {
                    is_there = true;
                    match serde_json::from_str::<lsp_server::Message>(&text) {
                        Ok(message) => waiting = Some(message),
                        Err(error) => tracing::debug!(%error, "an editor sent what is not a message"),
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => is_there = true,
                Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => break,
            },
            () = sleep(PAUSE), if waiting.is_some() => {}
            said = from_server.recv() => {
                let Some(said) = said else { break };
                if !is_sent(&mut socket, Message::Text(said.into())).await {
                    break;
                }
            }
            _ = pings.tick() => {
                let has_session = has_session(&state, &headers).await;
                // While a message waits, this loop does not read the browser's answers to pings.
                if !has_session || waiting.is_none() && !std::mem::take(&mut is_there) {
                    break;
                }
                if !is_sent(&mut socket, Message::Ping(Bytes::new())).await {
                    break;
                }
            }
            () = async { drop(stopping.wait_for(|is_stopping| *is_stopping).await) } => break,
        }
    }
    // The threads end when they lose their queues.
}

/// Whether the session of an editor is open, and its key still valid.
async fn has_session(state: &StudioState, headers: &HeaderMap) -> bool {
    match state.studio.sessions.key(headers) {
        Some(key) => super::opens(&key, &state.app).await.is_ok(),
        None => false,
    }
}

/// Sends a message; returns whether the browser took it in time.
async fn is_sent(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(PING, socket.send(message)).await, Ok(Ok(())))
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
