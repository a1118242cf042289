//! Arguments of kernels that are measured: tensors of the sizes that they are compiled for.

use hammock_interp::{Value, evaluate};
use hammock_ir::{
    DType, PrimExpr, Tensor,
    prim::{PrimType, Var},
    tir::PrimFunc,
};
use hammock_runtime::{Any, Device};

/// Maximum size in bytes of all arguments.
const MOST: usize = 2 << 30;

/// Arguments for a kernel whose variables have these sizes: numbers of about one, and zeros as integers, which may be
/// indices. None if it takes something else than tensors and their sizes, or too much.
pub fn arguments(func: &PrimFunc, sizes: &[(Var, i64)]) -> Option<Vec<Any>> {
    let mut random = fastrand::Rng::with_seed(1);
    let values: Vec<(Var, Value)> = sizes.iter().map(|(var, size)| (var.clone(), Value::Int(*size))).collect();
    let mut bytes = 0usize;
    let mut argument = |param: &hammock_ir::tir::Param| {
        let Some(buffer) = &param.buffer else {
            let size = sizes.iter().find(|(var, _)| *var == param.var).map(|(_, size)| *size);
            return size.filter(|_| matches!(param.var.ty(), PrimType::Scalar(_))).map(Any::from);
        };
        let size = |size: &PrimExpr| match evaluate(size, &values) {
            Ok(Value::Int(size)) => Some(size),
            _ => None,
        };
        let shape: Vec<i64> = buffer.shape.iter().map(size).collect::<Option<_>>()?;
        let count = shape.iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(*size).ok()?))?;
        bytes = bytes.checked_add(count.checked_mul(buffer.dtype.bytes())?)?;
        if bytes > MOST || !buffer.strides.is_empty() {
            return None;
        }
        let mut tensor = Tensor::empty(buffer.dtype, &shape, Device::CPU).ok()?;
        fill(tensor.as_bytes_mut().ok()?, buffer.dtype, &mut random);
        Some(Any::from(tensor))
    };
    func.params.iter().map(&mut argument).collect()
}

fn fill(bytes: &mut [u8], dtype: DType, random: &mut fastrand::Rng) {
    let element = dtype.element();
    match element.bytes() {
        4 if element.is_float() => {
            bytes.chunks_exact_mut(4).for_each(|x| x.copy_from_slice(&random.f32().to_le_bytes()))
        }
        8 if element.is_float() => {
            bytes.chunks_exact_mut(8).for_each(|x| x.copy_from_slice(&random.f64().to_le_bytes()))
        }
        // From one half to one, with an exponent that says so and random digits.
        2 if element.is_float16() => digits(bytes, 0x3800, 0x3ff, random),
        2 if element.is_bfloat16() => digits(bytes, 0x3f00, 0x7f, random),
        _ => bytes.fill(0),
    }
}

fn digits(bytes: &mut [u8], exponent: u16, mask: u16, random: &mut fastrand::Rng) {
    bytes.chunks_exact_mut(2).for_each(|x| x.copy_from_slice(&(exponent | random.u16(..) & mask).to_le_bytes()));
}
