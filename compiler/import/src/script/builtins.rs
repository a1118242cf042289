//! Names that belong to no dialect: `I.…`, `tvm.…`, `float("inf")`, the metadata section.

use super::{
    args::{Arg, Args},
    context::Read,
    devices,
    eval::{Dialect, Eval},
    path::{Path, Space},
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{AttrValue, PrimExpr, Type, relax::Operand};

/// Calls of `I.…`.
pub(crate) const IR_CALLS: [&str; 10] = [
    "dummy_global_info",
    "vdevice",
    "Range",
    "StringType",
    "StringImm",
    "meta_var",
    "GenericConst",
    "module_attrs",
    "module_global_infos",
    "load_json",
];

/// A call of something in a namespace that has the same meaning in both dialects.
pub(crate) fn call<D: Dialect>(ev: &mut Eval<'_, '_, D>, path: &Path, args: Args) -> Read<Value> {
    match path.space {
        Space::Tir => super::intrinsics::call(ev, &path.name, args),
        Space::Ir => ir_call(ev, path, args),
        Space::Relax if super::types::TYPES.contains(&&*path.name) => ev.type_call(&path.name, args),
        Space::Relax if matches!(&*path.name, "device_mesh" | "dist.device_mesh") => devices::device_mesh(ev, args),
        Space::Relax if path.name == "dist.placement" => {
            let arg = ev.first(args)?;
            ev.to_str(&arg).map(|text| Value::Attr(AttrValue::Placement(text)))
        }
        Space::Tvm if path.name == "target.Target" => devices::target(ev, args),
        Space::Python if matches!(&*path.name, "float" | "int") => number(ev, &path.name, args),
        _ => Err(ev.unknown(path, args.callee_span, &[])),
    }
}

/// Returns true if a name of `R` is handled here.
pub(crate) fn is_builtin(path: &Path) -> bool {
    let name = &*path.name;
    super::types::TYPES.contains(&name) || matches!(name, "device_mesh" | "dist.device_mesh" | "dist.placement")
}

fn ir_call<D: Dialect>(ev: &mut Eval<'_, '_, D>, path: &Path, mut args: Args) -> Read<Value> {
    let value = match &*path.name {
        "vdevice" => return devices::vdevice(ev, args),
        "Range" => {
            let begin = args.need(ev.cx, "begin")?;
            let end = args.take("end");
            ev.range(begin, end)?
        }
        "StringType" => Value::Type(Type::String),
        "StringImm" => Value::Str(args.need(ev.cx, "value").and_then(|arg| ev.to_str(&arg))?),
        "dummy_global_info" => Value::Attr(AttrValue::Opaque("ir.DummyGlobalInfo".into(), "".into())),
        "meta_var" => args.need(ev.cx, "value")?.value,
        _ => return Err(ev.unknown(path, args.callee_span, &IR_CALLS)),
    };
    args.finish(ev.cx)?;
    Ok(value)
}

impl<D: Dialect> Eval<'_, '_, D> {
    /// `Range(begin, end)`, as first value and extent.
    pub fn range(&mut self, begin: Arg, end: Option<Arg>) -> Read<Value> {
        match end {
            None => {
                let end = self.to_scalar(&begin)?;
                Ok(Value::Range(PrimExpr::int(0, end.dtype()), end))
            }
            Some(end) => {
                let (min, max) = self.scalar_pair(&begin, &end)?;
                let extent = self.difference(max, &min, end.span)?;
                Ok(Value::Range(min, extent))
            }
        }
    }

    /// `end - begin`, the extent of a range.
    pub fn difference(&mut self, end: PrimExpr, begin: &PrimExpr, span: Span) -> Read<PrimExpr> {
        if begin.as_int() == Some(0) {
            return Ok(end);
        }
        let result = super::operators::binary(hammock_ir::prim::BinaryOp::Sub, end, begin.clone());
        result.map_err(|why| self.cx.error(codes::SCALAR_MISMATCH, span, why, ""))
    }
}

/// `R.ExternFunc("symbol", type)`
pub(crate) fn extern_func<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let symbol = args.need(ev.cx, "global_symbol")?;
    let ty = args.take("ty").or_else(|| args.any_keyword(&["struct_info", "sinfo"]));
    args.finish(ev.cx)?;
    if let Some(ty) = ty {
        ev.to_type(&ty)?;
    }
    ev.to_str(&symbol).map(|symbol| Value::Operand(Operand::Extern(symbol)))
}

/// `float("inf")`, `int(3)`
fn number<D: Dialect>(ev: &mut Eval<'_, '_, D>, name: &str, mut args: Args) -> Read<Value> {
    let value = args.need(ev.cx, "value")?;
    args.finish(ev.cx)?;
    match name {
        "float" => ev.to_float(&value).map(Value::Float),
        _ => ev.to_int(&value).map(|v| Value::Int(i128::from(v))),
    }
}
