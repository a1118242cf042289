//! TIR functions: loops over buffers.
//!
//! Statements are read in order into the sequence of their scope ([`stmts`]). Calls such as `T.alloc_buffer(…)` or
//! `T.axis.spatial(…)` declare something ([`decls`]): they add to the enclosing scope, block or function, and take
//! their name from the left of the assignment.

mod access;
mod assign;
mod blocks;
mod buffers;
mod decls;
mod frames;
mod function;
mod loops;
mod methods;
mod scope;
mod stmts;

use super::{
    args::{Arg, Args},
    builtins,
    context::Read,
    eval::{Dialect, Eval, Operator},
    intrinsics::calls::describe,
    path::{Path, Space},
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    Attrs, DType, Name, PrimExpr,
    prim::{self, IterVar, PrimCallee, PrimType},
    tir::{Buffer, Param, Stmt},
};
use hammock_syntax::ast;
use rustc_hash::FxHashMap;

pub(crate) use function::{Header, body, header};

/// State of reading a function.
#[derive(Default)]
pub(crate) struct Tir {
    params: Vec<Param>,
    attrs: Attrs,
    ret_ty: Option<PrimType>,
    /// True if buffers have no layout by default, and blocks are allowed.
    s_tir: bool,
    /// True for text from before 0.24, where `T.alloc_buffer` allocates in the enclosing block.
    old: bool,
    /// Statements of the current scope so far.
    out: Vec<Stmt>,
    /// Attributes that apply to the rest of that scope.
    open: Vec<frames::OpenAttr>,
    /// Enclosing blocks, the function itself first.
    blocks: Vec<scope::BlockParts>,
    /// First value and extent of the enclosing loops.
    loops: FxHashMap<prim::Var, (PrimExpr, PrimExpr)>,
    /// Thread axes created by `T.env_thread`; they have an extent once launched.
    threads: Vec<IterVar>,
    /// Names for the next declaration.
    hints: Vec<Name>,
    /// True in the header, where `T.Buffer` is a type.
    header: bool,
    /// Buffers named before their declaration.
    undeclared: Vec<Buffer>,
    /// Depth of nesting without indentation.
    depth: usize,
}

/// A reader of TIR.
pub(crate) type TirEval<'c, 'a> = Eval<'c, 'a, Tir>;

impl Dialect for Tir {
    const INT: DType = DType::INT32;

    fn call(ev: &mut TirEval, path: &Path, args: Args) -> Read<Value> {
        if path.space != Space::Tir {
            return builtins::call(ev, path, args);
        }
        match ev.declare(&path.name, args)? {
            decls::Declared::Value(value) => Ok(value),
            decls::Declared::Nothing(args) => builtins::call(ev, path, args),
        }
    }

    fn apply(ev: &mut TirEval, callee: Value, mut args: Args) -> Read<Value> {
        let Value::Global(name) = callee else {
            let message = format!("{} cannot be called", callee.describe());
            return Err(ev.cx.error(codes::WRONG_VALUE, args.span, message, ""));
        };
        let mut given = Vec::new();
        while let Some(arg) = args.positional.pop_front() {
            given.push(match &arg.value {
                Value::Buffer(buffer) if !buffer.is_local_scalar() => describe(buffer),
                Value::Str(text) => PrimExpr::str(text.clone()),
                _ => ev.to_scalar(&arg)?,
            });
        }
        args.finish(ev.cx)?;
        let ty = ev.cx.module.tir(&name).and_then(|f| f.ret_ty.clone()).unwrap_or(PrimType::Scalar(DType::VOID));
        Ok(Value::Scalar(PrimExpr::call(PrimCallee::Global(name), given, Attrs::new(), ty)))
    }

    fn method(ev: &mut TirEval, on: Arg, name: &ast::Ident, args: Args) -> Read<Value> {
        ev.buffer_method(&on, name, args)
    }

    fn attribute(ev: &mut TirEval, on: Arg, name: &ast::Ident) -> Read<Value> {
        ev.buffer_attribute(&on, name)
    }

    fn subscript(ev: &mut TirEval, on: Arg, indices: &[ast::Index], span: Span) -> Read<Value> {
        ev.element(&on, indices, span)
    }

    fn operator(_: &mut TirEval, _: Operator, _: &[Arg], _: Span) -> Read<Option<Value>> {
        Ok(None)
    }

    fn namesake(name: &str) -> Option<String> {
        crate::script::intrinsics::is_known(name).then(|| format!("T.{name}"))
    }

    fn scalar(ev: &mut TirEval, value: &Value) -> Option<PrimExpr> {
        match value {
            // TVM also prints the single element of a parameter without its index.
            Value::Buffer(buffer) if buffer.is_local_scalar() || buffer.is_scalar(ev.dialect.s_tir) => {
                Some(access::load_scalar(buffer))
            }
            Value::Slice(buffer, indices) => access::vector_load(buffer, indices),
            _ => None,
        }
    }
}
