//! Answers requests from the latest text of their document.

use super::bindings::BindingsDocument;
use super::commands::{self, CommandOutcome};
use super::document::OpenDocument;
use super::server::EditorSession;
use super::{bindings, completion, findings, hover, lenses, outline, places, position, rename};
use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, ExtractError, Request, Response};
use portcullis_compiler::syntax::format;
use std::collections::HashMap;

impl EditorSession<'_> {
    pub(super) fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        let answered = match request.method.as_str() {
            "textDocument/formatting" => reply::<lsp::DocumentFormattingRequest>(request, |params| {
                let uri = &params.text_document.uri;
                Ok(match self.bindings.get(uri) {
                    Some(bindings) => bindings.formatted(),
                    None => formatted(self.documents.get(uri)),
                })
            }),
            "textDocument/documentSymbol" => reply::<lsp::DocumentSymbolRequest>(request, |params| {
                let document = self.documents.get(&params.text_document.uri);
                Ok(document.map(|document| outline::symbols(document).into()))
            }),
            "textDocument/foldingRange" => reply::<lsp::FoldingRangeRequest>(request, |params| {
                Ok(self.documents.get(&params.text_document.uri).map(outline::folds))
            }),
            "textDocument/codeLens" => reply::<lsp::CodeLensRequest>(request, |params| {
                let uri = params.text_document.uri;
                Ok(self.documents.get(&uri).map(|document| lenses::lenses(&uri, document)))
            }),
            "textDocument/diagnostic" => reply::<lsp::DocumentDiagnosticRequest>(request, |params| {
                Ok(self.diagnostics(&params.text_document.uri))
            }),
            "textDocument/codeAction" => {
                reply::<lsp::CodeActionRequest>(request, |params| Ok(self.fixes(&params)))
            }
            "textDocument/hover" => reply::<lsp::HoverRequest>(request, |params| {
                let (document, at) = self.at(&params.text_document_position_params);
                Ok(document.and_then(|document| hover::hover(document, at)))
            }),
            "textDocument/completion" => reply::<lsp::CompletionRequest>(request, |params| {
                let (document, at) = self.at(&params.text_document_position_params);
                let uri = &params.text_document_position_params.text_document.uri;
                if let Some(bindings) = self.bindings.get(uri) {
                    let policies = self.documents.values().filter_map(OpenDocument::sound_program);
                    let schema = || self.settings.workbench.schema();
                    return Ok(Some(bindings::items(bindings, at, policies, schema)?.into()));
                }
                Ok(document.map(|document| completion::items(document, at).into()))
            }),
            "textDocument/definition" => reply::<lsp::DefinitionRequest>(request, |params| {
                let (document, at) = self.at(&params.text_document_position_params);
                let uri = &params.text_document_position_params.text_document.uri;
                let found = document.map(|document| locations(uri, places::definitions(document, at)));
                Ok(found.map(|found| lsp::Definition::LocationList(found).into()))
            }),
            "textDocument/references" => reply::<lsp::ReferencesRequest>(request, |params| {
                let (document, at) = self.at(&params.text_document_position_params);
                let uri = &params.text_document_position_params.text_document.uri;
                let with_definitions = params.context.include_declaration;
                let found = document.map(|document| places::references(document, at, with_definitions));
                Ok(found.map(|found| locations(uri, found)))
            }),
            "textDocument/prepareRename" => reply::<lsp::PrepareRenameRequest>(request, |params| {
                let (document, at) = self.at(&params.text_document_position_params);
                let Some(document) = document else { return Ok(None) };
                let (range, placeholder) = rename::prepare(document, at)?;
                Ok(Some(lsp::PrepareRenamePlaceholder::new(range, placeholder).into()))
            }),
            "textDocument/rename" => reply::<lsp::RenameRequest>(request, |params| self.renamed(params)),
            "workspace/executeCommand" => reply::<lsp::ExecuteCommandRequest>(request, |params| {
                let arguments = params.arguments.unwrap_or_default();
                let workbench = self.settings.workbench;
                let outcome = commands::execute(workbench, &self.documents, &params.command, &arguments);
                let CommandOutcome { kind, message, result } = outcome?;
                self.show(kind, message);
                Ok(Some(result))
            }),
            other => {
                let message = format!("`{other}` is not supported");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        answered
            .unwrap_or_else(|error| Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()))
    }

    /// The document of a position, if it is open.
    fn at(&self, params: &lsp::TextDocumentPositionParams) -> (Option<&OpenDocument>, lsp::Position) {
        (self.documents.get(&params.text_document.uri), params.position)
    }

    /// The diagnostics of a document; none if it is not open.
    fn diagnostics(&self, uri: &lsp::Uri) -> lsp::DocumentDiagnosticReport {
        let of_policy = |document| findings::diagnostics(self.addresses(uri), document);
        let of_bindings = || self.bindings.get(uri).map(BindingsDocument::diagnostics);
        let found = self.documents.get(uri).map(of_policy).or_else(of_bindings);
        let report =
            lsp::FullDocumentDiagnosticReport { items: found.unwrap_or_default(), ..Default::default() };
        lsp::RelatedFullDocumentDiagnosticReport::new(None, report).into()
    }

    fn fixes(&self, params: &lsp::CodeActionParams) -> <lsp::CodeActionRequest as lsp::Request>::Result {
        let only = params.context.only.as_deref();
        if only.is_some_and(|only| !only.contains(&lsp::CodeActionKind::QuickFix)) {
            return Some(Vec::new());
        }
        let uri = &params.text_document.uri;
        let fixes = findings::fixes(self.addresses(uri), self.documents.get(uri)?, &params.range);
        Some(fixes.into_iter().map(Into::into).collect())
    }

    /// The edits of a renaming, or why there are none.
    fn renamed(&self, params: lsp::RenameParams) -> Result<Option<lsp::WorkspaceEdit>, String> {
        let (document, at) = self.at(&params.text_document_position_params);
        let Some(document) = document else { return Ok(None) };
        let edits = rename::rename(document, at, &params.new_name)?;
        let uri = params.text_document_position_params.text_document.uri;
        Ok(Some(lsp::WorkspaceEdit { changes: Some(HashMap::from([(uri, edits)])), ..Default::default() }))
    }
}

/// Answers a request; an error is shown to the user.
fn reply<R: lsp::Request>(
    request: Request,
    answer: impl FnOnce(R::Params) -> Result<R::Result, String>,
) -> Result<Response, ExtractError<Request>> {
    let method = request.method.clone();
    let (id, params) = request.extract::<R::Params>(&method)?;
    Ok(match answer(params) {
        Ok(result) => Response::new_ok(id, result),
        Err(reason) => Response::new_err(id, ErrorCode::RequestFailed as i32, reason),
    })
}

/// The edit that formats a document; `None` if it cannot be read, or is not open.
fn formatted(document: Option<&OpenDocument>) -> Option<Vec<lsp::TextEdit>> {
    let document = document?;
    let text = format(&document.source).ok()?;
    if text == document.source.text() {
        return Some(Vec::new());
    }
    Some(vec![lsp::TextEdit::new(position::whole(&document.source), text)])
}

fn locations(uri: &lsp::Uri, ranges: Vec<lsp::Range>) -> Vec<lsp::Location> {
    ranges.into_iter().map(|range| lsp::Location::new(uri.clone(), range)).collect()
}
