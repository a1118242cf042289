//! Conditions of branches, as a separate step.
use super::builtins::read_if_cond;
use crate::DType;
use crate::ffi::Error;
use crate::value::{Any, Tensor};

/// Evaluates a condition. Boolean scalar tensors, the usual ones, are read in place.
#[inline]
pub(super) fn holds(condition: &Any) -> Result<bool, Error> {
    if let Some(tensor) = condition.get::<&Tensor>() {
        let dl = tensor.as_dl();
        if dl.ndim == 0 && dl.dtype == DType::BOOL && dl.device.is_host() {
            // SAFETY: a tensor without dimensions has one element, a byte here.
            return Ok(unsafe { tensor.data_ptr().read() } != 0);
        }
    }
    read_if_cond(condition)
}

/// The error for a value that is not a condition.
#[cold]
pub(super) fn not_a_condition(value: &Any) -> Error {
    Error::type_error(format!("{value} is not a condition"))
}
