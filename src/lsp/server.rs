//! Reads messages and answers them.

use super::document::Document;
use super::{completion, findings, hover, outline, places, position};
use gen_lsp_types as lsp;
use gen_lsp_types::Notification as _;
use lsp_server::{
    Connection, ErrorCode, ExtractError, Message, Notification, ProtocolError, Request, Response,
};
use portcullis_compiler::syntax::format;
use std::collections::HashMap;

/// Why the server ended before the editor ended it.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The editor violated the protocol or closed the connection.
    #[error("the session failed: {0}")]
    Protocol(#[from] ProtocolError),
    /// The session ended without the request that ends it.
    #[error("the editor ended the session without `shutdown`")]
    Ended,
    /// A message of the server cannot be written.
    #[error("a message cannot be written: {0}")]
    Message(#[from] serde_json::Error),
}

/// Serves an editor until it shuts the session down.
///
/// # Errors
/// [`ServerError`] if the session ends in any other way.
pub fn serve(connection: &Connection) -> Result<(), ServerError> {
    let (id, _) = connection.initialize_start()?;
    let server_info = lsp::ServerInfo {
        name: "portcullis".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    };
    let result = lsp::InitializeResult::new(capabilities(), Some(server_info));
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    let mut session = EditorSession { connection, documents: HashMap::new() };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request)? {
                    return Ok(());
                }
                let response = session.answer(request);
                session.send(response.into());
            }
            Message::Notification(notification) if notification.method == "exit" => break,
            Message::Notification(notification) => {
                if let Err(error) = session.notice(notification) {
                    session.log(&error)?;
                }
            }
            // The server sends no requests.
            Message::Response(_) => {}
        }
    }
    Err(ServerError::Ended)
}

fn capabilities() -> lsp::ServerCapabilities {
    let fixes = lsp::CodeActionOptions {
        code_action_kinds: Some(vec![lsp::CodeActionKind::QuickFix]),
        ..Default::default()
    };
    let completion = lsp::CompletionOptions {
        trigger_characters: Some(vec!["\"".to_owned(), ":".to_owned()]),
        ..Default::default()
    };
    lsp::ServerCapabilities {
        text_document_sync: Some(lsp::TextDocumentSyncKind::Full.into()),
        document_formatting_provider: Some(true.into()),
        document_symbol_provider: Some(true.into()),
        folding_range_provider: Some(true.into()),
        hover_provider: Some(true.into()),
        completion_provider: Some(completion),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        code_action_provider: Some(fixes.into()),
        ..Default::default()
    }
}

/// A session.
struct EditorSession<'c> {
    connection: &'c Connection,
    documents: HashMap<lsp::Uri, Document>,
}

impl EditorSession<'_> {
    /// Sends a message. If the editor has gone, the loop ends when it next reads.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Reports a message that cannot be read, in the editor's log.
    fn log(&self, error: &serde_json::Error) -> Result<(), ServerError> {
        let message = format!("cannot read a message: {error}");
        let params = lsp::LogMessageParams::new(lsp::MessageType::Error, message);
        let method = lsp::LogMessageNotification::METHOD.to_string();
        self.send(Notification { method, params: serde_json::to_value(params)? }.into());
        Ok(())
    }

    fn notice(&mut self, notification: Notification) -> Result<(), serde_json::Error> {
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                let params: lsp::DidOpenTextDocumentParams = serde_json::from_value(notification.params)?;
                let lsp::TextDocumentItem { uri, version, text, .. } = params.text_document;
                self.replace(uri, version, text)
            }
            "textDocument/didChange" => {
                let params: lsp::DidChangeTextDocumentParams = serde_json::from_value(notification.params)?;
                let lsp::VersionedTextDocumentIdentifier { version, text_document_identifier } =
                    params.text_document;
                // Each change is the whole text, as the server asked.
                let text = params.content_changes.into_iter().rev().find_map(|change| match change {
                    lsp::TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                        Some(whole.text)
                    }
                    lsp::TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) => None,
                });
                text.map_or(Ok(()), |text| self.replace(text_document_identifier.uri, version, text))
            }
            "textDocument/didClose" => {
                let params: lsp::DidCloseTextDocumentParams = serde_json::from_value(notification.params)?;
                let uri = params.text_document.uri;
                self.documents.remove(&uri);
                self.publish(uri, None, Vec::new())
            }
            // Other notifications need no action.
            _ => Ok(()),
        }
    }

    /// Stores the new text of a document and publishes its diagnostics.
    fn replace(&mut self, uri: lsp::Uri, version: i32, text: String) -> Result<(), serde_json::Error> {
        let document = Document::of(&uri.0, text);
        let diagnostics = findings::diagnostics(&uri, &document);
        self.documents.insert(uri.clone(), document);
        self.publish(uri, Some(version), diagnostics)
    }

    fn publish(
        &self,
        uri: lsp::Uri,
        version: Option<i32>,
        diagnostics: Vec<lsp::Diagnostic>,
    ) -> Result<(), serde_json::Error> {
        let params = serde_json::to_value(lsp::PublishDiagnosticsParams::new(uri, version, diagnostics))?;
        let method = lsp::PublishDiagnosticsNotification::METHOD.to_string();
        self.send(Notification { method, params }.into());
        Ok(())
    }

    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        let answered = match request.method.as_str() {
            "textDocument/formatting" => reply::<lsp::DocumentFormattingRequest>(request, |params| {
                let document = self.documents.get(&params.text_document.uri)?;
                let text = format(&document.source).ok()?;
                let edit = lsp::TextEdit::new(position::whole(&document.source), text);
                Some(if edit.new_text == document.source.text() { Vec::new() } else { vec![edit] })
            }),
            "textDocument/documentSymbol" => reply::<lsp::DocumentSymbolRequest>(request, |params| {
                Some(outline::symbols(self.documents.get(&params.text_document.uri)?).into())
            }),
            "textDocument/foldingRange" => reply::<lsp::FoldingRangeRequest>(request, |params| {
                Some(outline::folds(self.documents.get(&params.text_document.uri)?))
            }),
            "textDocument/codeAction" => reply::<lsp::CodeActionRequest>(request, |params| {
                let only = params.context.only.as_deref();
                if only.is_some_and(|only| !only.contains(&lsp::CodeActionKind::QuickFix)) {
                    return Some(Vec::new());
                }
                let uri = params.text_document.uri;
                let fixes = findings::fixes(&uri, self.documents.get(&uri)?, &params.range);
                Some(fixes.into_iter().map(Into::into).collect())
            }),
            "textDocument/hover" => reply::<lsp::HoverRequest>(request, |params| {
                let at = params.text_document_position_params;
                hover::hover(self.documents.get(&at.text_document.uri)?, at.position)
            }),
            "textDocument/completion" => reply::<lsp::CompletionRequest>(request, |params| {
                let at = params.text_document_position_params;
                let document = self.documents.get(&at.text_document.uri)?;
                Some(completion::items(document, at.position).into())
            }),
            "textDocument/definition" => reply::<lsp::DefinitionRequest>(request, |params| {
                let at = params.text_document_position_params;
                let uri = at.text_document.uri;
                let ranges = places::definitions(self.documents.get(&uri)?, at.position);
                Some(lsp::Definition::LocationList(locations(&uri, ranges)).into())
            }),
            "textDocument/references" => reply::<lsp::ReferencesRequest>(request, |params| {
                let at = params.text_document_position_params;
                let uri = at.text_document.uri;
                let with_definitions = params.context.include_declaration;
                let ranges = places::references(self.documents.get(&uri)?, at.position, with_definitions);
                Some(locations(&uri, ranges))
            }),
            other => {
                let message = format!("`{other}` is not supported");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        answered
            .unwrap_or_else(|error| Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()))
    }
}

/// Answers a request; `null` if its document is not open.
fn reply<R: lsp::Request>(
    request: Request,
    answer: impl FnOnce(R::Params) -> R::Result,
) -> Result<Response, ExtractError<Request>> {
    let method = request.method.clone();
    let (id, params) = request.extract::<R::Params>(&method)?;
    Ok(Response::new_ok(id, answer(params)))
}

fn locations(uri: &lsp::Uri, ranges: Vec<lsp::Range>) -> Vec<lsp::Location> {
    ranges.into_iter().map(|range| lsp::Location::new(uri.clone(), range)).collect()
}
