//! Errors as responses.

use lsp_server::{ErrorCode, ResponseError};

/// Reason why a request is not answered with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One of the protocol's codes.
    code: i32,
    /// Message for the user or the developer of the editor.
    message: String,
}

impl Refusal {
    /// A refusal with one of the protocol's codes.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Refusal { code: code as i32, message: message.into() }
    }

    /// The parameters are invalid.
    pub fn params(message: impl Into<String>) -> Self {
        Refusal::new(ErrorCode::InvalidParams, message)
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The request is valid, but cannot be fulfilled.
    pub fn failed(message: impl Into<String>) -> Self {
        Refusal::new(ErrorCode::RequestFailed, message)
    }
}

impl From<Refusal> for ResponseError {
    fn from(refusal: Refusal) -> Self {
        ResponseError { code: refusal.code, message: refusal.message, data: None }
    }
}
