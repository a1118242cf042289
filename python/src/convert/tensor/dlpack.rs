//! DLPack: tensors to and from other frameworks, without a copy.
use super::{Tensor as TensorObject, array};
use crate::error::raise;
use hammock_runtime::ffi::dlpack::{ManagedTensor, ManagedTensorVersioned, VERSION};
use hammock_runtime::memory::{Allocator, AllocatorKind};
use hammock_runtime::value::device_kind;
use hammock_runtime::{Device, Error, Tensor, device};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    ffi,
    prelude::*,
    types::{PyCapsule, PyDict},
};
use std::ffi::{CStr, c_char};

const PLAIN: &CStr = c"dltensor";
const USED_PLAIN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// DLPack's number of CUDA's legacy default stream. The stream of a device waits for its work, and it for theirs.
const DEFAULT_STREAM: i32 = 1;

/// The tensor of an object with `__dlpack__`, on any device.
///
/// # Errors
/// If the producer refuses.
pub fn import(producer: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = producer.py();
    let how = PyDict::new(py);
    if is_on_cuda(producer)? {
        how.set_item("stream", DEFAULT_STREAM)?;
    }
    let versioned = how.copy()?;
    versioned.set_item("max_version", (VERSION.major, VERSION.minor))?;
    let capsule = match producer.call_method("__dlpack__", (), Some(&versioned)) {
        // Producers of before version 1 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => producer.call_method("__dlpack__", (), Some(&how))?,
        other => other?,
    };
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|error| {
        let class = error.into_inner().get_type();
        PyTypeError::new_err(format!("`__dlpack__` returned {class}, not a capsule"))
    })?;
    let tensor = take(&capsule)?;
    if !tensor.device().is_host() {
        // The host copies elements that are not contiguous; they are copied back where a model needs them.
        return if tensor.is_contiguous() { Ok(tensor) } else { tensor.to_device(Device::CPU).map_err(raise) };
    }
    let tensor = tensor.to_contiguous().map_err(|error| raise(error.into()))?;
    if array::is_aligned(tensor.data_ptr(), tensor.dtype()) {
        return Ok(tensor);
    }
    copied(&tensor)
}

/// Returns true if the producer says that its memory is that of a CUDA device.
fn is_on_cuda(producer: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(device) = producer.getattr_opt("__dlpack_device__")? else { return Ok(false) };
    let (kind, _): (i32, i32) = device.call0()?.extract()?;
    Ok(kind == device_kind::CUDA)
}

/// A contiguous copy, in memory of its own on the same device.
///
/// # Errors
/// If there is not enough memory.
pub fn copied(tensor: &Tensor) -> PyResult<Tensor> {
    let copy = || {
        if !tensor.device().is_host() {
            let copy = tensor.copy_into(&*Allocator::new(tensor.device(), AllocatorKind::Naive, usize::MAX)?)?;
            // Consumers use it in streams of their own.
            device::find(tensor.device())?.create_stream()?.synchronize()?;
            return Ok(copy);
        }
        let dense = tensor.to_contiguous()?;
        Ok(Tensor::from_bytes(dense.dtype(), dense.shape(), dense.as_bytes()?)?)
    };
    copy().map_err(|error: Error| raise(error))
}

/// The torch tensor that shares a tensor's memory; a copy if it must not be written, which torch cannot express.
///
/// # Errors
/// If torch is not installed, or lacks the dtype.
pub fn to_torch<'py>(tensor: Bound<'py, TensorObject>) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    let from_dlpack = py.import("torch")?.getattr("from_dlpack")?;
    let data = &tensor.get().0;
    if data.is_read_only() {
        return from_dlpack.call1((TensorObject(copied(data)?),));
    }
    from_dlpack.call1((tensor,))
}

/// Takes the tensor out of a capsule, which is marked as used.
fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Tensor> {
    let of_name = |name: &CStr| {
        // SAFETY: the capsule is alive; the name is a C string.
        let is_valid = unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 0 };
        // SAFETY: a valid capsule of that name has a pointer.
        is_valid.then(|| unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) })
    };
    // SAFETY: DLPack says what a capsule of either name points to, and the consumer owns it from now on.
    let (tensor, used) = unsafe {
        if let Some(managed) = of_name(VERSIONED) {
            (Tensor::from_dlpack_versioned(managed.cast::<ManagedTensorVersioned>()), USED_VERSIONED)
        } else if let Some(managed) = of_name(PLAIN) {
            (Tensor::from_dlpack(managed.cast::<ManagedTensor>()), USED_PLAIN)
        } else {
            return Err(PyBufferError::new_err("the DLPack capsule was already used, or is none"));
        }
    };
    let tensor = tensor.map_err(raise)?;
    // SAFETY: the capsule is alive, and the name static.
    unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
    Ok(tensor)
}

/// A capsule with the tensor; versioned if the consumer understands that.
///
/// # Errors
/// If the tensor is read-only, and the consumer does not understand that.
pub fn export<'py>(py: Python<'py>, tensor: &Tensor, is_versioned: bool) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the capsule owns the managed tensor until a consumer renames it.
    unsafe {
        let capsule = if is_versioned {
            let managed =
                tensor.to_dlpack_versioned().map_err(|error| PyBufferError::new_err(error.message().to_owned()))?;
            ffi::PyCapsule_New(managed.as_ptr().cast(), VERSIONED.as_ptr(), Some(drop_unused))
        } else {
            let managed = tensor.to_dlpack().map_err(|error| PyBufferError::new_err(error.message().to_owned()))?;
            ffi::PyCapsule_New(managed.as_ptr().cast(), PLAIN.as_ptr(), Some(drop_unused))
        };
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// Releases the tensor of a capsule that nobody consumed.
unsafe extern "C" fn drop_unused(capsule: *mut ffi::PyObject) {
    let is = |name: *const c_char| {
        // SAFETY: Python passes the capsule that it is about to free.
        unsafe { ffi::PyCapsule_IsValid(capsule, name) != 0 }
    };
    // SAFETY: `export` made the capsule, whose pointer still belongs to it under either of these names.
    unsafe {
        if is(VERSIONED.as_ptr()) {
            let managed = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<ManagedTensorVersioned>();
            (*managed).deleter.into_iter().for_each(|deleter| deleter(managed));
        } else if is(PLAIN.as_ptr()) {
            let managed = ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<ManagedTensor>();
            (*managed).deleter.into_iter().for_each(|deleter| deleter(managed));
        }
    }
}
