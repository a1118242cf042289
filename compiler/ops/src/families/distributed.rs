//! Distributed tensors: how they are spread over a mesh of devices.

use super::collective::{resized, shared};
use crate::{
    context::CallContext,
    op::{AttrKind, Op, OperandKind},
    rules::Inferred,
};
use hammock_ir::{AttrValue, DTensorType, Type, relax::InferError};
use std::sync::Arc;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        placed("dist.annotate_sharding", "Says how a tensor is to be spread over a mesh."),
        placed("dist.redistribute", "Spreads a tensor over a mesh in another way."),
        Op::new("dist.call_tir_local_view")
            .doc("Calls a TIR function on each device's part of distributed tensors.")
            .operand("gvar", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .infer(|cx| {
                let missing =
                    || cx.error("the types of the results are missing").help("give them as `out_ty=R.DTensor(…)`");
                match cx.call.ty_args.as_slice() {
                    [] => Err(missing()),
                    [one] => Ok(one.clone()),
                    several => Ok(Type::Tuple(several.to_vec())),
                }
            })
            .structural("LowerDistIR"),
        Op::new("dist.redistribute_replica_to_shard")
            .doc("Each worker's part of a tensor that all have.")
            .tensor("input")
            .required("num_workers", AttrKind::Int)
            .required("axis", AttrKind::Int)
            .infer(|cx| resized(cx, shared, |cx| cx.axis("axis", cx.tensor("input")?.ndim().unwrap_or(0))))
            .structural("LowerDistIR"),
    ]
}

fn placed(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .tensor("input")
        .required("device_mesh", AttrKind::Any)
        .required("placement", AttrKind::Any)
        .infer(infer_placed)
        .structural("PropagateSharding and LowerDistIR")
}

fn infer_placed(cx: &CallContext) -> Inferred {
    let tensor = cx.tensor("input")?;
    let wrong = |name: &str, what: &str| -> InferError { cx.error(format_args!("`{name}` must be {what}")) };
    let mesh = match cx.attr("device_mesh")? {
        AttrValue::DeviceMesh(mesh) => mesh.clone(),
        _ => return Err(wrong("device_mesh", "a mesh of the module, such as \"mesh[0]\"")),
    };
    let placement = match cx.attr("placement")? {
        AttrValue::Placement(p) | AttrValue::Str(p) => p.clone(),
        _ => return Err(wrong("placement", "how each axis of the mesh is used, such as \"S[0], R\"")),
    };
    Ok(Type::DTensor(Arc::new(DTensorType { tensor, mesh, placement })))
}
