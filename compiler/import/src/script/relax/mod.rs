//! Relax functions: graphs of tensor operations.
//!
//! An expression evaluates to an operand, or to an unbound value (`Pending`). A statement binds it to the name on its
//! left; nested values are first bound to fresh names, so that the result is in A-normal form ([`bind`]).

mod bind;
mod calls;
mod control;
mod function;
mod literals;
mod omitted;
mod operands;
mod ops;
mod stmts;
mod sugar;

use super::{
    args::{Arg, Args},
    builtins,
    context::Read,
    eval::{Dialect, Eval, Operator},
    intrinsics,
    path::{Path, Space},
    value::Value,
};
use hammock_diagnostics::Span;
use hammock_ir::{
    Attrs, DType, PrimExpr, Type,
    relax::{self as ir, Operand},
    types::ShapeType,
};
use hammock_syntax::ast;

pub(crate) use calls::OTHERS as OTHER_FORMS;
pub(crate) use function::{Header, body, header};

/// State of reading a function.
pub(crate) struct Relax {
    /// The function for type rules: the table of variables, including those of nested functions.
    function: ir::Function,
    /// Blocks of the body being read, so far.
    blocks: Vec<ir::Block>,
    /// True if a dataflow block is open, with the names in its `R.output`.
    dataflow: bool,
    outputs: Vec<ir::Var>,
    /// True in a branch, which has no `return`.
    branch: bool,
    /// The result of the function, once known.
    result: Option<Operand>,
    /// Total size of the types of variables so far.
    type_parts: usize,
    /// Attributes of the function being read.
    attrs: Attrs,
    /// Omitted constants in values that are not bound yet.
    omitted: Vec<omitted::OmittedConstant>,
    /// Suffixes of the next fresh names, outside and inside dataflow blocks.
    fresh: [usize; 2],
}

/// A reader of Relax.
pub(crate) type RelaxEval<'c, 'a> = Eval<'c, 'a, Relax>;

impl Relax {
    fn new() -> Self {
        Relax {
            function: ir::Function::empty(),
            blocks: Vec::new(),
            dataflow: false,
            outputs: Vec::new(),
            branch: false,
            result: None,
            type_parts: 0,
            attrs: Attrs::new(),
            omitted: Vec::new(),
            fresh: [0, 0],
        }
    }
}

impl Dialect for Relax {
    const INT: DType = DType::INT64;

    fn call(ev: &mut RelaxEval, path: &Path, args: Args) -> Read<Value> {
        match path.space {
            Space::Relax => ev.relax_call(path, args),
            Space::Tir
                if intrinsics::is_known(&path.name) && args.positional.iter().any(|arg| ev.is_tensor(&arg.value)) =>
            {
                Err(ev.report_scalar_function(path, &args))
            }
            _ => builtins::call(ev, path, args),
        }
    }

    fn apply(ev: &mut RelaxEval, callee: Value, args: Args) -> Read<Value> {
        ev.call_function(callee, args)
    }

    fn method(ev: &mut RelaxEval, on: Arg, name: &ast::Ident, args: Args) -> Read<Value> {
        ev.tensor_method(on, name, args)
    }

    fn attribute(ev: &mut RelaxEval, on: Arg, name: &ast::Ident) -> Read<Value> {
        ev.tensor_attribute(on, name)
    }

    fn subscript(ev: &mut RelaxEval, on: Arg, indices: &[ast::Index], span: Span) -> Read<Value> {
        ev.tuple_member(on, indices, span)
    }

    fn operator(ev: &mut RelaxEval, op: Operator, operands: &[Arg], span: Span) -> Read<Option<Value>> {
        ev.tensor_operator(op, operands, span)
    }

    fn scalar(ev: &mut RelaxEval, value: &Value) -> Option<PrimExpr> {
        match value {
            Value::Operand(Operand::Prim(e)) => Some(e.clone()),
            Value::Operand(Operand::Var(var)) => ev.dialect.function.scalar(*var).map(|scalar| scalar.expr()),
            _ => None,
        }
    }

    fn describe(ev: &RelaxEval, value: &Value) -> Option<String> {
        match value {
            Value::Operand(operand) => Some(ev.type_of(operand).kind().into()),
            Value::Unbound(_) => Some("the result of a call".into()),
            _ => None,
        }
    }

    fn namesake(name: &str) -> Option<String> {
        hammock_ops::lookup(name).map(|op| format!("R.{}", op.name))
    }

    fn shape_var(ev: &RelaxEval, var: ir::Var) -> Option<ShapeType> {
        match ev.dialect.function.ty(var) {
            Type::Shape(shape) => Some(shape.clone()),
            _ => None,
        }
    }
}

impl RelaxEval<'_, '_> {
    /// The type of an operand.
    fn type_of(&self, operand: &Operand) -> Type {
        self.dialect.function.operand_ty(&self.cx.module, operand)
    }
}
