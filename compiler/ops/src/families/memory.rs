//! Memory: allocation, views and release, from graph level down to VM level.

use crate::{
    CallContext, dims,
    op::{NONE, Op, OperandKind},
    rules::{Inferred, same_as},
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = graph_level();
    ops.extend(storage_level());
    ops.extend(machine_level());
    ops
}

fn graph_level() -> Vec<Op> {
    vec![
        Op::new("builtin.alloc_tensor")
            .doc("Allocates a tensor with uninitialized elements.")
            .operand("shape", OperandKind::Shape)
            .operand("dtype", OperandKind::DType)
            .operand("runtime_device_index", OperandKind::Prim)
            .operand_or("storage_scope", OperandKind::Str, "global")
            .infer(infer_alloc)
            .unique()
            .structural("StaticPlanBlockMemory assigns it storage, LowerAllocTensor handles the rest"),
        Op::new("builtin.stop_lift_params")
            .doc("Returns its argument; its computation is not lifted out of the function.")
            .example("x: float32[2]", "x")
            .operand("x", OperandKind::Any)
            .infer(|cx| cx.ty("x"))
            .decompose(|cx, _| Ok(cx.operand("x")?.clone())),
        Op::new("memory.view")
            .doc("Views a tensor's memory with another shape, dtype or byte offset.")
            .example("x: float32[2, 3]", "x, R.shape([6])")
            .tensor("data")
            .view()
            .operand_or("shape", OperandKind::Shape, NONE)
            .operand_or("dtype", OperandKind::DType, NONE)
            .operand_or("relative_byte_offset", OperandKind::Prim, NONE)
            .complete(|call: &mut Call| {
                while call.args.len() < 4 {
                    call.args.push(Operand::Tuple(Vec::new()));
                }
            })
            .infer(infer_view)
            .structural("LowerRuntimeBuiltin"),
        Op::new("memory.ensure_zero_offset")
            .doc("Returns the tensor, or a copy if it does not start at the beginning of its memory.")
            .example("x: float32[2, 3]", "x")
            .tensor("data")
            .view()
            .infer(same_as("data"))
            .structural("LowerRuntimeBuiltin"),
    ]
}

fn storage_level() -> Vec<Op> {
    vec![
        Op::new("memory.alloc_storage")
            .doc("Allocates memory of the given size in bytes.")
            .operand("size", OperandKind::Shape)
            .operand("virtual_device_index", OperandKind::Prim)
            .operand("storage_scope", OperandKind::Str)
            .operand("dtype", OperandKind::DType)
            .infer(|_| Ok(Type::Any))
            .unique()
            .structural("LowerRuntimeBuiltin"),
        alloc_tensor("memory.alloc_tensor").structural("LowerRuntimeBuiltin"),
        release("memory.kill_storage", "storage", "Releases memory.").structural("LowerRuntimeBuiltin"),
        release("memory.kill_tensor", "tensor", "Marks a tensor as no longer used.").structural("LowerRuntimeBuiltin"),
    ]
}

const CODE: &str = "code generation calls the runtime function of that name";

fn machine_level() -> Vec<Op> {
    vec![
        Op::new("vm.alloc_storage")
            .doc("Allocates storage of the given size in bytes on a device.")
            .operand("size", OperandKind::Shape)
            .operand("runtime_device_index", OperandKind::Prim)
            .operand("dtype", OperandKind::DType)
            .operand_or("storage_scope", OperandKind::Str, "global")
            .infer(|_| Ok(Type::Any))
            .unique()
            .structural(CODE),
        alloc_tensor("vm.alloc_tensor").structural(CODE),
        release("vm.kill_object", "obj", "Releases the value in a register.").structural(CODE),
        Op::new("vm.call_tir_dyn")
            .doc("Calls a TIR function, appending the sizes of a shape to its arguments.")
            .operand("func", OperandKind::Function)
            .operand("args", OperandKind::Any)
            .impure()
            .infer(|_| Ok(Type::void()))
            .structural(CODE),
    ]
}

fn alloc_tensor(name: &'static str) -> Op {
    Op::new(name)
        .doc("Creates a tensor in allocated storage, `offset` bytes from its start.")
        .operand("storage", OperandKind::Any)
        .operand("offset", OperandKind::Prim)
        .operand("shape", OperandKind::Shape)
        .operand("dtype", OperandKind::DType)
        .operand_or("runtime_device_ind", OperandKind::Prim, 0i64)
        .infer(infer_alloc)
        .unique()
}

fn release(name: &'static str, param: &'static str, doc: &'static str) -> Op {
    Op::new(name).doc(doc).operand(param, OperandKind::Any).impure().infer(|_| Ok(Type::void()))
}

/// The type of a tensor whose shape and dtype are operands.
fn infer_alloc(cx: &CallContext) -> Inferred {
    let dtype = match cx.operand("dtype")? {
        Operand::DType(t) => Some(*t),
        _ => None,
    };
    Ok(TensorType { shape: shape_operand(cx, "shape")?, dtype, vdevice: None }.into())
}

/// The tensor shape given by a shape operand.
fn shape_operand(cx: &CallContext, param: &str) -> Result<TensorShape, InferError> {
    Ok(match (cx.shape(param)?, cx.operand(param)?) {
        (ShapeType::Known(dims), _) => TensorShape::Known(dims),
        (unknown, Operand::Var(v)) => TensorShape::Var(*v, unknown.ndim()),
        (unknown, _) => unknown.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
    })
}

fn infer_view(cx: &CallContext) -> Inferred {
    let data = cx.tensor("data")?;
    let shape = match cx.optional("shape") {
        Some(_) => shape_operand(cx, "shape")?,
        None => data.shape.clone(),
    };
    let dtype = match cx.optional("dtype") {
        Some(Operand::DType(t)) => Some(*t),
        Some(_) => None,
        None => data.dtype,
    };
    let offset = match cx.optional("relative_byte_offset") {
        Some(_) => cx.prim("relative_byte_offset")?,
        None => PrimExpr::int64(0),
    };
    let view = TensorType { shape, dtype, vdevice: data.vdevice.clone() };
    if let (Some(have), Some(need), Some(start)) = (bytes(&data), bytes(&view), offset.as_int()) {
        if start < 0 {
            return Err(cx.error_at(
                "relative_byte_offset",
                format_args!("`relative_byte_offset` must not be negative, but it is {start}"),
            ));
        }
        if need.saturating_add(start) > have {
            return Err(cx.error_at(
                "shape",
                format_args!("the view ends at byte {}, but `data` has only {have}", need.saturating_add(start)),
            ));
        }
    }
    Ok(view.into())
}

/// Size in bytes of a tensor of known shape.
fn bytes(ty: &TensorType) -> Option<i64> {
    let count = dims::product(ty.dims()?).as_int()?;
    let size: usize = ty.dtype?.storage_bytes(usize::try_from(count).ok()?)?;
    i64::try_from(size).ok()
}
