//! Constants and types: `T.int64(3)`, `T.float32("inf")`, `T.handle("float32")`, `T.min_value("int8")`.

use super::super::{
    args::Args,
    context::Read,
    dtypes,
    eval::{Dialect, Eval},
    numbers::Number,
    operators,
    value::Value,
};
use hammock_diagnostics::codes;
use hammock_ir::{
    DType, PrimExpr, arith,
    prim::{PrimType, Var},
};
use hammock_runtime::value::dtype_code as code;

/// `T.int64(3)`, `T.float32(x)`; without an argument, the type itself.
pub(super) fn of_dtype<D: Dialect>(ev: &mut Eval<'_, '_, D>, dtype: DType, mut args: Args) -> Read<Value> {
    let Some(arg) = args.take("expr") else {
        args.finish(ev.cx)?;
        return Ok(Value::PrimType(PrimType::Scalar(dtype)));
    };
    args.finish(ev.cx)?;
    if dtype.is_void() {
        return Err(ev.expected(&arg, "nothing"));
    }
    let element = dtype.element();
    let value = match &arg.value {
        Value::Str(_) => PrimExpr::float(ev.to_float(&arg)?, element),
        value => match value.number() {
            Some(n) if element.is_floating() => PrimExpr::float(n.as_f64(), element),
            Some(Number::Int(v)) if element.is_bool() => PrimExpr::int(i64::from(v != 0), element),
            Some(Number::Int(v)) if operators::fits(v, element) => PrimExpr::int(v as i64, element),
            Some(Number::Int(v)) => {
                let message = format!("{v} is not a value of type {dtype}");
                return Err(ev.cx.error(codes::WRONG_VALUE, arg.span, message, ""));
            }
            Some(Number::Float(v)) => arith::cast(PrimExpr::float(v, DType::FLOAT64), element),
            None => arith::cast(ev.to_scalar(&arg)?, dtype),
        },
    };
    Ok(Value::Scalar(if value.dtype() == dtype { value } else { arith::cast(value, dtype) }))
}

/// `T.handle("float32", "global")`: a type; in an annotation, of a variable.
pub(super) fn pointer<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let dtype = args.take("dtype");
    let scope = args.take("storage_scope");
    args.finish(ev.cx)?;
    let element = match dtype {
        None => None,
        Some(arg) if matches!(arg.value, Value::None) => None,
        Some(arg) => Some(ev.to_dtype(&arg)?),
    };
    let scope = scope.map_or(Ok("global".into()), |arg| ev.to_str(&arg))?;
    Ok(Value::PrimType(dtypes::pointer(element, &scope)))
}

/// `T.IntImm("int8", 3)`, `T.FloatImm("float16", 1.5)`
pub(super) fn immediate<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let dtype = args.need(ev.cx, "dtype")?;
    let value = args.need(ev.cx, "value")?;
    args.finish(ev.cx)?;
    let dtype = ev.to_dtype(&dtype)?;
    ev.to_scalar_like(&value, dtype).map(Value::Scalar)
}

/// `T.Var("n", "int64")`; the older `T.var("int64")` is a type, and its assignment creates a variable.
pub(super) fn variable<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    if name == "var" {
        let dtype = args.need(ev.cx, "dtype")?;
        let name = args.take("name");
        args.finish(ev.cx)?;
        debug_assert!(name.is_none_or(|n| !n.span.is_none()));
        return ev.to_prim_type(&dtype).map(Value::PrimType);
    }
    let name = args.need(ev.cx, "name")?;
    let dtype = args.need(ev.cx, "dtype")?;
    args.finish(ev.cx)?;
    let name = ev.to_str(&name)?;
    let ty = ev.to_prim_type(&dtype)?;
    let var = ev.symbols.entry(name.clone()).or_insert_with(|| Var::new(name, ty)).clone();
    Ok(Value::Scalar(var.expr()))
}

/// `T.infinity("float32")`, `T.min_value("int8")`, `T.max_value("float16")`
pub(super) fn bound<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, args: Args) -> Read<Value> {
    let arg = ev.first(args)?;
    let dtype = ev.to_dtype(&arg)?;
    let value = match name {
        "infinity" if dtype.is_floating() => Some(PrimExpr::float(f64::INFINITY, dtype)),
        "infinity" => None,
        _ => extreme(dtype, name == "max_value"),
    };
    match value {
        Some(value) => Ok(Value::Scalar(value)),
        None => {
            let message = format!("there is no `{name}` of dtype {dtype}");
            Err(ev.cx.error(codes::WRONG_VALUE, arg.span, message, ""))
        }
    }
}

/// The largest or lowest value of a dtype.
fn extreme(dtype: DType, max: bool) -> Option<PrimExpr> {
    let bits = u32::from(dtype.bits);
    if let Some(largest) = largest_float(dtype) {
        return Some(PrimExpr::float(if max { largest } else { -largest }, dtype));
    }
    if !dtype.is_scalar() || dtype.is_handle() {
        return None;
    }
    let value = match (dtype.is_bool(), dtype.is_uint(), max) {
        (true, ..) => i64::from(max),
        (_, true, false) => 0,
        (_, true, true) if bits >= 64 => -1,
        (_, true, true) => (1 << bits) - 1,
        (_, false, true) => i64::MAX >> (64 - bits.clamp(1, 64)),
        (_, false, false) => i64::MIN >> (64 - bits.clamp(1, 64)),
    };
    Some(PrimExpr::int(value, dtype))
}

/// The largest finite value of a float dtype.
fn largest_float(dtype: DType) -> Option<f64> {
    if !dtype.is_scalar() {
        return None;
    }
    Some(match (dtype.code, dtype.bits) {
        (code::FLOAT, 64) => f64::MAX,
        (code::FLOAT, 32) => f64::from(f32::MAX),
        (code::FLOAT, 16) => half::f16::MAX.to_f64(),
        (code::BFLOAT, 16) => half::bf16::MAX.to_f64(),
        (code::FLOAT8_E3M4, _) => 15.5,
        (code::FLOAT8_E4M3FN, _) => 448.0,
        (code::FLOAT8_E4M3 | code::FLOAT8_E4M3FNUZ, _) => 240.0,
        (code::FLOAT8_E4M3B11FNUZ, _) => 30.0,
        (code::FLOAT8_E5M2 | code::FLOAT8_E5M2FNUZ, _) => 57344.0,
        (code::FLOAT8_E8M0FNU, _) => 2f64.powi(127),
        (code::FLOAT6_E2M3FN, _) => 7.5,
        (code::FLOAT6_E3M2FN, _) => 28.0,
        (code::FLOAT4_E2M1FN, _) => 6.0,
        _ => return None,
    })
}
