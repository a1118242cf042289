//! Conditions of branches, as a separate step.
use crate::DType;
use crate::ffi::Error;
use crate::value::{Any, Device, Tensor};

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

/// Reads a condition from a number, or from a tensor of one integer or boolean on any device.
pub(super) fn read_if_cond(condition: &Any) -> Result<bool, Error> {
    if let Some(value) = condition.get::<bool>() {
        return Ok(value);
    }
    let tensor = condition.get::<&Tensor>().ok_or_else(|| not_a_condition(condition))?;
    let dtype = tensor.dtype();
    if !(dtype.is_integer() || dtype.is_bool()) || tensor.element_count() != 1 {
        return Err(not_a_condition(condition));
    }
    let host = tensor.to_device(Device::CPU)?.to_contiguous()?;
    Ok(host.as_bytes()?.iter().any(|byte| *byte != 0))
}

/// The error for a value that is not a condition.
#[cold]
pub(super) fn not_a_condition(value: &Any) -> Error {
    Error::type_error(format!("{value} is not a condition"))
}
