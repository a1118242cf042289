//! Expression nodes by name, and functions composed of several nodes.

use super::super::{
    args::{Arg, Args},
    context::Read,
    eval::{Dialect, Eval},
    operators,
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    AttrValue, DType, PrimExpr, arith,
    prim::{self, BinaryOp, IterKind, IterVar, PrimKind, Reduce},
};
use std::sync::Arc;

type Ev<'x, 'c, 'a, D> = &'x mut Eval<'c, 'a, D>;

/// `T.Cast("float32", x)`, `T.Select(c, a, b)`, `T.Ramp(0, 1, 4)`, …
pub(super) fn node<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    let span = args.span;
    let value = match name {
        "Cast" => {
            let dtype = args.need(ev.cx, "dtype")?;
            let value = args.need(ev.cx, "value")?;
            args.finish(ev.cx)?;
            let dtype = ev.to_dtype(&dtype)?;
            PrimExpr::new(PrimKind::Cast(ev.to_scalar(&value)?), dtype)
        }
        "cast" => {
            let value = args.need(ev.cx, "value")?;
            let dtype = args.need(ev.cx, "dtype")?;
            args.finish(ev.cx)?;
            let dtype = ev.to_dtype(&dtype)?;
            arith::cast(ev.to_scalar(&value)?, dtype)
        }
        "Select" => {
            let (cond, then, otherwise) = three(ev, args)?;
            let (x, y) = pair(ev, &then, &otherwise, span)?;
            ev.to_condition(&cond)?.select(x, y)
        }
        "Not" => {
            let arg = ev.first(args)?;
            ev.to_condition(&arg)?.not()
        }
        "Ramp" => {
            let (base, stride, lanes) = three(ev, args)?;
            let (base, stride) = pair(ev, &base, &stride, span)?;
            let dtype = with_lanes(ev, base.dtype(), &lanes)?;
            PrimExpr::new(PrimKind::Ramp(base, stride), dtype)
        }
        "Broadcast" => {
            let value = args.need(ev.cx, "value")?;
            let lanes = args.need(ev.cx, "lanes")?;
            args.finish(ev.cx)?;
            let value = ev.to_scalar(&value)?;
            let dtype = with_lanes(ev, value.dtype(), &lanes)?;
            PrimExpr::new(PrimKind::Broadcast(value), dtype)
        }
        "Shuffle" => shuffle(ev, args)?,
        _ => let_in(ev, args)?,
    };
    Ok(Value::Scalar(value))
}

fn three<D: Dialect>(ev: Ev<'_, '_, '_, D>, mut args: Args) -> Read<(Arg, Arg, Arg)> {
    let names = match args.callee.as_str() {
        "T.Ramp" | "T.ramp" => ["base", "stride", "lanes"],
        "T.Select" => ["condition", "true_value", "false_value"],
        _ => ["cond", "t", "f"],
    };
    let found = (args.need(ev.cx, names[0])?, args.need(ev.cx, names[1])?, args.need(ev.cx, names[2])?);
    args.finish(ev.cx)?;
    Ok(found)
}

/// Two operands brought to one dtype.
fn pair<D: Dialect>(ev: Ev<'_, '_, '_, D>, a: &Arg, b: &Arg, span: Span) -> Read<(PrimExpr, PrimExpr)> {
    let (x, y) = ev.scalar_pair(a, b)?;
    operators::same_type(x, y).map_err(|why| ev.cx.error(codes::SCALAR_MISMATCH, span, why, ""))
}

/// The vector dtype of that many lanes; `4 * T.vscale()` lanes are scalable.
fn with_lanes<D: Dialect>(ev: Ev<'_, '_, '_, D>, element: DType, arg: &Arg) -> Read<DType> {
    let lanes = ev.to_scalar(arg)?;
    let is_vscale = |e: &PrimExpr| e.as_intrin("vscale").is_some();
    let factor = match lanes.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) if is_vscale(a) => b.as_int(),
        PrimKind::Binary(BinaryOp::Mul, a, b) if is_vscale(b) => a.as_int(),
        _ => None,
    };
    let fixed = lanes.as_int().filter(|n| (1..=i64::from(i16::MAX)).contains(n));
    match (fixed, factor.filter(|n| (2..=i64::from(i16::MAX)).contains(n))) {
        (Some(n), _) if element.is_scalar() => Ok(element.with_lanes(n as u16)),
        (_, Some(n)) if element.is_scalar() => Ok(element.with_scalable_lanes(n as u16)),
        _ => Err(ev.cx.error(codes::WRONG_VALUE, arg.span, "not a number of lanes for a scalar", "")),
    }
}

/// `T.Shuffle([a, b], [0, 1])`
fn shuffle<D: Dialect>(ev: Ev<'_, '_, '_, D>, mut args: Args) -> Read<PrimExpr> {
    let vectors = args.need(ev.cx, "vectors")?;
    let indices = args.need(ev.cx, "indices")?;
    args.finish(ev.cx)?;
    let (values, lanes) = (ev.to_scalars(&vectors)?, ev.to_scalars(&indices)?);
    let Some(element) = values.first().map(|v| v.dtype().element()) else {
        return Err(ev.expected(&vectors, "at least one vector"));
    };
    let count = u16::try_from(lanes.len()).unwrap_or(0).max(1);
    Ok(PrimExpr::new(PrimKind::Shuffle(values, lanes), element.with_lanes(count)))
}

/// `T.Let(body, where={x: value})`
fn let_in<D: Dialect>(ev: Ev<'_, '_, '_, D>, mut args: Args) -> Read<PrimExpr> {
    let body = args.need(ev.cx, "expr")?;
    let bindings = args.need(ev.cx, "where")?;
    args.finish(ev.cx)?;
    let Value::Dict(pairs) = &bindings.value else { return Err(ev.expected(&bindings, "a dictionary")) };
    let mut result = ev.to_scalar(&body)?;
    for (var, value) in pairs.iter().rev() {
        let var = ev.to_scalar(&Arg { value: var.clone(), span: bindings.span })?;
        let Some(var) = var.as_var().cloned() else { return Err(ev.expected(&bindings, "variables as keys")) };
        let value = ev.to_scalar_like(&Arg { value: value.clone(), span: bindings.span }, var.dtype())?;
        result = PrimExpr::bind(var, value, result);
    }
    Ok(result)
}

/// Functions composed of other nodes.
pub(super) fn composed<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    args.keyword("dtype");
    let span = args.span;
    let value = match name {
        "if_then_else" => {
            let (cond, then, otherwise) = three(ev, args)?;
            let (x, y) = pair(ev, &then, &otherwise, span)?;
            let cond = ev.to_condition(&cond)?;
            match cond.as_int() {
                Some(v) => [y, x][usize::from(v != 0)].clone(),
                None => cond.if_then_else(x, y),
            }
        }
        "ceildiv" => {
            let a = args.need(ev.cx, "lhs")?;
            let b = args.need(ev.cx, "rhs")?;
            args.finish(ev.cx)?;
            let (x, y) = pair(ev, &a, &b, span)?;
            let one = arith::cast(PrimExpr::int32(1), y.dtype());
            let sum = arith::binary(BinaryOp::Add, x, y.clone());
            arith::binary(BinaryOp::FloorDiv, arith::binary(BinaryOp::Sub, sum, one), y)
        }
        "all" | "any" => {
            let op = if name == "all" { BinaryOp::And } else { BinaryOp::Or };
            let mut joined: Option<PrimExpr> = None;
            while let Some(arg) = args.positional.pop_front() {
                let e = ev.to_condition(&arg)?;
                joined = Some(joined.map_or(e.clone(), |so_far| arith::binary(op, so_far, e)));
            }
            args.finish(ev.cx)?;
            joined.unwrap_or_else(|| PrimExpr::bool(name == "all"))
        }
        "abs" | "fabs" => absolute(ev.first_scalar(args)?),
        "isnan" => isnan(ev.first_scalar(args)?),
        "isinf" => isinf(ev.first_scalar(args)?),
        _ => {
            let x = ev.first_scalar(args)?;
            let (inf, nan) = (arith::not(isinf(x.clone())), arith::not(isnan(x)));
            arith::binary(BinaryOp::And, inf, nan)
        }
    };
    Ok(Value::Scalar(value))
}

fn absolute(x: PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    match (x.as_int(), x.as_float()) {
        (Some(v), _) if !dtype.is_uint() => arith::cast(PrimExpr::int64(v.wrapping_abs()), dtype),
        (_, Some(v)) => PrimExpr::float(v.abs(), dtype),
        _ if dtype.is_floating() => x.unary("fabs"),
        _ if dtype.is_int() => {
            let zero = arith::cast(PrimExpr::int32(0), dtype);
            arith::binary(BinaryOp::Ge, x.clone(), zero).select(x.clone(), operators::negative(x))
        }
        _ => x,
    }
}

fn isnan(x: PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    let truth = DType::BOOL.with_lanes(dtype.lanes);
    if !dtype.is_floating() {
        return arith::cast(PrimExpr::bool(false), truth);
    }
    let wide = if dtype.bits < 32 { arith::cast(x, DType::FLOAT32.with_lanes(dtype.lanes)) } else { x };
    PrimExpr::intrin("isnan", vec![wide], truth)
}

fn isinf(x: PrimExpr) -> PrimExpr {
    let dtype = x.dtype();
    if !dtype.is_floating() {
        return arith::cast(PrimExpr::bool(false), DType::BOOL.with_lanes(dtype.lanes));
    }
    let infinity = arith::cast(PrimExpr::float(f64::INFINITY, dtype.element()), dtype);
    let infinite = arith::binary(BinaryOp::Eq, absolute(x.clone()), infinity);
    arith::binary(BinaryOp::And, infinite, arith::not(isnan(x)))
}

/// `T.floor(x)` and similar functions: the identity for integers.
pub(super) fn rounding<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    args.keyword("dtype");
    let x = ev.first_scalar(args)?;
    if !x.dtype().is_floating() {
        return Ok(Value::Scalar(x));
    }
    let value = x.as_float().map(|v| match name {
        "floor" => v.floor(),
        "ceil" => v.ceil(),
        "trunc" => v.trunc(),
        _ => v.round_ties_even(),
    });
    Ok(Value::Scalar(match value {
        Some(v) => PrimExpr::float(v, x.dtype()),
        None => same_type(name, x),
    }))
}

/// A unary intrinsic of its operand's type.
fn same_type(name: &str, x: PrimExpr) -> PrimExpr {
    let ty = x.ty().clone();
    PrimExpr::intrin(name, vec![x], ty)
}

/// `T.shift_left(a, b)`, `T.bitwise_not(a)`, `T.pow(a, b)`
pub(super) fn bits<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    args.keyword("dtype");
    let span = args.span;
    let a = args.need(ev.cx, "x")?;
    if name == "bitwise_not" {
        args.finish(ev.cx)?;
        return ev.to_scalar(&a).map(|x| Value::Scalar(same_type(name, x)));
    }
    let b = args.need(ev.cx, "y")?;
    args.finish(ev.cx)?;
    let (x, y) = ev.scalar_pair(&a, &b)?;
    let result = if name == "pow" { operators::power(x, y) } else { operators::bitwise(name, x, y) };
    result.map(Value::Scalar).map_err(|why| ev.cx.error(codes::SCALAR_MISMATCH, span, why, ""))
}

/// `T.LShift(a, b)`, `T.BitwiseNot(a)`: the node itself, also for constants, which the functions above fold.
pub(super) fn bit_node<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    let span = args.span;
    let a = args.need(ev.cx, "a")?;
    if name == "bitwise_not" {
        args.finish(ev.cx)?;
        return ev.to_scalar(&a).map(|x| Value::Scalar(same_type(name, x)));
    }
    let b = args.need(ev.cx, "b")?;
    args.finish(ev.cx)?;
    let (x, y) = pair(ev, &a, &b, span)?;
    let ty = x.ty().clone();
    Ok(Value::Scalar(PrimExpr::intrin(name, vec![x, y], ty)))
}

/// `T.Range(a, b)`, `T.iter_var(v, dom, "ThreadIndex", "threadIdx.x")`, `T.reduce(…)`
pub(super) fn axes<D: Dialect>(ev: Ev<'_, '_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    match name {
        "Range" => {
            let begin = args.need(ev.cx, "begin")?;
            let end = args.take("end");
            args.finish(ev.cx)?;
            ev.range(begin, end)
        }
        "iter_var" => {
            let var = args.need(ev.cx, "v")?;
            let dom = args.need(ev.cx, "dom")?;
            let kind = args.need(ev.cx, "iter_type")?;
            let thread = args.need(ev.cx, "thread_tag")?;
            args.finish(ev.cx)?;
            iter_var(ev, &var, &dom, &kind, &thread).map(|v| Value::IterVar(Arc::new(v)))
        }
        _ => reduce(ev, args).map(Value::Scalar),
    }
}

fn iter_var<D: Dialect>(ev: Ev<'_, '_, '_, D>, var: &Arg, dom: &Arg, kind: &Arg, thread: &Arg) -> Read<IterVar> {
    let dom = match &dom.value {
        Value::None => None,
        Value::Range(min, extent) => Some((min.clone(), extent.clone())),
        _ => return Err(ev.expected(dom, "a range or `None`")),
    };
    let kind_name = ev.to_str(kind)?;
    let kind = match &*kind_name {
        "DataPar" | "Ordered" | "Spatial" => IterKind::Spatial,
        "CommReduce" | "Reduce" => IterKind::Reduce,
        "DimInfo" | "Scan" => IterKind::Scan,
        "ThreadIndex" => IterKind::ThreadIndex,
        "Opaque" | "Unrolled" | "Vectorized" | "Parallelized" | "Tensorized" => IterKind::Opaque,
        _ => return Err(ev.expected(kind, "a kind of axis, such as \"ThreadIndex\"")),
    };
    let thread = ev.to_str(thread)?;
    let var = match &var.value {
        Value::Str(name) => prim::Var::new(name.clone(), dom.as_ref().map_or(DType::INT32, |(_, n)| n.dtype())),
        _ => match ev.to_scalar(var)?.as_var() {
            Some(var) => var.clone(),
            None => return Err(ev.expected(var, "a variable")),
        },
    };
    Ok(IterVar { var, dom, kind, thread })
}

/// `T.reduce(combiner, [source], [init], [axes], condition, index)`
fn reduce<D: Dialect>(ev: Ev<'_, '_, '_, D>, mut args: Args) -> Read<PrimExpr> {
    let combiner = args.need(ev.cx, "combiner")?;
    let source = args.need(ev.cx, "source")?;
    let init = args.need(ev.cx, "init")?;
    let axes = args.need(ev.cx, "axis")?;
    let condition = args.need(ev.cx, "condition")?;
    let index = args.need(ev.cx, "value_index")?;
    args.finish(ev.cx)?;
    let Value::Attr(AttrValue::Reducer(reducer)) = &combiner.value else {
        return Err(ev.expected(&combiner, "a reducer"));
    };
    let combiner = reducer.clone();
    let (source, init) = (ev.to_scalars(&source)?, ev.to_scalars(&init)?);
    let mut iters = Vec::new();
    for value in ev.elements(&axes)? {
        match value {
            Value::IterVar(axis) => iters.push((*axis).clone()),
            _ => return Err(ev.expected(&axes, "a list of axes")),
        }
    }
    let at = ev.to_int(&index)?;
    let Some(ty) = usize::try_from(at).ok().and_then(|at| source.get(at)).map(|e| e.ty().clone()) else {
        return Err(ev.expected(&index, "the number of a source"));
    };
    let condition = ev.to_condition(&condition)?;
    let reduce = Reduce { combiner, source, init, axes: iters, condition, index: at as usize };
    Ok(PrimExpr::new(PrimKind::Reduce(Box::new(reduce)), ty))
}
