//! Inputs of legalizations: buffers and scalars.

use crate::dims;
use hammock_ir::{DType, PrimExpr, Tensor, tir::Buffer};

/// A tensor operand, an intermediate result, or a scalar that needs no memory.
#[derive(Clone, Debug)]
pub enum Input {
    /// A buffer.
    Buffer(Buffer),
    /// A scalar, of rank 0.
    Scalar(PrimExpr),
}

impl Input {
    /// Sizes of the dimensions.
    pub fn shape(&self) -> &[PrimExpr] {
        match self {
            Input::Buffer(b) => &b.shape,
            Input::Scalar(_) => &[],
        }
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Input::Buffer(b) => b.dtype,
            Input::Scalar(e) => e.dtype(),
        }
    }

    /// The element at these indices, one per dimension.
    pub fn at(&self, indices: &[PrimExpr]) -> PrimExpr {
        match self {
            Input::Buffer(b) => {
                debug_assert_eq!(b.ndim(), indices.len(), "indices of `{}`", b.name);
                PrimExpr::load(b, indices.to_vec())
            }
            Input::Scalar(e) => e.clone(),
        }
    }

    /// The element that broadcasts to these indices of a result of that shape, aligned at the last axis. A symbolic
    /// size may be 1 even if the result's is not.
    pub fn broadcast_to(&self, indices: &[PrimExpr], shape: &[PrimExpr]) -> PrimExpr {
        let skip = indices.len() - self.ndim();
        self.at(&broadcast_indices(self.shape(), &indices[skip..], &shape[skip..]))
    }

    /// The element at these indices as an int64, for use as an index.
    pub fn index_at(&self, indices: &[PrimExpr]) -> PrimExpr {
        self.at(indices).cast(DType::INT64)
    }
}

/// Maps indices of a result of sizes `shape` to those of an operand of sizes `own` that broadcasts to it.
pub fn broadcast_indices(own: &[PrimExpr], indices: &[PrimExpr], shape: &[PrimExpr]) -> Vec<PrimExpr> {
    let at = |((own, i), out): ((&PrimExpr, &PrimExpr), &PrimExpr)| match dims::equal(own, out) {
        Some(true) => i.clone(),
        _ if dims::is(own, 1) => PrimExpr::int64(0),
        _ => own.clone().eq(1i64).select(0i64.into(), i.clone()),
    };
    own.iter().zip(indices).zip(shape).map(at).collect()
}

/// The value of a rank-0 constant as an expression; `None` for other tensors and for element types that expressions do
/// not support.
pub fn scalar_constant(tensor: &Tensor) -> Option<PrimExpr> {
    if !tensor.shape().is_empty() {
        return None;
    }
    let dtype = tensor.dtype();
    let float = |v: f64| PrimExpr::float(v, dtype);
    let int = |v: i64| PrimExpr::int(v, dtype);
    fn first<T: hammock_runtime::Element>(t: &Tensor) -> Option<T> {
        t.as_slice::<T>().ok()?.first().copied()
    }
    match dtype {
        DType::FLOAT64 => first::<f64>(tensor).map(float),
        DType::FLOAT32 => first::<f32>(tensor).map(|v| float(v.into())),
        DType::FLOAT16 => first::<half::f16>(tensor).map(|v| float(v.into())),
        DType::BFLOAT16 => first::<half::bf16>(tensor).map(|v| float(v.into())),
        DType::BOOL => first::<bool>(tensor).map(|v| int(v.into())),
        DType::INT8 => first::<i8>(tensor).map(|v| int(v.into())),
        DType::INT16 => first::<i16>(tensor).map(|v| int(v.into())),
        DType::INT32 => first::<i32>(tensor).map(|v| int(v.into())),
        DType::INT64 => first::<i64>(tensor).map(int),
        DType::UINT8 => first::<u8>(tensor).map(|v| int(v.into())),
        DType::UINT16 => first::<u16>(tensor).map(|v| int(v.into())),
        DType::UINT32 => first::<u32>(tensor).map(|v| int(v.into())),
        DType::UINT64 => first::<u64>(tensor).map(|v| int(v as i64)),
        _ => None,
    }
}
