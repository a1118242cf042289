//! TIR functions.

use super::{Buffer, Stmt};
use crate::{
    Attrs, DType,
    prim::{PrimType, Var},
};
use hammock_diagnostics::Span;

/// The attribute of a host function that computes sizes: its integers must not wrap, and an error shows the overflowing
/// expression.
pub const EXACT: &str = "tirx.is_host_func";

/// A function over buffers and scalars.
#[derive(Clone, Debug)]
pub struct PrimFunc {
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Return type; `None` if nothing is returned.
    pub ret_ty: Option<PrimType>,
    /// Body.
    pub body: Stmt,
    /// `T.func_attr`, and `global_symbol` for a function that others may call.
    pub attrs: Attrs,
    /// True if it is of the schedulable dialect, with blocks (`s_tir=True`).
    pub s_tir: bool,
    /// Source location of its header.
    pub span: Span,
}

/// A parameter: a scalar or handle, or a buffer passed as a handle.
#[derive(Clone, Debug)]
pub struct Param {
    /// The scalar, or the buffer's handle.
    pub var: Var,
    /// The buffer.
    pub buffer: Option<Buffer>,
}

impl Param {
    /// A scalar or plain handle.
    pub fn scalar(var: Var) -> Self {
        Param { var, buffer: None }
    }

    /// A buffer.
    pub fn buffer(buffer: Buffer) -> Self {
        Param { var: Var::new(buffer.name.clone(), DType::HANDLE), buffer: Some(buffer) }
    }
}

impl PrimFunc {
    /// Returns true if its parameters are declared not to alias (`tirx.noalias`).
    pub fn is_noalias(&self) -> bool {
        ["tirx.noalias", "tir.noalias"].iter().any(|name| self.attrs.is_true(name))
    }

    /// Buffers among the parameters.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.params.iter().filter_map(|p| p.buffer.as_ref())
    }

    /// The symbol under which others may call it.
    pub fn global_symbol(&self) -> Option<&str> {
        self.attrs.get("global_symbol")?.as_str()
    }

    /// Returns true if the function is private: not callable from outside its module.
    pub fn is_private(&self) -> bool {
        self.attrs.get("global_symbol").is_none()
    }
}
