//! Targets, devices and meshes of devices.

use super::{
    args::{Arg, Args},
    context::Read,
    eval::{Dialect, Eval},
    value::Value,
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{AttrValue, DeviceMesh, Name, VDevice};
use std::sync::Arc;

impl<D: Dialect> Eval<'_, '_, D> {
    /// A device of the module: `"llvm:0:global"`, `"cuda:1"`, `"llvm"`.
    pub fn to_vdevice(&mut self, arg: &Arg) -> Read<Arc<VDevice>> {
        if let Value::Attr(AttrValue::VDevice(device)) = &arg.value {
            return Ok(device.clone());
        }
        let text = self.to_str(arg)?;
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let index: usize = parts.next().map_or(Ok(0), str::parse).unwrap_or(usize::MAX);
        let found = self.cx.module.vdevices().filter(|device| device.kind() == kind).nth(index).cloned();
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

    /// A placement: `"S[0], R"`.
    pub fn to_placement(&mut self, arg: &Arg) -> Read<Name> {
        match &arg.value {
            Value::Attr(AttrValue::Placement(text)) => Ok(text.clone()),
            _ => self.to_str(arg),
        }
    }
}

/// `I.vdevice(target, 0, "global")`
pub(crate) fn vdevice<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
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
pub(crate) fn device_mesh<D: Dialect>(ev: &mut Eval<'_, '_, D>, mut args: Args) -> Read<Value> {
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
