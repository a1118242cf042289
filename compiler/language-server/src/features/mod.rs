//! What the server offers, one file for each feature.

mod code_actions;
mod completion;
mod diagnostics;
mod formatting;
mod hover;
mod navigation;
mod outline;
mod rename;
mod semantic_tokens;

pub use code_actions::code_actions;
pub use completion::{completion, resolve_completion};
pub use diagnostics::diagnostics;
pub use formatting::formatting;
pub use hover::hover;
pub use navigation::{definitions, highlights, references};
pub use outline::outline;
pub use rename::{prepare as prepare_rename, rename};
pub use semantic_tokens::semantic_tokens;

use crate::position::Encoding;
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, HoverProviderCapability, OneOf,
    RenameOptions, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
};

/// The features, for the client.
pub fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        ..Default::default()
    };
    let fixes = CodeActionOptions { code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]), ..Default::default() };
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        code_action_provider: Some(CodeActionProviderCapability::Options(fixes)),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", "\"", "'", "(", ","].map(str::to_owned).to_vec()),
            resolve_provider: Some(true),
            ..Default::default()
        }),
        semantic_tokens_provider: Some(semantic_tokens::options().into()),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests;
