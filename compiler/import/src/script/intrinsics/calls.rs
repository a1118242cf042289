//! Calls of intrinsics.

use super::{
    super::{
        args::{Arg, Args},
        context::Read,
        dtypes,
        eval::{Dialect, Eval},
        value::Value,
    },
    spellings,
};
use hammock_diagnostics::{codes, count};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{
        PrimCallee, PrimKind, PrimType,
        intrinsics::{DTypePosition, Intrinsic, ResultType},
    },
    tir::Buffer,
};

/// A call of an intrinsic of the table.
pub(super) fn intrinsic<D: Dialect>(ev: &mut Eval<'_, '_, D>, intrinsic: &Intrinsic, mut args: Args) -> Read<Value> {
    let span = args.span;
    let named = named_type(ev, intrinsic, &mut args)?;
    let mut given = Vec::new();
    while let Some(arg) = args.positional.pop_front() {
        given.push(argument(ev, intrinsic.name, &arg)?);
    }
    args.finish(ev.cx)?;
    fill_defaults(intrinsic.name, &mut given);
    let (min, max) = intrinsic.arity;
    if given.len() < min || given.len() > max {
        let takes = match given.len() {
            _ if min == max => count(min, "argument"),
            n if n < min => format!("at least {}", count(min, "argument")),
            _ => format!("at most {}", count(max, "argument")),
        };
        let message = format!("`T.{}` takes {takes}, but gets {}", intrinsic.name, given.len());
        return Err(ev.cx.error(codes::WRONG_ARGUMENTS, span, message, ""));
    }
    let ty = match intrinsic.result {
        ResultType::Arg(n) => given[n].ty().clone(),
        ResultType::Truth => DType::BOOL.with_lanes(given[0].dtype().lanes).into(),
        ResultType::Is(dtype) => dtype.into(),
        ResultType::PointerTo(dtype) => PrimType::Pointer(Some(dtype), "global".into()),
        ResultType::Into => PrimType::Pointer(None, "global".into()),
        ResultType::Named(_) => named.unwrap_or(PrimType::Scalar(DType::VOID)),
    };
    Ok(Value::Scalar(PrimExpr::intrin(intrinsic.name, given, ty)))
}

/// The dtype that a call names, by position or, for every intrinsic in older texts, by keyword.
fn named_type<D: Dialect>(ev: &mut Eval<'_, '_, D>, intrinsic: &Intrinsic, args: &mut Args) -> Read<Option<PrimType>> {
    let keyword = args.keyword("dtype");
    let ResultType::Named(position) = intrinsic.result else { return Ok(None) };
    let arg = match (keyword, position) {
        (Some(arg), _) => Some(arg),
        (None, DTypePosition::Last) => args.positional.pop_back(),
        (None, DTypePosition::First) => args.positional.pop_front(),
    };
    match arg {
        Some(arg) => ev.to_prim_type(&arg).map(Some),
        None => args.need(ev.cx, "dtype").map(|_| None),
    }
}

/// An argument: scalars, strings, pointers; a buffer passed to a packed function becomes a tensor descriptor.
fn argument<D: Dialect>(ev: &mut Eval<'_, '_, D>, callee: &str, arg: &Arg) -> Read<PrimExpr> {
    match &arg.value {
        Value::Str(dtype) if callee == "tvm_stack_make_array" => match dtype.parse::<DType>() {
            Ok(dtype) => Ok(PrimExpr::constant(0.0, dtype)),
            Err(_) => Err(ev.expected(arg, "a dtype")),
        },
        Value::Str(text) => Ok(PrimExpr::str(text.clone())),
        Value::Buffer(buffer) if buffer.is_local_scalar() => ev.to_scalar(arg),
        Value::Buffer(buffer) if callee.contains("packed") => Ok(describe(buffer)),
        Value::Buffer(buffer) => Ok(buffer.data.expr()),
        _ => ev.to_scalar(arg),
    }
}

/// A tensor descriptor on the stack: `T.tvm_stack_make_array(A.data, shape, strides, ndim, dtype, offset)`.
pub(in crate::script) fn describe(buffer: &Buffer) -> PrimExpr {
    let sizes = |sizes: &[PrimExpr]| {
        let ty = PrimType::Pointer(Some(DType::INT64), "global".into());
        PrimExpr::intrin("tvm_stack_make_shape", sizes.to_vec(), ty)
    };
    let strides = if buffer.strides.is_empty() { PrimExpr::int32(0) } else { sizes(&buffer.strides) };
    let index = buffer.shape.first().map_or(DType::INT32, PrimExpr::dtype);
    let parts = vec![
        buffer.data.expr(),
        sizes(&buffer.shape),
        strides,
        PrimExpr::int32(buffer.ndim() as i32),
        PrimExpr::constant(0.0, buffer.dtype),
        buffer.elem_offset.clone().unwrap_or_else(|| PrimExpr::int(0, index)),
    ];
    PrimExpr::intrin("tvm_stack_make_array", parts, DType::HANDLE)
}

/// Optional arguments.
fn fill_defaults(name: &str, args: &mut Vec<PrimExpr>) {
    match (name, args.len()) {
        ("tvm_storage_sync", 1) => args.extend([PrimExpr::bool(false), PrimExpr::int32(-1)]),
        ("tvm_storage_sync", 2) => args.push(PrimExpr::int32(-1)),
        ("dp4a", 2) => args.push(PrimExpr::int32(0)),
        _ => {}
    }
}

/// `T.Call("op", [args], attrs={…}, ret_ty="int32")`, `T.call_intrin("int32", "op", args…)`
pub(super) fn generic<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    let (callee, list, ty, attrs) = if name == "Call" {
        let callee = args.need(ev.cx, "op")?;
        let list = args.take("args");
        let attrs = args.take("attrs");
        let ty = args.any_keyword(&["ret_ty", "dtype"]);
        (callee, list, ty, attrs)
    } else {
        let ty = args.need(ev.cx, "dtype")?;
        let callee = args.need(ev.cx, "func_name")?;
        let rest = args.positional.drain(..).map(|arg| arg.value).collect();
        let list = Arg { value: Value::List(rest), span: args.span };
        (callee, Some(list), Some(ty), args.keyword("attrs"))
    };
    args.finish(ev.cx)?;
    let callee = match &callee.value {
        Value::Global(name) => PrimCallee::Global(name.clone()),
        _ => PrimCallee::Intrin(intrinsic_name(&ev.to_str(&callee)?).into()),
    };
    let ty = ty.map_or(Ok(PrimType::Scalar(DType::VOID)), |arg| ev.to_prim_type(&arg))?;
    let attrs = attrs.map_or(Ok(Attrs::new()), |arg| ev.to_attrs(&arg))?;
    let mut given = Vec::new();
    if let Some(list) = list {
        for value in ev.elements(&list)? {
            given.push(argument(ev, "", &Arg { value, span: list.span })?);
        }
    }
    Ok(Value::Scalar(PrimExpr::call(callee, given, attrs, ty)))
}

/// An intrinsic's name without the prefix that its registration has.
fn intrinsic_name(name: &str) -> &str {
    let bare = ["tirx.", "tir.", "prim."].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    spellings::canonical(bare)
}

/// Intrinsics whose result is a pointer that depends on the arguments.
pub(super) fn pointer<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    args.keyword("dtype");
    let (given, ty) = match name {
        "address_of" => {
            let target = ev.first(args)?;
            address_of(ev, &target)?
        }
        "tvm_stack_alloca" => {
            let kind = args.need(ev.cx, "dtype_str")?;
            let count = args.need(ev.cx, "num")?;
            args.finish(ev.cx)?;
            let kind = ev.to_str(&kind)?;
            let element = match &*kind {
                "shape" => Some(DType::INT64),
                "arg_tcode" => Some(DType::INT32),
                _ => None,
            };
            (vec![PrimExpr::str(kind), ev.to_scalar(&count)?], PrimType::Pointer(element, "global".into()))
        }
        "handle_add_byte_offset" => {
            let base = args.need(ev.cx, "handle")?;
            let offset = args.need(ev.cx, "offset")?;
            args.finish(ev.cx)?;
            let base = pointer_operand(ev, &base)?;
            let ty = dtypes::pointer(Some(DType::VOID), &scope_of(&base));
            (vec![base, ev.to_scalar(&offset)?], ty)
        }
        "ptr_byte_offset" => {
            let base = args.need(ev.cx, "data")?;
            let offset = args.need(ev.cx, "byte_offset")?;
            let element = args.need(ev.cx, "dtype")?;
            args.finish(ev.cx)?;
            let base = pointer_operand(ev, &base)?;
            let element = annotation(ev, &element)?;
            let ty = PrimType::Pointer(Some(element.dtype()), scope_of(&base));
            (vec![base, ev.to_scalar(&offset)?, element], ty)
        }
        _ => {
            let element = args.need(ev.cx, "ptype")?;
            let base = args.need(ev.cx, "data")?;
            let rest = [args.need(ev.cx, "offset")?, args.need(ev.cx, "extent")?, args.need(ev.cx, "rw_mask")?];
            args.finish(ev.cx)?;
            let (element, base) = (annotation(ev, &element)?, pointer_operand(ev, &base)?);
            let ty = PrimType::Pointer(Some(element.dtype()), scope_of(&base));
            let mut given = vec![element, base];
            for arg in &rest {
                given.push(ev.to_scalar(arg)?);
            }
            (given, ty)
        }
    };
    Ok(Value::Scalar(PrimExpr::intrin(name, given, ty)))
}

fn pointer_operand<D: Dialect>(ev: &mut Eval<'_, '_, D>, arg: &Arg) -> Read<PrimExpr> {
    match &arg.value {
        Value::Buffer(buffer) => Ok(buffer.data.expr()),
        _ => ev.to_scalar(arg),
    }
}

fn scope_of(pointer: &PrimExpr) -> hammock_ir::Name {
    match pointer.ty() {
        PrimType::Pointer(_, scope) => scope.clone(),
        PrimType::Scalar(_) => "global".into(),
    }
}

/// `T.type_annotation("float32")`, or the dtype alone.
fn annotation<D: Dialect>(ev: &mut Eval<'_, '_, D>, arg: &Arg) -> Read<PrimExpr> {
    match &arg.value {
        Value::Scalar(e) => Ok(e.clone()),
        _ => ev.to_prim_type(arg).map(|ty| PrimExpr::intrin("type_annotation", Vec::new(), ty)),
    }
}

fn address_of<D: Dialect>(ev: &mut Eval<'_, '_, D>, arg: &Arg) -> Read<(Vec<PrimExpr>, PrimType)> {
    let target = match &arg.value {
        Value::Buffer(buffer) => {
            let zeros = buffer.shape.iter().map(|e| PrimExpr::int(0, e.dtype())).collect();
            PrimExpr::load(buffer, zeros)
        }
        _ => ev.to_scalar(arg)?,
    };
    let ty = match target.kind() {
        PrimKind::Load(buffer, ..) => PrimType::Pointer(Some(buffer.dtype), buffer.scope.clone()),
        PrimKind::Var(var) => PrimType::Pointer(Some(var.dtype()), "global".into()),
        _ => return Err(ev.expected(arg, "an element of a buffer")),
    };
    Ok((vec![target], ty))
}
