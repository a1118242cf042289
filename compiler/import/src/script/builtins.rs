//! Names that belong to no dialect: `I.…`, `tvm.…`, `float("inf")`, the metadata section.

use super::{
    args::{Arg, Args},
    context::{Read, Reported},
    eval::{Dialect, Eval},
    path::{Path, Space},
    suggest,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{AttrValue, DeviceMesh, Name, PrimExpr, Type, VDevice};
use std::sync::Arc;

/// Calls of `I.…`.
const IR_CALLS: [&str; 10] = [
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
        Space::Relax if matches!(&*path.name, "device_mesh" | "dist.device_mesh") => device_mesh(ev, args),
        Space::Relax if path.name == "dist.placement" => {
            let arg = ev.first(args)?;
            ev.to_str(&arg).map(|text| Value::Attr(AttrValue::Placement(text)))
        }
        Space::Tvm if path.name == "target.Target" => target(ev, args),
        Space::Python if matches!(&*path.name, "float" | "int") => number(ev, &path.name, args),
        _ => Err(unknown(ev, path, args.callee_span, &[])),
    }
}

/// Returns true if a name of `R` is handled here.
pub(crate) fn is_builtin(path: &Path) -> bool {
    let name = &*path.name;
    super::types::TYPES.contains(&name) || matches!(name, "device_mesh" | "dist.device_mesh" | "dist.placement")
}

/// Records that a namespace has no such name.
pub(crate) fn unknown<D: Dialect>(ev: &mut Eval<'_, '_, D>, path: &Path, span: Span, known: &[&str]) -> Reported {
    let (message, help) = match path.space {
        Space::Python => {
            let help = "the text is read, not run: only `R`, `T` and `I` have a meaning";
            (format!("`{path}` cannot be called here"), Some(help))
        }
        _ => (format!("there is no `{path}`"), None),
    };
    // Kernels have no operators, and graphs no functions of kernels.
    let elsewhere = || D::namesake(&path.name).filter(|other| *other != path.to_string());
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION, message).label(span, "");
    if let Some(near) = suggest::nearest_path(&path.name, known) {
        let near = Path::new(path.space, near);
        diagnostic = diagnostic.did_you_mean(span, near.to_string());
    } else if let Some(other) = elsewhere() {
        diagnostic = diagnostic.did_you_mean(span, other);
    } else if let Some(help) = help {
        diagnostic = diagnostic.help(help);
    } else if path.space == Space::Relax && known.is_empty() {
        diagnostic = diagnostic.help(
            "operators of `R` compute whole tensors in an `@R.function`; a kernel computes elements, one after the other",
        );
    }
    ev.cx.report(diagnostic)
}

fn ir_call<D: Dialect>(ev: &mut Eval<'_, '_, D>, path: &Path, mut args: Args) -> Read<Value> {
    let value = match &*path.name {
        "vdevice" => return vdevice(ev, args),
        "Range" => {
            let begin = args.need(ev.cx, "begin")?;
            let end = args.take("end");
            ev.range(begin, end)?
        }
        "StringType" => Value::Type(Type::String),
        "StringImm" => Value::Str(args.need(ev.cx, "value").and_then(|arg| ev.to_str(&arg))?),
        "dummy_global_info" => Value::Attr(AttrValue::Opaque("ir.DummyGlobalInfo".into(), "".into())),
        "meta_var" => args.need(ev.cx, "value")?.value,
        _ => return Err(unknown(ev, path, args.callee_span, &IR_CALLS)),
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

    /// A device of the module: `"llvm:0:global"`, `"cuda:1"`, `"llvm"`.
    pub fn to_vdevice(&mut self, arg: &Arg) -> Read<Arc<VDevice>> {
        if let Value::Attr(AttrValue::VDevice(device)) = &arg.value {
            return Ok(device.clone());
        }
        let text = self.to_str(arg)?;
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let index: usize = parts.next().map_or(Ok(0), str::parse).unwrap_or(usize::MAX);
        let devices = self.cx.module.global_infos.values().flatten().filter_map(|info| match info {
            hammock_ir::GlobalInfo::VDevice(device) => Some(device),
            _ => None,
        });
        let found = devices.filter(|device| device.kind() == kind).nth(index).cloned();
        found.ok_or_else(|| {
            let message = format!("the module declares no device `{text}`");
            let diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, message).label(arg.span, "");
            self.cx.report(
                diagnostic
                    .help("devices are declared by `I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\")]})`"),
            )
        })
    }

    /// A mesh, or the name of one of the module's, `"mesh[0]"`.
    pub fn to_mesh(&mut self, arg: &Arg) -> Read<Arc<DeviceMesh>> {
        if let Value::Attr(AttrValue::DeviceMesh(mesh)) = &arg.value {
            return Ok(mesh.clone());
        }
        let text = self.to_str(arg)?;
        let found = text.strip_suffix(']').and_then(|t| t.split_once('[')).and_then(|(name, index)| {
            match self.cx.module.global_infos.get(name)?.get(index.parse::<usize>().ok()?)? {
                hammock_ir::GlobalInfo::DeviceMesh(mesh) => Some(mesh.clone()),
                _ => None,
            }
        });
        found.ok_or_else(|| {
            self.cx.error(codes::UNDEFINED_NAME, arg.span, format!("the module declares no mesh `{text}`"), "")
        })
    }
}

impl<D: Dialect> Eval<'_, '_, D> {
    /// A placement: `"S[0], R"`.
    pub fn to_placement(&mut self, arg: &Arg) -> Read<Name> {
        match &arg.value {
            Value::Attr(AttrValue::Placement(text)) => Ok(text.clone()),
            _ => self.to_str(arg),
        }
    }
}

/// `I.vdevice(target, 0, "global")`
fn vdevice<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let target = args.take("target");
    let index = args.take("vdevice_id");
    let scope = args.take("memory_scope");
    args.finish(ev.cx)?;
    let target = target.map_or(Ok(Vec::new()), |arg| target_of(ev, &arg))?;
    let index = index.map_or(Ok(0), |arg| ev.to_int(&arg))?;
    let scope = scope.map_or(Ok("global".into()), |arg| ev.to_str(&arg))?;
    Ok(Value::Attr(AttrValue::VDevice(Arc::new(VDevice { target, index, scope }))))
}

/// `R.device_mesh((2, 2), I.Range(0, 4))`
fn device_mesh<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let shape = args.need(ev.cx, "shape")?;
    let ids = args.need(ev.cx, "device_ids")?;
    args.finish(ev.cx)?;
    let shape = ev.to_ints(&shape)?;
    let mesh = match &ids.value {
        Value::Range(min, extent) => match (min.as_int(), extent.as_int()) {
            (Some(min), Some(n)) if (0..=1 << 20).contains(&n) => {
                DeviceMesh { shape, ids: (min..min + n).collect(), range: Some((min, min + n)) }
            }
            _ => return Err(ev.expected(&ids, "a range of device numbers")),
        },
        _ => DeviceMesh { shape, ids: ev.to_ints(&ids)?, range: None },
    };
    Ok(Value::Attr(AttrValue::DeviceMesh(Arc::new(mesh))))
}

/// `T.target({…}, host=…)`, `T.target("llvm -mcpu=…")`
pub(crate) fn target<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
    let config = args.need(ev.cx, "target_config")?;
    let host = args.take("host").filter(|arg| !matches!(arg.value, Value::None));
    args.finish(ev.cx)?;
    let mut pairs = target_of(ev, &config)?;
    if let Some(host) = host {
        pairs.push(("host".into(), AttrValue::Dict(target_of(ev, &host)?)));
    }
    Ok(Value::Attr(AttrValue::Target(pairs)))
}

/// A target's dictionary; a string is parsed into kind and options.
fn target_of<D: Dialect>(ev: &mut Eval<'_, '_, D>, arg: &Arg) -> Read<Vec<(AttrValue, AttrValue)>> {
    match &arg.value {
        Value::Str(text) => Ok(VDevice::target_of_text(text)),
        _ => ev.to_dict(arg),
    }
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

/// `metadata["ir.GenericConst"]`, and `[i]` of that.
pub(crate) fn metadata_entry<D: Dialect>(ev: &mut Eval<'_, '_, D>, on: &Value, index: Arg, span: Span) -> Read<Value> {
    match on {
        Value::MetadataOf(key) => {
            let at = ev.to_int(&index)?;
            ev.cx.metadata_value(key, at, span)
        }
        _ => ev.to_str(&index).map(|key| Value::MetadataOf(Name::from(&*key))),
    }
}
