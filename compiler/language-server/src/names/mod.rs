//! The meaning of names: which occurrences in the text refer to the same variable, function or symbolic size.
//!
//! The rules are those of the importer, applied to the syntax tree alone, so that a text with errors has names as far as
//! it can be parsed:
//!
//! - A module's class binds its name and its functions, which are referred to as `Module.f`, or `cls.f` after `cls = Module`.
//! - A graph has one scope; a nested graph has another inside it. Every assignment binds a name anew; a use refers to the
//!   last one before it, or to one in each branch of an `if`.
//! - In a kernel, the body of each loop and block is a scope.
//! - A symbolic size is bound by `n = TypeVar("n")` for the file, otherwise by `n = T.int64()`, a scalar parameter, or its
//!   first occurrence for the function. It also occurs in quoted dimensions: `"n * 2"`.

mod function;
mod size;
mod walk;

use hammock_diagnostics::{SourceFile, Span};
use hammock_syntax::ast;
use smallvec::SmallVec;

pub use walk::resolve;

/// Index of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(pub u32);

/// Something that names refer to.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: ast::Name,
    /// What it is.
    pub kind: SymbolKind,
    /// The outermost function that it belongs to: an index of [`Names::functions`]; `None` for one of the file.
    pub function: Option<usize>,
    /// True for a function of a module, which is named through it.
    pub is_member: bool,
    /// Its definitions in source order; empty for a size that only its uses define.
    pub definitions: Vec<Definition>,
}

/// Kind of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// An imported name, with its absolute path.
    Import(String),
    /// The class of a module, or a name for it (`cls`): an index of the classes.
    Module(usize),
    /// A function.
    Function,
    /// A parameter.
    Parameter,
    /// A variable, buffer or axis.
    Variable,
    /// A symbolic size.
    Size,
}

/// A definition of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: Span,
    /// The statement, or the parameter's name.
    pub statement: Span,
}

/// Role of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A definition.
    Definition,
    /// An assignment to a variable of a kernel that is defined before.
    Write,
    /// A use.
    Use,
}

/// An occurrence of a name.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// The name in the text.
    pub span: Span,
    /// What it refers to.
    pub symbol: SymbolId,
    /// Its role.
    pub role: Role,
    /// For a use in a graph: the definitions that it may refer to. Empty if that is not known.
    pub reaching: SmallVec<[Definition; 1]>,
}

/// A function of the module, or one outside of classes.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: ast::Name,
    /// Its text, from the decorators on.
    pub span: Span,
}

/// The names of a text.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// What names refer to.
    pub symbols: Vec<Symbol>,
    /// Occurrences in source order.
    pub occurrences: Vec<Occurrence>,
    /// Functions in source order.
    pub functions: Vec<Function>,
    /// Quoted dimensions with escapes or of several literals, whose parts have no exact positions.
    pub inexact: Vec<Span>,
    /// For each class: its functions.
    pub members: Vec<Vec<SymbolId>>,
}

impl Names {
    /// The symbol of an index.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    /// The occurrence at an offset: the one that contains it, or ends at it.
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        let after = self.occurrences.partition_point(|occurrence| occurrence.span.start <= offset);
        let before = self.occurrences[..after].iter().rev().take(2);
        before.into_iter().find(|occurrence| offset <= occurrence.span.end)
    }

    /// The occurrences in a span.
    pub fn within(&self, span: Span) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|occurrence| occurrence.span.start < span.start);
        let end = self.occurrences.partition_point(|occurrence| occurrence.span.start < span.end);
        &self.occurrences[start..end.max(start)]
    }

    /// The occurrences of a symbol.
    pub fn occurrences_of(&self, id: SymbolId) -> impl Iterator<Item = &Occurrence> {
        let all = match self.symbol(id).function {
            Some(function) => self.within(self.functions[function].span),
            None => &self.occurrences,
        };
        all.iter().filter(move |occurrence| occurrence.symbol == id)
    }

    /// The outermost function around an offset.
    pub fn function_at(&self, offset: u32) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.span.start <= offset);
        self.functions[..after].last().filter(|function| offset <= function.span.end)
    }

    /// The absolute dotted name of an expression such as `R.nn.relu`; `None` for one that does not start with an import or
    /// a predeclared namespace.
    pub fn path(&self, expr: &ast::Expr) -> Option<String> {
        match &expr.kind {
            ast::ExprKind::Name(name) => match self.at(expr.span.start).filter(|found| found.span == expr.span) {
                Some(found) => match &self.symbol(found.symbol).kind {
                    SymbolKind::Import(path) => Some(path.clone()),
                    _ => None,
                },
                None => Some(name.to_string()),
            },
            ast::ExprKind::Attribute(attribute) => {
                self.path(&attribute.value).map(|path| format!("{path}.{}", attribute.name.name))
            }
            _ => None,
        }
    }
}

/// The span of a name in an expression's, which includes enclosing parentheses.
fn name_span(source: &SourceFile, span: Span, name: &str) -> Option<Span> {
    let text = source.slice(span);
    let inner = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let start = span.start + (text.len() - inner.len()) as u32;
    inner.starts_with(name).then(|| Span::new(start, start + name.len() as u32))
}

/// The contents of a quoted name, `"n"`; `None` for another literal.
fn quoted_name(source: &SourceFile, literal: Span, name: &str) -> Option<Span> {
    let text = source.slice(literal);
    let inner = Span::new(literal.start + 1, literal.end.checked_sub(1)?);
    (text.len() == name.len() + 2 && source.slice(inner) == name).then_some(inner)
}

#[cfg(test)]
mod tests;
