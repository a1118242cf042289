//! Distributed tensors, sharded over a mesh of devices.

pub mod collective;

use crate::{
    CallContext, dims,
    legalize::Emit,
    op::{AttrKind, Op, OperandKind},
    rules::Inferred,
};
use collective::{num_workers, shard_size, with_axis_size};
use hammock_ir::{
    AttrValue, Attrs, DTensorType, Type,
    prim::Var,
    relax::{Call, Callee, InferError, Operand, Value},
    types::ShapeType,
};
use std::sync::Arc;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        placed(
            "dist.annotate_sharding",
            "Annotates the sharding of a tensor over a device mesh; its type does not change.",
        )
        .infer(|cx| cx.ty("input")),
        placed("dist.redistribute", "Redistributes a tensor over a device mesh.").infer(infer_placed),
        Op::new("dist.call_tir_local_view")
            .doc("Calls a TIR function on each device's local part of distributed tensors.")
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
            .doc("Takes each worker's shard of a replicated tensor.")
            .example("x: float32[2, 3]", "x, num_workers=1, axis=0")
            .tensor("input")
            .required("num_workers", AttrKind::Int)
            .required("axis", AttrKind::Int)
            .infer(|cx| with_axis_size(cx, shard_size, shard_axis))
            .decompose(decompose_shard),
    ]
}

fn placed(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .tensor("input")
        .required("device_mesh", AttrKind::Mesh)
        .required("placement", AttrKind::Any)
        .structural("PropagateSharding and LowerDistIR")
}

fn infer_placed(cx: &CallContext) -> Inferred {
    let tensor = cx.tensor("input")?;
    let wrong = |name: &str, what: &str| -> InferError { cx.error_at(name, format_args!("`{name}` must be {what}")) };
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

fn shard_axis(cx: &CallContext) -> Result<usize, InferError> {
    cx.axis("axis", cx.tensor("input")?.ndim().unwrap_or(0))
}

/// Queries the worker's index from the runtime, and takes that worker's slice.
fn decompose_shard(cx: &CallContext, emit: &mut dyn Emit) -> Result<Operand, InferError> {
    let input = cx.tensor("input")?;
    let Some(sizes) = input.dims() else {
        return Err(cx.error_at("input", "cannot be compiled while the shape of `input` is not known"));
    };
    let (workers, axis) = (num_workers(cx)?, shard_axis(cx)?);
    let asks = Call {
        callee: Callee::Op("call_pure_packed"),
        args: vec![Operand::Extern("runtime.disco.worker_id".into())],
        attrs: Attrs::new(),
        ty_args: vec![Type::Shape(ShapeType::Unknown)],
    };
    let answer = emit.emit(Value::Call(asks))?;
    let worker = Var::int64("worker_id");
    emit.emit(Value::MatchCast(answer, Type::shape([worker.expr()])))?;
    let share = dims::floordiv(&sizes[axis], &workers.into());
    let begin = dims::mul(&worker.expr(), &share);
    let end = dims::mul(&dims::offset(&worker.expr(), 1), &share);
    let one = |operand| Operand::Tuple(vec![operand]);
    let bounds = [Operand::int(axis as i64), Operand::Prim(begin), Operand::Prim(end)].map(one);
    let args = [cx.operand("input")?.clone()].into_iter().chain(bounds).collect();
    emit.op("strided_slice", args, [("assume_inbound", true.into())])
}
