//! Constant indices.

use crate::CallContext;
use hammock_ir::{
    DType, PrimExpr, Tensor,
    relax::{InferError, Operand},
};

/// Checks constant indices against the sizes they index, one per size and row. Negative indices count from the end.
///
/// # Errors
/// When one is out of bounds.
pub fn expect_inside(cx: &CallContext, param: &str, operand: &Operand, sizes: &[PrimExpr]) -> Result<(), InferError> {
    let Some(indices) = constants(operand) else { return Ok(()) };
    let outside = |(index, size): (i64, &PrimExpr)| {
        let size = size.as_int()?;
        (index >= size || index < -size).then_some((index, size))
    };
    match indices.into_iter().zip(sizes.iter().cycle()).find_map(outside) {
        Some((index, size)) => {
            let error = cx.error_at(param, format_args!("`{param}` holds {index}, but the size of the axis is {size}"));
            Err(error.help(format!("indices must be at least {} and less than {size}", -size)))
        }
        None => Ok(()),
    }
}

/// The same for a tuple of indices, one for each of these sizes.
///
/// # Errors
/// When one is out of bounds.
pub fn expect_all_inside(cx: &CallContext, param: &str, sizes: &[PrimExpr]) -> Result<(), InferError> {
    match cx.operand(param)? {
        Operand::Tuple(indices) => {
            let mut pairs = indices.iter().zip(sizes);
            pairs.try_for_each(|(index, size)| expect_inside(cx, param, index, std::slice::from_ref(size)))
        }
        _ => Ok(()),
    }
}

/// Positions `begin + step * i` in an axis.
pub struct Progression {
    /// The first position.
    pub begin: i64,
    /// Distance from one position to the next.
    pub step: i64,
}

impl Progression {
    /// Returns the progression that a constant vector of indices of an axis of `size` elements is; negative indices count
    /// from the end. `None` for any other indices, and if one is out of bounds.
    pub fn of(indices: &Operand, size: &PrimExpr) -> Option<Progression> {
        let size = size.as_int()?;
        let Operand::Const(vector) = indices else { return None };
        let values = integers(&vector.tensor).filter(|_| vector.tensor.shape().len() == 1)?;
        let is_inside = values.iter().all(|value| (-size..size).contains(value));
        let positions: Vec<i64> = values.iter().map(|value| value.rem_euclid(size.max(1))).collect();
        let (begin, second) = (*positions.first()?, *positions.get(1)?);
        let step = second - begin;
        let is_next = |pair: &[i64]| pair[1] - pair[0] == step;
        (is_inside && positions.windows(2).all(is_next)).then_some(Progression { begin, step })
    }
}

fn constants(operand: &Operand) -> Option<Vec<i64>> {
    match operand {
        Operand::Prim(e) => e.as_int().map(|v| vec![v]),
        Operand::Const(c) => integers(&c.tensor),
        _ => None,
    }
}

/// The elements of a tensor of integers.
fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    fn widened<T: hammock_runtime::Element + Into<i64>>(tensor: &Tensor) -> Option<Vec<i64>> {
        Some(tensor.as_slice::<T>().ok()?.iter().map(|v| (*v).into()).collect())
    }
    match tensor.dtype() {
        DType::INT8 => widened::<i8>(tensor),
        DType::INT16 => widened::<i16>(tensor),
        DType::INT32 => widened::<i32>(tensor),
        DType::INT64 => widened::<i64>(tensor),
        DType::UINT8 => widened::<u8>(tensor),
        DType::UINT16 => widened::<u16>(tensor),
        DType::UINT32 => widened::<u32>(tensor),
        _ => None,
    }
}
