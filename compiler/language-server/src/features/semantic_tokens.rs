//! Classes of tokens, for colours: by the lexer, and for names by what they refer to.

use crate::{
    document::{Document, Syntax},
    names::{Occurrence, Role, SymbolKind},
};
use hammock_diagnostics::Span;
use hammock_import::{Namespace, namespace_of};
use hammock_syntax::TokenKind;
use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensFullOptions,
    SemanticTokensLegend, SemanticTokensOptions,
};

/// Classes, by their index in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenClass {
    Namespace,
    Type,
    Module,
    TypeParameter,
    Function,
    Parameter,
    Variable,
    Property,
    Keyword,
    Str,
    Number,
    Comment,
    Operator,
}

const TYPES: [SemanticTokenType; 13] = [
    SemanticTokenType::NAMESPACE,
    SemanticTokenType::TYPE,
    SemanticTokenType::CLASS,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::KEYWORD,
    SemanticTokenType::STRING,
    SemanticTokenType::NUMBER,
    SemanticTokenType::COMMENT,
    SemanticTokenType::OPERATOR,
];

/// Modifiers, by their bit in the legend.
const DECLARATION: u32 = 1;
const DEFAULT_LIBRARY: u32 = 2;
const MODIFIERS: [SemanticTokenModifier; 2] =
    [SemanticTokenModifier::DECLARATION, SemanticTokenModifier::DEFAULT_LIBRARY];

/// The legend, and what can be asked for.
pub fn options() -> SemanticTokensOptions {
    SemanticTokensOptions {
        legend: SemanticTokensLegend { token_types: TYPES.to_vec(), token_modifiers: MODIFIERS.to_vec() },
        range: Some(true),
        full: Some(SemanticTokensFullOptions::Bool(true)),
        ..Default::default()
    }
}

/// The tokens of a document that overlap a span.
pub fn semantic_tokens(document: &Document, span: Span) -> SemanticTokens {
    let mut writer = Writer { document, data: Vec::new(), line: 0, column: 0 };
    let tokens = document.tokens();
    let names = document.syntax().ok();
    let start = tokens.partition_point(|(_, token)| token.end <= span.start);
    let end = tokens.partition_point(|(_, token)| token.start < span.end);
    for (at, (kind, token)) in tokens.iter().copied().enumerate().take(end).skip(start) {
        let class = match kind {
            TokenKind::Keyword => TokenClass::Keyword,
            TokenKind::Number => TokenClass::Number,
            TokenKind::Comment => TokenClass::Comment,
            TokenKind::Operator => TokenClass::Operator,
            TokenKind::Punctuation | TokenKind::Unreadable => continue,
            TokenKind::Str => {
                writer.string(token, names);
                continue;
            }
            TokenKind::Name => {
                if let Some((class, modifiers)) = name(document, names, at) {
                    writer.push(token, class, modifiers);
                }
                continue;
            }
        };
        writer.push(token, class, 0);
    }
    SemanticTokens { result_id: None, data: writer.data }
}

fn class_of(occurrence: &Occurrence, syntax: &Syntax) -> (TokenClass, u32) {
    let class = match &syntax.names().symbol(occurrence.symbol).kind {
        SymbolKind::Import(_) => TokenClass::Namespace,
        SymbolKind::Module(_) => TokenClass::Module,
        SymbolKind::Function => TokenClass::Function,
        SymbolKind::Parameter => TokenClass::Parameter,
        SymbolKind::Variable => TokenClass::Variable,
        SymbolKind::Size => TokenClass::TypeParameter,
    };
    (class, if occurrence.role == Role::Definition { DECLARATION } else { 0 })
}

/// The class of a name.
fn name(document: &Document, syntax: Option<&Syntax>, at: usize) -> Option<(TokenClass, u32)> {
    let tokens = document.tokens();
    let text = |at: usize| tokens.get(at).map_or("", |(_, span)| &document.text()[span.range()]);
    let occurrence = |at: usize| {
        let (span, syntax) = (tokens[at].1, syntax?);
        let found = syntax.names().within(span).first().filter(|found| found.span == span)?;
        Some((found, syntax))
    };
    if let Some((found, syntax)) = occurrence(at) {
        return Some(class_of(found, syntax));
    }
    let mut root = at;
    while root >= 2 && text(root - 1) == "." {
        root -= 2;
    }
    if root == at && text(at + 1) == "=" && matches!(text(at.wrapping_sub(1)), "(" | ",") {
        return Some((TokenClass::Property, 0));
    }
    let mut path = match occurrence(root) {
        None => text(root).to_owned(),
        Some((found, syntax)) => match &syntax.names().symbol(found.symbol).kind {
            SymbolKind::Import(path) => path.clone(),
            _ => return Some((TokenClass::Property, 0)),
        },
    };
    (root + 2..=at).step_by(2).for_each(|at| path += &format!(".{}", text(at)));
    let (namespace, name) = namespace_of(&path)?;
    let class = match (namespace, name.as_str()) {
        (_, "") => TokenClass::Namespace,
        (_, name) if namespace.is_type(name) => TokenClass::Type,
        (Namespace::Relax, name) if hammock_ops::lookup(name).is_some() => TokenClass::Function,
        _ if text(at + 1) == "." => TokenClass::Namespace,
        _ => TokenClass::Function,
    };
    Some((class, DEFAULT_LIBRARY))
}

/// Writes tokens relative to the one before.
struct Writer<'d> {
    document: &'d Document,
    data: Vec<SemanticToken>,
    line: u32,
    column: u32,
}

impl Writer<'_> {
    /// A string, with the sizes in it.
    fn string(&mut self, span: Span, syntax: Option<&Syntax>) {
        let mut start = span.start;
        if let Some(syntax) = syntax {
            for occurrence in syntax.names().within(span) {
                let (class, modifiers) = class_of(occurrence, syntax);
                self.push(Span::new(start, occurrence.span.start), TokenClass::Str, 0);
                self.push(occurrence.span, class, modifiers);
                start = occurrence.span.end;
            }
        }
        self.push(Span::new(start, span.end), TokenClass::Str, 0);
    }

    /// A token; one of several lines becomes one for each.
    fn push(&mut self, span: Span, class: TokenClass, modifiers: u32) {
        let mut start = span.start;
        for line in self.document.text()[span.range()].split_inclusive(['\n', '\r']) {
            let end = start + line.len() as u32;
            let length = self.document.columns(line.trim_end_matches(['\r', '\n']));
            if length > 0 {
                self.write(start, length, class, modifiers);
            }
            start = end;
        }
    }

    fn write(&mut self, start: u32, length: u32, class: TokenClass, token_modifiers_bitset: u32) {
        let position = self.document.position(start);
        let delta_line = position.line - self.line;
        let delta_start = if delta_line == 0 { position.character - self.column } else { position.character };
        (self.line, self.column) = (position.line, position.character);
        self.data.push(SemanticToken {
            delta_line,
            delta_start,
            length,
            token_type: class as u32,
            token_modifiers_bitset,
        });
    }
}
