//! Text: TVMScript exactly as TVM 0.27 prints it, in the form that every Python version reads.
//!
//! Any module can be printed, well-formed or not, and the text reads back as the same module, which prints as the same
//! text. The work is linear in the length of the text. Names come from the program and are made unique; the order of
//! functions is fixed (kernels, external functions, graphs, each by name, then `main`).
//!
//! One [`Printer`] walks the module and appends lines. Three things are not known when their position in the text is
//! reached and are inserted afterwards: the header's comments (which namespaces occur), `TypeVar` lines (which symbolic
//! variables occur in signatures), and the first lines of function bodies (`cls = Module`, `m = T.int64()`).
mod attr;
mod block;
mod buffer;
mod expr;
mod function;
mod json;
mod literal;
mod metadata;
mod module;
mod names;
mod operand;
mod parts;
mod prim_func;
mod printer;
mod references;
mod stmt;
#[cfg(test)]
mod tests;
mod types;
mod value;

use crate::{AttrValue, Module, Name, PrimExpr, Tensor, Type, module::Function, relax, tir::Stmt};
pub use names::RESERVED;
pub use parts::{BindingText, GraphText};
use printer::{Dialect, Printer};
use std::fmt;

/// Options of printing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// The metadata printed in front of the module.
    pub metadata: Metadata,
}

/// Selects the objects without a notation of their own that are printed in front of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// All of them: text that can be read back on its own.
    #[default]
    All,
    /// All but the [`constants`] of graphs: text that is read back together with a file of tensors.
    NoConstants,
    /// None, with a comment instead.
    Omitted,
}

/// The text of a module.
pub fn module_text(module: &Module, options: &PrintOptions) -> String {
    module::print(module, options).0
}

/// The constants that the text of a module refers to as `metadata["ir.GenericConst"][i]`, in order.
pub fn constants(module: &Module) -> Vec<Tensor> {
    module::print(module, &PrintOptions { metadata: Metadata::Omitted }).1
}

/// Every graph of a module in parts, in the order in which [`module_text`] prints them.
pub fn graph_texts(module: &Module) -> Vec<GraphText> {
    module::graphs(module)
}

/// The text of one function, without a class around it and without metadata.
pub fn function_text(name: &Name, function: &Function) -> String {
    let mut module = Module { bare: true, ..Module::default() };
    module.functions.insert(name.clone(), function.clone());
    module_text(&module, &PrintOptions { metadata: Metadata::Omitted })
}

/// The text of a type.
pub fn type_text(ty: &Type) -> String {
    Printer::new(None, Dialect::Relax).fragment(|p| p.ty(ty))
}

/// The text of a type of a variable of a graph, with the names of the graph's variables.
pub fn type_text_in(ty: &Type, graph: &relax::Function) -> String {
    let mut printer = Printer::new(None, Dialect::Relax);
    printer.graph = Some(graph);
    printer.fragment(|p| p.ty(ty))
}

/// The text of a scalar expression in a kernel: `i * T.int64(4)`.
pub fn expr_text(expr: &PrimExpr) -> String {
    Printer::new(None, Dialect::Tir).fragment(|p| p.expr(expr))
}

/// The text of a scalar expression in a graph, where integers are int64: `n * 4`.
pub fn dim_text(expr: &PrimExpr) -> String {
    Printer::new(None, Dialect::Relax).fragment(|p| p.expr(expr))
}

/// The text of an attribute's value.
pub fn attr_text(value: &AttrValue) -> String {
    Printer::new(None, Dialect::Relax).fragment(|p| p.attr(value))
}

/// The text of a statement; variables from outside it are printed as free names.
pub fn stmt_text(stmt: &Stmt) -> String {
    Printer::new(None, Dialect::Tir).statements(stmt)
}

impl fmt::Display for Module {
    /// The text without constants; [`module_text`] includes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&module_text(self, &PrintOptions { metadata: Metadata::Omitted }))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&type_text(self))
    }
}

impl fmt::Display for PrimExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expr_text(self))
    }
}

impl fmt::Display for Stmt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&stmt_text(self))
    }
}
