//! LowerAllocTensor: makes every tensor a view of a storage.
//!
//! `R.builtin.alloc_tensor(shape, dtype)` becomes a storage of the right size and a tensor at its start. Storages that the
//! memory planner made stay as they are.

use crate::{
    Context, Pass,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, DType, Module, PrimExpr, Type,
    relax::{Binding, Call, Function, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "LowerAllocTensor",
    doc: "Splits tensor allocations into a storage and a tensor in it",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |_, _, function| rewrite::bindings(function, &mut lower))
}

fn lower(function: &mut Function, binding: Binding, out: &mut Emitter) -> Result<(), Diagnostic> {
    let Value::Call(call) = &binding.value else {
        out.push(binding);
        return Ok(());
    };
    let (true, [shape, dtype, device, scope]) = (call.is_op("builtin.alloc_tensor"), call.args.as_slice()) else {
        out.push(binding);
        return Ok(());
    };
    // If the shape is known only as a value, the size is computed at run time: the storage takes the shape and the
    // element type.
    let (size, unit) = match (shape, dtype) {
        (Operand::Shape(dims), Operand::DType(t)) => {
            (Operand::Shape(vec![bytes(dims, *t)]), Operand::DType(DType::UINT8))
        }
        _ => (shape.clone(), dtype.clone()),
    };
    let args = vec![size, device.clone(), scope.clone(), unit];
    let storage = Call::op("memory.alloc_storage", args, Attrs::new());
    let storage = out.bind(function, "storage", Type::Any, Value::Call(storage), binding.span);
    let args = vec![storage.into(), Operand::int(0), shape.clone(), dtype.clone(), device.clone()];
    out.push(Binding { value: Value::Call(Call::op("memory.alloc_tensor", args, Attrs::new())), ..binding });
    Ok(())
}

/// Returns the bytes of a contiguous tensor.
fn bytes(dims: &[PrimExpr], dtype: DType) -> PrimExpr {
    let mut fixed = dtype.bytes() as i64;
    let mut symbolic: Option<PrimExpr> = None;
    for dim in dims {
        match dim.as_int() {
            Some(n) => fixed = fixed.saturating_mul(n),
            None => symbolic = Some(symbolic.map_or_else(|| dim.clone(), |s| s * dim)),
        }
    }
    symbolic.map_or_else(|| PrimExpr::int64(fixed), |s| s * PrimExpr::int64(fixed))
}
