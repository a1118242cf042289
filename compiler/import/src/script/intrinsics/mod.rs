//! Calls of `T.…` that are expressions: arithmetic, intrinsics, casts, vectors, constants of dtypes.

pub(super) mod calls;
mod constants;
mod nodes;
mod spellings;
mod statements;

use super::{
    args::{Arg, Args},
    context::Read,
    devices, dtypes,
    eval::{Dialect, Eval},
    operators,
    path::{Form, Path, Space},
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, intrinsics},
};

/// `T.name(args)`, for names that both dialects share.
pub(crate) fn call<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, args: Args) -> Read<Value> {
    let name = spellings::canonical(name);
    if let Some(dtype) = dtypes::of_name(name) {
        return constants::of_dtype(ev, dtype, args);
    }
    if let Some(op) = binary_op(name) {
        return binary(ev, op, name, args);
    }
    match name {
        "handle" | "ptr" | "buffer_var" | "Ptr" => constants::pointer(ev, args),
        "infinity" | "min_value" | "max_value" => constants::bound(ev, name, args),
        "IntImm" | "FloatImm" => constants::immediate(ev, args),
        "StringImm" => ev.first(args).and_then(|arg| ev.to_str(&arg)).map(Value::Str),
        "Var" | "var" => constants::variable(ev, name, args),
        "target" => devices::target(ev, args),
        "index_map" => ev.index_map(args),
        "comm_reducer" => ev.reducer(args),
        "Range" | "iter_var" | "reduce" | "Reduce" => nodes::axes(ev, name, args),
        "meta_var" => ev.first(args).map(|arg| arg.value),
        "Cast" | "cast" | "Select" | "Not" | "Ramp" | "Broadcast" | "Shuffle" | "Let" | "let" => {
            nodes::node(ev, name, args)
        }
        "if_then_else" | "isnan" | "isinf" | "isfinite" | "abs" | "fabs" | "ceildiv" | "all" | "any" => {
            nodes::composed(ev, name, args)
        }
        "floor" | "ceil" | "round" | "nearbyint" | "trunc" => nodes::rounding(ev, name, args),
        "shift_left" | "shift_right" | "bitwise_and" | "bitwise_or" | "bitwise_xor" | "bitwise_not" | "pow" => {
            nodes::bits(ev, name, args)
        }
        "LShift" => nodes::bit_node(ev, "shift_left", args),
        "RShift" => nodes::bit_node(ev, "shift_right", args),
        "BitwiseAnd" => nodes::bit_node(ev, "bitwise_and", args),
        "BitwiseOr" => nodes::bit_node(ev, "bitwise_or", args),
        "BitwiseXor" => nodes::bit_node(ev, "bitwise_xor", args),
        "BitwiseNot" => nodes::bit_node(ev, "bitwise_not", args),
        "address_of" | "tvm_access_ptr" | "ptr_byte_offset" | "handle_add_byte_offset" | "tvm_stack_alloca" => {
            calls::pointer(ev, name, args)
        }
        "Call" | "call_intrin" => calls::generic(ev, name, args),
        _ => match intrinsics::lookup(name) {
            Some(intrinsic) => calls::intrinsic(ev, intrinsic, args),
            None => Err(unknown(ev, name, args.callee_span)),
        },
    }
}

/// Other nodes and functions.
pub(crate) const OTHERS: [Form; 18] = [
    Form::new(
        "Select",
        "T.Select(condition, a, b)",
        "`a` or `b`; both are evaluated, but neither may fault where it is not selected.",
    ),
    Form::new("Cast", r#"T.Cast("float32", x)"#, "Converts to another dtype."),
    Form::new("Broadcast", "T.Broadcast(x, 4)", "A vector of equal elements."),
    Form::new("Ramp", "T.Ramp(start, stride, 4)", "A vector whose elements grow by `stride`."),
    Form::new("Shuffle", "T.Shuffle([a, b], [0, 1])", "A vector of chosen elements of others."),
    Form::new("Let", "T.Let(body, where={x: value})", "An expression with a variable in it."),
    Form::new("min", "T.min(a, b)", "The smaller of two numbers."),
    Form::new("max", "T.max(a, b)", "The larger of two numbers."),
    Form::new("floordiv", "T.floordiv(a, b)", "Quotient, rounded down: `a // b`."),
    Form::new("floormod", "T.floormod(a, b)", "Remainder with the sign of `b`: `a % b`."),
    Form::new("truncdiv", "T.truncdiv(a, b)", "Quotient, rounded toward zero."),
    Form::new("truncmod", "T.truncmod(a, b)", "Remainder with the sign of `a`."),
    Form::new("ceildiv", "T.ceildiv(a, b)", "Quotient, rounded up."),
    Form::new("min_value", r#"T.min_value("int8")"#, "The smallest finite value of a dtype."),
    Form::new("max_value", r#"T.max_value("float16")"#, "The largest finite value of a dtype."),
    Form::new("infinity", r#"T.infinity("float32")"#, "Infinity of a dtype."),
    Form::new(
        "comm_reducer",
        "T.comm_reducer(lambda x, y: x + y, [T.float32(0)])",
        "An associative and commutative combiner of reductions, with its identity.",
    ),
    Form::new("index_map", "T.index_map(lambda i, j: (j, i))", "A map of indices, by which layouts are given."),
];

/// What `T` has other than intrinsics.
pub(crate) fn forms() -> impl Iterator<Item = Form> {
    statements::STATEMENTS.into_iter().chain(OTHERS)
}

/// Every name of `T` that can be called.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    intrinsics::all().map(|own| own.name).chain(forms().map(|form| form.name))
}

/// Returns true if `T` has a function of that name.
pub(crate) fn is_known(name: &str) -> bool {
    names().any(|n| n == name)
}

fn unknown<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, span: Span) -> super::context::Reported {
    if is_known(name) {
        let message = format!("`T.{name}` has no meaning here");
        return ev.cx.error(codes::UNKNOWN_FUNCTION, span, message, "it is a part of kernels, `@T.prim_func`");
    }
    let known: Vec<&str> = names().collect();
    ev.unknown(&Path::new(Space::Tir, name), span, &known)
}

/// Nodes and functions of two operands. Capitalized ones build the node as is, the others fold.
fn binary_op(name: &str) -> Option<BinaryOp> {
    Some(match name {
        "Add" | "add" => BinaryOp::Add,
        "Sub" | "sub" | "subtract" => BinaryOp::Sub,
        "Mul" | "mul" | "multiply" => BinaryOp::Mul,
        "Div" | "truncdiv" | "div" => BinaryOp::Div,
        "Mod" | "truncmod" => BinaryOp::Mod,
        "FloorDiv" | "floordiv" | "indexdiv" => BinaryOp::FloorDiv,
        "FloorMod" | "floormod" | "indexmod" => BinaryOp::FloorMod,
        "Min" | "min" => BinaryOp::Min,
        "Max" | "max" => BinaryOp::Max,
        "EQ" => BinaryOp::Eq,
        "NE" => BinaryOp::Ne,
        "LT" => BinaryOp::Lt,
        "LE" => BinaryOp::Le,
        "GT" => BinaryOp::Gt,
        "GE" => BinaryOp::Ge,
        "And" => BinaryOp::And,
        "Or" => BinaryOp::Or,
        _ => return None,
    })
}

fn binary<D: Dialect>(ev: &mut Eval<'_, '_, D>, op: BinaryOp, name: &str, mut args: Args) -> Read<Value> {
    let span = args.span;
    let a = args.need(ev.cx, "a")?;
    let b = args.need(ev.cx, "b")?;
    args.finish(ev.cx)?;
    let (x, y) = ev.scalar_pair(&a, &b)?;
    let exact = name.starts_with(|c: char| c.is_ascii_uppercase());
    let result = operators::same_type(x, y).map(|(x, y)| match exact {
        true => hammock_ir::prim::binary(op, x, y),
        false => hammock_ir::arith::binary(op, x, y),
    });
    result.map(Value::Scalar).map_err(|why| ev.cx.error(codes::SCALAR_MISMATCH, span, why, ""))
}

impl<D: Dialect> Eval<'_, '_, D> {
    /// The only argument of a call.
    pub(crate) fn first(&mut self, mut args: Args) -> Read<Arg> {
        let value = args.need(self.cx, "value")?;
        args.finish(self.cx)?;
        Ok(value)
    }

    /// The only argument of a call, a scalar.
    fn first_scalar(&mut self, args: Args) -> Read<PrimExpr> {
        let arg = self.first(args)?;
        self.to_scalar(&arg)
    }
}
