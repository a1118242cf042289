//! Placement of tensors on devices.

use crate::{
    CallContext,
    op::{AttrKind, Op},
    rules::Inferred,
};
use hammock_ir::{AttrValue, TensorType};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        Op::new("to_vdevice")
            .doc("Copies a tensor to a device.")
            .tensor("data")
            .required("dst_vdevice", AttrKind::VDevice)
            .infer(infer_to_vdevice)
            .structural("LowerRuntimeBuiltin"),
        // In the text the device is written `R.device(device_type=…, index=…)`.
        Op::new("hint_on_device")
            .doc("Annotates the device that a tensor is on, or should be on.")
            .tensor("data")
            .required("device_type", AttrKind::Int)
            .attr("index", AttrKind::Int, 0i64)
            .attr("memory_scope", AttrKind::Str, "global")
            .infer(infer_hint)
            .structural("LowerRuntimeBuiltin"),
    ]
}

fn infer_to_vdevice(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    match cx.attr("dst_vdevice")? {
        AttrValue::VDevice(device) => Ok(TensorType { vdevice: Some(device.clone()), ..data }.into()),
        _ => Err(cx.error_at("dst_vdevice", "`dst_vdevice` must be a device of the module, such as \"llvm:0\"")),
    }
}

/// The result is on the hinted device; without one in the module, RealizeVDevice rejects the hint.
fn infer_hint(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let (kind, index) = (cx.attr("device_type")?.as_int(), cx.attr("index")?.as_int());
    let hinted = cx.module.vdevices().find(|device| Some(device.device_type()) == kind && Some(device.index) == index);
    let hinted = hinted.cloned();
    Ok(TensorType { vdevice: hinted.or_else(|| data.vdevice.clone()), ..data }.into())
}
