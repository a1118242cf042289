//! UpdateVDevice: replaces a device of the module by another, wherever tensors are on it.

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, devices},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, GlobalInfo, Module, VDevice,
    relax::{Body, Operand, Value},
};
use serde_json::Value as Json;
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "UpdateVDevice",
    doc: "Replaces one of the module's devices by another",
    options: &[
        PassOption { name: "new_vdevice", kind: OptionKind::Device, default: "{}", doc: "New device" },
        PassOption {
            name: "index",
            kind: OptionKind::Integer,
            default: "0",
            doc: "Index of the old device among those that the module declares",
        },
    ],
    run,
};

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_PASS_OPTIONS, format!("pass `UpdateVDevice`: {message}"))
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let new = Arc::new(device(context.options.entries("new_vdevice"))?);
    let index = context.options.integer("index");
    let old = old_device(module, index)?;
    for info in module.global_infos.values_mut().flatten() {
        if let GlobalInfo::VDevice(device) = info {
            replace(device, &old, &new);
        }
    }
    rewrite::relax_functions(module, |module, _, function| {
        devices::each_type_mut(function, &mut |ty| {
            ty.each_tensor_mut(&mut |tensor| {
                if let Some(device) = &mut tensor.vdevice {
                    replace(device, &old, &new);
                }
            });
        });
        in_body(&mut function.lambda.body, &old, &new);
        devices::set_result_device(module, function);
        Ok(())
    })
}

/// Returns the module's device of this index.
fn old_device(module: &Module, index: i64) -> Result<Arc<VDevice>, Diagnostic> {
    let declared: Vec<_> = module.global_infos.get("vdevice").into_iter().flatten().collect();
    let found = usize::try_from(index).ok().and_then(|index| declared.get(index));
    match found {
        Some(GlobalInfo::VDevice(device)) => Ok(device.clone()),
        Some(_) => Err(wrong(format!("entry {index} of the module's devices is none"))),
        None => {
            let count = hammock_ir::count(declared.len(), "device");
            let error = wrong(format!("there is no device {index}: the module declares {count}"));
            Err(error.help("devices are declared by `I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\")]})`"))
        }
    }
}

/// Returns the device that an option describes.
fn device(entries: Vec<(String, Json)>) -> Result<VDevice, Diagnostic> {
    let get = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let target = match get("target") {
        Some(Json::String(text)) => VDevice::target_of_text(text),
        Some(Json::Object(map)) => map.iter().map(|(key, value)| (key.as_str().into(), attr(value))).collect(),
        _ => {
            let error = wrong("option `new_vdevice` has no `target`".to_owned());
            return Err(
                error.help("write `UpdateVDevice{new_vdevice={\"target\": \"cuda\", \"vdevice_id\": 1},index=0}`")
            );
        }
    };
    let index = get("vdevice_id").and_then(Json::as_i64).unwrap_or(0);
    let scope = get("memory_scope").and_then(Json::as_str).unwrap_or("global").into();
    Ok(VDevice { target, index, scope })
}

fn attr(value: &Json) -> AttrValue {
    match value {
        Json::Null => AttrValue::None,
        Json::Bool(v) => AttrValue::Bool(*v),
        Json::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap_or(0.0).into(), AttrValue::Int),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => AttrValue::List(items.iter().map(attr).collect()),
        Json::Object(map) => AttrValue::Dict(map.iter().map(|(key, v)| (key.as_str().into(), attr(v))).collect()),
    }
}

fn replace(device: &mut Arc<VDevice>, old: &Arc<VDevice>, new: &Arc<VDevice>) {
    if Arc::ptr_eq(device, old) {
        *device = new.clone();
    }
}

/// Replaces the device in constants, and in operators that copy to a device.
fn in_body(body: &mut Body, old: &Arc<VDevice>, new: &Arc<VDevice>) {
    let mut replace_in = |operand: &mut Operand| {
        operand.map(&mut |o| {
            if let Operand::Const(constant) = o
                && let Some(device) = &mut constant.vdevice
            {
                replace(device, old, new);
            }
        });
    };
    replace_in(&mut body.result);
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        binding.value.each_operand_mut(&mut replace_in);
        if let Value::Call(call) = &mut binding.value {
            for (_, value) in call.attrs.iter_mut() {
                if let AttrValue::VDevice(device) = value {
                    replace(device, old, new);
                }
            }
        }
        binding.value.each_body_mut(&mut |nested| in_body(nested, old, new));
    }
}
