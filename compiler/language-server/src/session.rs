//! An initialized connection: the client's capabilities, the open documents, and the function of each request.

use crate::{document::Document, features, position::Encoding, refusal::Refusal};
use hammock_diagnostics::Span;
use lsp_server::{ErrorCode, Notification};
use lsp_types::{
    ClientCapabilities, CompletionResponse, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, GotoDefinitionResponse, InitializeParams, InitializeResult, LogMessageParams,
    MessageType, PublishDiagnosticsParams, ServerInfo, TextDocumentIdentifier, TextDocumentPositionParams, Uri,
    notification::{
        DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, LogMessage, Notification as _,
        PublishDiagnostics,
    },
    request as methods,
};
use serde_json::Value;

/// State of an initialized connection.
pub struct Session {
    /// In the order in which they were opened.
    documents: Vec<Document>,
    encoding: Encoding,
    /// True if the client shows positions related to a diagnostic.
    shows_related: bool,
}

impl Session {
    /// Starts a session by the parameters of `initialize`.
    pub fn initialize(params: Value) -> Result<(Session, Value), Refusal> {
        let params: InitializeParams = read(params)?;
        let ClientCapabilities { general, text_document, .. } = params.capabilities;
        let encoding = Encoding::choose(general.and_then(|general| general.position_encodings).as_deref());
        let published = text_document.and_then(|capabilities| capabilities.publish_diagnostics);
        let shows_related = published.and_then(|published| published.related_information).unwrap_or(false);
        let result = InitializeResult {
            capabilities: features::capabilities(encoding),
            server_info: Some(ServerInfo {
                name: "hammock".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        };
        let session = Session { documents: Vec::new(), encoding, shows_related };
        Ok((session, serde_json::to_value(result).map_err(internal)?))
    }

    /// The result of a request.
    pub fn answer(&self, method: &str, params: Value) -> Result<Value, Refusal> {
        use lsp_types::request::Request as _;
        match method {
            methods::CodeActionRequest::METHOD => answer::<methods::CodeActionRequest>(params, |p| {
                Ok(Some(features::code_actions(self.document(&p.text_document)?, &p)))
            }),
            methods::Formatting::METHOD => answer::<methods::Formatting>(params, |p| {
                features::formatting(self.document(&p.text_document)?).map(Some)
            }),
            methods::DocumentSymbolRequest::METHOD => answer::<methods::DocumentSymbolRequest>(params, |p| {
                Ok(Some(features::outline(self.document(&p.text_document)?)))
            }),
            methods::HoverRequest::METHOD => answer::<methods::HoverRequest>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position_params)?;
                Ok(features::hover(document, offset))
            }),
            methods::GotoDefinition::METHOD => answer::<methods::GotoDefinition>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position_params)?;
                Ok(Some(GotoDefinitionResponse::Array(features::definitions(document, offset))))
            }),
            methods::References::METHOD => answer::<methods::References>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position)?;
                Ok(Some(features::references(document, offset, p.context.include_declaration)))
            }),
            methods::DocumentHighlightRequest::METHOD => answer::<methods::DocumentHighlightRequest>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position_params)?;
                Ok(Some(features::highlights(document, offset)))
            }),
            methods::PrepareRenameRequest::METHOD => answer::<methods::PrepareRenameRequest>(params, |p| {
                let (document, offset) = self.at(&p)?;
                features::prepare_rename(document, offset).map(Some)
            }),
            methods::Rename::METHOD => answer::<methods::Rename>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position)?;
                features::rename(document, offset, &p.new_name).map(Some)
            }),
            methods::Completion::METHOD => answer::<methods::Completion>(params, |p| {
                let (document, offset) = self.at(&p.text_document_position)?;
                Ok(Some(CompletionResponse::Array(features::completion(document, offset))))
            }),
            methods::ResolveCompletionItem::METHOD => {
                answer::<methods::ResolveCompletionItem>(params, |item| Ok(features::resolve_completion(item)))
            }
            methods::SemanticTokensFullRequest::METHOD => answer::<methods::SemanticTokensFullRequest>(params, |p| {
                let document = self.document(&p.text_document)?;
                let all = Span::new(0, document.text().len() as u32);
                Ok(Some(features::semantic_tokens(document, all).into()))
            }),
            methods::SemanticTokensRangeRequest::METHOD => answer::<methods::SemanticTokensRangeRequest>(params, |p| {
                let document = self.document(&p.text_document)?;
                let [start, end] = [p.range.start, p.range.end].map(|at| document.offset(at));
                let outside = || Refusal::params("the range is outside the text".to_owned());
                let span = Span::new(start.ok_or_else(outside)?, end.ok_or_else(outside)?);
                Ok(Some(features::semantic_tokens(document, span).into()))
            }),
            _ => Err(Refusal::new(ErrorCode::MethodNotFound, format!("there is no method `{method}`"))),
        }
    }

    /// Handles a notification; returns those to send. Unknown ones are ignored, as the protocol demands.
    pub fn notify(&mut self, method: &str, params: Value) -> Vec<Notification> {
        let result = match method {
            DidOpenTextDocument::METHOD => read(params).and_then(|params| self.open(params)),
            DidChangeTextDocument::METHOD => read(params).and_then(|params| self.change(params)),
            DidCloseTextDocument::METHOD => read(params).and_then(|params| self.close(&params)),
            _ => Ok(Vec::new()),
        };
        result.unwrap_or_else(|refusal| vec![log(format!("{method}: {}", refusal.message()))])
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) -> Result<Vec<Notification>, Refusal> {
        let opened = params.text_document;
        let again = self.position_of(&opened.uri);
        let document = Document::new(opened.uri, opened.version, opened.text, self.encoding);
        match again {
            Some(at) => {
                let said = log(format!("{} was open already; its text is replaced", document.uri.as_str()));
                self.documents[at] = document;
                Ok(vec![said])
            }
            None => {
                self.documents.push(document);
                Ok(Vec::new())
            }
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) -> Result<Vec<Notification>, Refusal> {
        let changed = params.text_document;
        let at = self.position_of(&changed.uri).ok_or_else(|| not_open(&changed.uri))?;
        let document = &mut self.documents[at];
        if changed.version <= document.version {
            return Err(Refusal::params(format!(
                "version {} of {} is not after version {}; the edit is ignored",
                changed.version,
                changed.uri.as_str(),
                document.version
            )));
        }
        let applied = document.apply(changed.version, params.content_changes);
        applied.map(|()| Vec::new()).map_err(Refusal::params)
    }

    fn close(&mut self, params: &DidCloseTextDocumentParams) -> Result<Vec<Notification>, Refusal> {
        let uri = &params.text_document.uri;
        let at = self.position_of(uri).ok_or_else(|| not_open(uri))?;
        self.documents.remove(at);
        let nothing = PublishDiagnosticsParams { uri: uri.clone(), diagnostics: Vec::new(), version: None };
        Ok(vec![Notification::new(PublishDiagnostics::METHOD.to_owned(), nothing)])
    }

    /// Returns true if diagnostics wait to be published.
    pub fn has_changes(&self) -> bool {
        self.documents.iter().any(|document| document.is_changed)
    }

    /// The diagnostics of a document that changed.
    pub fn publish(&mut self) -> Option<Notification> {
        let document = self.documents.iter_mut().find(|document| document.is_changed)?;
        document.is_changed = false;
        let params = PublishDiagnosticsParams {
            uri: document.uri.clone(),
            diagnostics: features::diagnostics(document, self.shows_related),
            version: Some(document.version),
        };
        Some(Notification::new(PublishDiagnostics::METHOD.to_owned(), params))
    }

    fn position_of(&self, uri: &Uri) -> Option<usize> {
        self.documents.iter().position(|document| document.uri == *uri)
    }

    /// An open document whose text is known.
    fn document(&self, identifier: &TextDocumentIdentifier) -> Result<&Document, Refusal> {
        let uri = &identifier.uri;
        let document = &self.documents[self.position_of(uri).ok_or_else(|| not_open(uri))?];
        match document.desynchronized() {
            None => Ok(document),
            Some(why) => Err(Refusal::failed(format!(
                "the text of {} is unknown, because {why}; close the document and open it again",
                uri.as_str()
            ))),
        }
    }

    /// A position in an open document.
    fn at(&self, params: &TextDocumentPositionParams) -> Result<(&Document, u32), Refusal> {
        let document = self.document(&params.text_document)?;
        let line = params.position.line;
        let outside = || Refusal::params(format!("line {line} is outside the text of {} lines", document.line_count()));
        Ok((document, document.offset(params.position).ok_or_else(outside)?))
    }
}

/// Calls the function of a request with its parameters.
fn answer<R: methods::Request>(
    params: Value,
    f: impl FnOnce(R::Params) -> Result<R::Result, Refusal>,
) -> Result<Value, Refusal> {
    serde_json::to_value(f(read(params)?)?).map_err(internal)
}

fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal::params(format!("invalid parameters: {error}")))
}

fn internal(error: serde_json::Error) -> Refusal {
    Refusal::new(ErrorCode::InternalError, error.to_string())
}

fn not_open(uri: &Uri) -> Refusal {
    Refusal::params(format!("{} is not open", uri.as_str()))
}

/// A line in the editor's log of the server.
fn log(message: String) -> Notification {
    Notification::new(LogMessage::METHOD.to_owned(), LogMessageParams { typ: MessageType::WARNING, message })
}
