//! Completion, by the tokens before the cursor, so that it works in unfinished statements.
//!
//! - After a dot: names of the namespace, functions of the module.
//! - At the start of an argument of an operator: its attributes.
//! - In a string: dtypes, or symbolic sizes in a shape.
//! - Elsewhere: the function's variables, and the names of the file.

use super::hover::{name_doc, param_text};
use crate::{
    document::{Document, Syntax},
    names::{Function, Symbol, SymbolKind},
};
use hammock_diagnostics::Span;
use hammock_import::{Namespace, dtype_names, namespace_of};
use hammock_ops::ParamKind;
use hammock_syntax::TokenKind;
use lsp_types::{CompletionItem, CompletionItemKind, Documentation, MarkupContent, MarkupKind};
use rustc_hash::FxHashSet;

/// The possible continuations at an offset.
pub fn completion(document: &Document, offset: u32) -> Vec<CompletionItem> {
    let tokens = document.tokens();
    let before = &tokens[..tokens.partition_point(|(_, span)| span.start < offset)];
    let context = Context { document, offset, before };
    match before.last() {
        Some((TokenKind::Comment, _)) => Vec::new(),
        Some((TokenKind::Str, span)) if offset < span.end => context.string(),
        // A string that is not closed yet.
        Some((TokenKind::Unreadable, span)) if document.text()[span.range()].contains(['"', '\'']) => context.string(),
        Some((TokenKind::Number, span)) if offset <= span.end => Vec::new(),
        Some((TokenKind::Name | TokenKind::Keyword, span)) if offset <= span.end => {
            Context { before: &before[..before.len() - 1], ..context }.name()
        }
        _ => context.name(),
    }
}

/// The cursor and the tokens before it, without the name or string that is completed.
struct Context<'d> {
    document: &'d Document,
    offset: u32,
    before: &'d [(TokenKind, Span)],
}

impl<'d> Context<'d> {
    /// The text of a token before the cursor, counted backwards from 0.
    fn text(&self, back: usize) -> &'d str {
        let at = self.before.len().checked_sub(back + 1);
        at.map_or("", |at| &self.document.text()[self.before[at].1.range()])
    }

    fn syntax(&self) -> Option<&'d Syntax> {
        self.document.syntax().ok()
    }

    fn name(&self) -> Vec<CompletionItem> {
        if self.text(0) == "." {
            return self.members();
        }
        let mut items = if matches!(self.text(0), "(" | ",") { self.arguments() } else { Vec::new() };
        items.extend(self.visible(|_| true));
        items
    }

    /// The absolute dotted name whose last part is the token before the first `back`.
    fn path(&self, mut back: usize) -> Option<String> {
        let mut parts = vec![self.text(back)];
        while self.text(back + 1) == "." {
            back += 2;
            parts.push(self.text(back));
        }
        let root = parts.pop().filter(|root| root.starts_with(|c: char| c.is_alphabetic() || c == '_'))?;
        let mut path = match self.symbol(root).map(|symbol| &symbol.kind) {
            Some(SymbolKind::Import(path)) => path.clone(),
            Some(_) => return None,
            None => root.to_owned(),
        };
        parts.iter().rev().for_each(|part| path += &format!(".{part}"));
        Some(path)
    }

    /// A symbol of the file or of the function around the cursor.
    fn symbol(&self, name: &str) -> Option<&'d Symbol> {
        self.symbols().find(|symbol| *symbol.name == *name)
    }

    fn function(&self) -> Option<&'d Function> {
        self.syntax()?.names().function_at(self.offset)
    }

    fn symbols(&self) -> impl Iterator<Item = &'d Symbol> + use<'d> {
        let names = self.syntax().map(Syntax::names);
        let own = self.function().map(|function| function.span);
        names.into_iter().flat_map(move |names| {
            let is_visible = move |symbol: &&Symbol| match symbol.function {
                Some(function) => own == Some(names.functions[function].span),
                None => !symbol.is_member,
            };
            names.symbols.iter().filter(is_visible)
        })
    }

    /// Names after a dot.
    fn members(&self) -> Vec<CompletionItem> {
        if let Some(Symbol { kind: SymbolKind::Module(class), .. }) = self.symbol(self.text(1))
            && let Some(syntax) = self.syntax()
            && self.text(2) != "."
        {
            let names = syntax.names();
            let functions = names.members[*class].iter().map(|id| &names.symbol(*id).name);
            return functions.map(|name| item(name, CompletionItemKind::FUNCTION)).collect();
        }
        match self.path(1).and_then(|path| namespace_of(&path)) {
            Some((namespace, prefix)) => namespace_items(namespace, &prefix),
            None => Vec::new(),
        }
    }

    /// The position of the innermost open bracket before the cursor, from the end of the tokens.
    fn open_bracket(&self) -> Option<usize> {
        let mut depth = 0;
        (0..self.before.len()).find(|back| match self.text(*back) {
            ")" | "]" | "}" => {
                depth += 1;
                false
            }
            "(" | "[" | "{" if depth == 0 => true,
            "(" | "[" | "{" => {
                depth -= 1;
                false
            }
            _ => false,
        })
    }

    /// Attributes and operands of the operator that is called, without those that are named already.
    fn arguments(&self) -> Vec<CompletionItem> {
        let Some(open) = self.open_bracket().filter(|open| self.text(*open) == "(") else { return Vec::new() };
        let op = match self.path(open + 1).and_then(|path| namespace_of(&path)) {
            Some((Namespace::Relax, name)) => hammock_ops::lookup(&name),
            _ => None,
        };
        let Some(op) = op else { return Vec::new() };
        let named: FxHashSet<&str> =
            (1..open).filter(|back| self.text(back - 1) == "=").map(|back| self.text(back)).collect();
        let params = op.params.iter().filter(|param| !named.contains(param.name));
        let item = |param: &hammock_ops::Param| CompletionItem {
            label: format!("{}=", param.name),
            kind: Some(CompletionItemKind::PROPERTY),
            detail: Some(param_text(param)),
            // Attributes first: operands are usually positional.
            sort_text: Some(format!("{}{}", u8::from(!matches!(param.kind, ParamKind::Attr(_))), param.name)),
            ..Default::default()
        };
        params.map(item).collect()
    }

    /// Variables and names of the file that are defined before the cursor.
    fn visible(&self, is_wanted: impl Fn(&Symbol) -> bool) -> Vec<CompletionItem> {
        let mut seen = FxHashSet::default();
        let is_defined = |symbol: &&Symbol| {
            symbol.kind == SymbolKind::Size
                || symbol.definitions.iter().any(|definition| definition.name.end < self.offset)
        };
        let symbols = self.symbols().filter(is_defined).filter(|symbol| is_wanted(symbol));
        let symbols = symbols.filter(|symbol| seen.insert(symbol.name.clone()));
        let kind = |symbol: &Symbol| match symbol.kind {
            SymbolKind::Import(_) | SymbolKind::Module(_) => CompletionItemKind::MODULE,
            SymbolKind::Function => CompletionItemKind::FUNCTION,
            SymbolKind::Size => CompletionItemKind::TYPE_PARAMETER,
            SymbolKind::Parameter | SymbolKind::Variable => CompletionItemKind::VARIABLE,
        };
        symbols.map(|symbol| item(&symbol.name, kind(symbol))).collect()
    }

    /// Contents of a string. `before` ends with the string.
    fn string(self) -> Vec<CompletionItem> {
        let context = Context { before: &self.before[..self.before.len() - 1], ..self };
        let Some(open) = context.open_bracket() else { return Vec::new() };
        let is_call = context.text(open) == "(" && context.path(open + 1).is_some_and(|path| !path.is_empty());
        let is_named = context.text(0) == "=";
        if is_named && !context.text(1).contains("dtype") {
            return Vec::new();
        }
        if is_named || is_call {
            return dtype_names().map(|name| item(name, CompletionItemKind::ENUM_MEMBER)).collect();
        }
        context.visible(|symbol| symbol.kind == SymbolKind::Size)
    }
}

fn item(label: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: label.to_owned(), kind: Some(kind), ..Default::default() }
}

/// The names in a namespace below a prefix; of longer ones the next part.
fn namespace_items(namespace: Namespace, prefix: &str) -> Vec<CompletionItem> {
    let mut groups = FxHashSet::default();
    let below = |name: &'static str| match prefix {
        "" => Some(name),
        prefix => name.strip_prefix(prefix)?.strip_prefix('.'),
    };
    let names = namespace.names().into_iter().filter_map(|name| Some((name, below(name)?)));
    names
        .filter_map(|(name, rest)| match rest.split_once('.') {
            Some((group, _)) => groups.insert(group).then(|| item(group, CompletionItemKind::MODULE)),
            None => Some(name_item(namespace, name, rest)),
        })
        .collect()
}

fn name_item(namespace: Namespace, name: &str, label: &str) -> CompletionItem {
    let kind = match namespace.is_type(name) {
        true => CompletionItemKind::CLASS,
        false => CompletionItemKind::FUNCTION,
    };
    let op = hammock_ops::lookup(name).filter(|_| namespace == Namespace::Relax);
    let first_line = |op: &hammock_ops::Op| op.doc.trim().lines().next().unwrap_or_default().to_owned();
    CompletionItem {
        detail: op.map(hammock_ops::Op::signature),
        documentation: op.map(|op| Documentation::String(first_line(op))),
        data: Some(serde_json::json!(format!("{}.{name}", namespace.alias()))),
        ..item(label, kind)
    }
}

/// Completes an item with the whole documentation.
pub fn resolve_completion(mut item: CompletionItem) -> CompletionItem {
    let path = item.data.as_ref().and_then(|data| data.as_str());
    if let Some(doc) = path.and_then(namespace_of).and_then(|(namespace, name)| name_doc(namespace, &name)) {
        item.documentation =
            Some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: doc }));
    }
    item
}
