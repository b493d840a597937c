//! Reads messages, keeps the open documents and publishes their diagnostics.

use super::bindings::BindingsDocument;
use super::commands::{RUN_TEST, SHOW_SQL, Workbench};
use super::document::OpenDocument;
use super::findings::{self, Addresses};
use gen_lsp_types as lsp;
use gen_lsp_types::Notification as _;
use lsp_server::{Connection, Message, Notification, ProtocolError};
use serde_json::Value;
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

/// What a session needs from the rest of the program.
#[derive(Clone, Copy)]
pub struct Settings<'s> {
    /// Executes commands.
    pub workbench: &'s dyn Workbench,
    /// The address of the folder with the pages of diagnostic codes, if there is one.
    pub pages: Option<&'s str>,
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("pages", &self.pages).finish_non_exhaustive()
    }
}

/// Serves an editor until it shuts the session down.
///
/// # Errors
/// [`ServerError`] if the session ends in any other way.
pub fn serve(connection: &Connection, settings: Settings<'_>) -> Result<(), ServerError> {
    let (id, params) = connection.initialize_start()?;
    let server_info = lsp::ServerInfo {
        name: "portcullis".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    };
    let result = lsp::InitializeResult::new(capabilities(), Some(server_info));
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    // An editor that pulls diagnostics would show pushed ones a second time.
    let diagnostics = match params.pointer("/capabilities/textDocument/diagnostic") {
        None | Some(Value::Null) => Diagnostics::Pushed,
        Some(_) => Diagnostics::Pulled,
    };
    let mut session = EditorSession {
        connection,
        settings,
        diagnostics,
        documents: HashMap::new(),
        bindings: HashMap::new(),
    };
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
        trigger_characters: Some(vec!["\"".to_owned(), ":".to_owned(), ".".to_owned()]),
        ..Default::default()
    };
    let renaming = lsp::RenameOptions { prepare_provider: Some(true), ..Default::default() };
    let commands = lsp::ExecuteCommandOptions {
        commands: vec![RUN_TEST.to_owned(), SHOW_SQL.to_owned()],
        ..Default::default()
    };
    let synchronised = lsp::TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(lsp::TextDocumentSyncKind::Full),
        save: Some(true.into()),
        ..Default::default()
    };
    lsp::ServerCapabilities {
        text_document_sync: Some(synchronised.into()),
        document_formatting_provider: Some(true.into()),
        document_symbol_provider: Some(true.into()),
        folding_range_provider: Some(true.into()),
        hover_provider: Some(true.into()),
        completion_provider: Some(completion),
        rename_provider: Some(renaming.into()),
        code_lens_provider: Some(lsp::CodeLensOptions::default()),
        execute_command_provider: Some(commands),
        diagnostic_provider: Some(lsp::DiagnosticOptions::default().into()),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        code_action_provider: Some(fixes.into()),
        ..Default::default()
    }
}

/// How an editor gets the diagnostics of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Diagnostics {
    /// The server sends them after each change.
    Pushed,
    /// The editor asks for them.
    Pulled,
}

/// A session.
pub(super) struct EditorSession<'c> {
    connection: &'c Connection,
    pub(super) settings: Settings<'c>,
    diagnostics: Diagnostics,
    pub(super) documents: HashMap<lsp::Uri, OpenDocument>,
    pub(super) bindings: HashMap<lsp::Uri, BindingsDocument>,
}

impl EditorSession<'_> {
    /// Sends a message. If the editor has gone, the loop ends when it next reads.
    fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Shows a message to the user.
    pub(super) fn show(&self, kind: lsp::MessageType, message: String) {
        let params = lsp::ShowMessageParams::new(kind, message);
        let method = lsp::ShowMessageNotification::METHOD.to_string();
        // Such parameters can always be written.
        if let Ok(params) = serde_json::to_value(params) {
            self.send(Notification { method, params }.into());
        }
    }

    /// Where a document and the pages of codes are.
    pub(super) fn addresses<'a>(&'a self, uri: &'a lsp::Uri) -> Addresses<'a> {
        Addresses { uri, pages: self.settings.pages }
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
                let replaced = self.replace(uri.clone(), version, text);
                self.check_live(&uri);
                replaced
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
            "textDocument/didSave" => {
                let params: lsp::DidSaveTextDocumentParams = serde_json::from_value(notification.params)?;
                self.settings.workbench.refresh_schema();
                self.check_live(&params.text_document.uri);
                Ok(())
            }
            "textDocument/didClose" => {
                let params: lsp::DidCloseTextDocumentParams = serde_json::from_value(notification.params)?;
                let uri = params.text_document.uri;
                self.documents.remove(&uri);
                self.bindings.remove(&uri);
                match self.diagnostics {
                    Diagnostics::Pushed => self.publish(uri, None, Vec::new()),
                    Diagnostics::Pulled => Ok(()),
                }
            }
            // Other notifications need no action.
            _ => Ok(()),
        }
    }

    /// Stores the new text of a document and publishes its diagnostics.
    fn replace(&mut self, uri: lsp::Uri, version: i32, text: String) -> Result<(), serde_json::Error> {
        let found = if BindingsDocument::is_at(&uri.0) {
            let document = BindingsDocument::of(&uri.0, version, text);
            let found = document.diagnostics();
            self.bindings.insert(uri.clone(), document);
            found
        } else {
            let document = OpenDocument::of(&uri.0, text);
            let found = findings::diagnostics(self.addresses(&uri), &document);
            self.documents.insert(uri.clone(), document);
            found
        };
        match self.diagnostics {
            Diagnostics::Pushed => self.publish(uri, Some(version), found),
            Diagnostics::Pulled => Ok(()),
        }
    }

    /// Compares data bindings with the database. Its findings are shown until the text changes.
    fn check_live(&self, uri: &lsp::Uri) {
        let Some(BindingsDocument { source, version, .. }) = self.bindings.get(uri) else { return };
        let (uri, version, text) = (uri.clone(), *version, source.text().to_owned());
        let (sender, checked) = (self.connection.sender.clone(), text.clone());
        let publish = move |found| {
            let found = BindingsDocument::of(&uri.0, version, checked).live(found);
            let params = lsp::PublishDiagnosticsParams::new(uri, Some(version), found);
            let method = lsp::PublishDiagnosticsNotification::METHOD.to_string();
            // If the editor has gone, nobody needs them.
            if let Ok(params) = serde_json::to_value(params) {
                let _ = sender.send(Notification { method, params }.into());
            }
        };
        self.settings.workbench.check_bindings(text, Box::new(publish));
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
}
