//! Libraries whose functions the runtime calls. FuseOpsByPattern groups the values that a library computes, RunCodegen
//! makes a group a call of a builtin.

mod cublas;

use hammock_ir::{
    Module,
    relax::{Function, Graph, Operand, Var},
};

/// A library.
pub struct Library {
    /// Its name, which is that of the code generator for its patterns.
    pub name: &'static str,
    /// Description of the values that it computes, in one line.
    pub doc: &'static str,
    /// Returns names and texts of patterns for values that it may compute, the largest first.
    pub patterns: fn() -> Vec<(String, String)>,
    /// Returns the call of a builtin that computes a value; `None` if the library does not compute it.
    pub(crate) call: fn(&Site, Var) -> Option<LibraryCall>,
}

/// All libraries.
pub static LIBRARIES: &[&Library] = &[&cublas::LIBRARY];

/// A function with a value that a library may compute.
pub struct Site<'a> {
    pub(crate) module: &'a Module,
    pub(crate) function: &'a Function,
    pub(crate) graph: &'a Graph<'a>,
}

/// A call of a builtin that writes its result to its last argument.
pub struct LibraryCall {
    /// Name of the builtin.
    pub(crate) builtin: &'static str,
    /// Arguments without the result.
    pub(crate) args: Vec<Operand>,
    /// Number of values that the call replaces.
    pub(crate) value_count: usize,
}

/// Returns the library of a name.
pub fn find(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().copied().find(|library| library.name == name)
}
