//! Conditions, as separate steps.
use super::builtins::read_if_cond;
use crate::DType;
use crate::ffi::Error;
use crate::value::{Any, Tensor};

/// Does a condition hold? Boolean tensors without dimensions, the usual ones, are read in place.
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

/// What is wrong with a value that is neither zero nor another integer.
#[cold]
pub(super) fn no_condition(value: &Any) -> Error {
    Error::type_error(format!("{value} is not a condition"))
}
