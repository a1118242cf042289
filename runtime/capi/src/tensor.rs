//! Tensors: creation, copies, and memory borrowed in either direction.
use crate::error::status;
use crate::pointers::{array, reference, value, write};
use hammock_runtime::ffi::dlpack::{ManagedTensor, ManagedTensorVersioned};
use hammock_runtime::value::{DLTensor, MAX_NDIM};
use hammock_runtime::{Any, DType, Device, Error, Tensor};
use std::ffi::{c_int, c_void};

/// Called when borrowed memory is released; null if there is nothing to do.
pub type hammock_deleter = Option<unsafe extern "C" fn(context: *mut c_void)>;

fn tensor_of(value: &Any) -> Result<&Tensor, Error> {
    value.get().ok_or_else(|| Error::type_error(format!("the value is {value}, not a tensor")))
}

/// Creates a tensor of zeros in host memory.
///
/// # Safety
/// `shape` is null or points to `ndim` integers; `tensor` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_new(dtype: DType, shape: *const i64, ndim: usize, tensor: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let empty = Tensor::empty(check(dtype)?, sizes(shape, ndim)?, Device::CPU)?;
        write(tensor, "tensor", empty.into())
    })
}

/// Creates a tensor from a copy of `size` bytes, which must be exactly the size of its elements.
///
/// # Safety
/// As for [`hammock_tensor_new`]; `data` is null or points to `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_copy(
    dtype: DType,
    shape: *const i64,
    ndim: usize,
    data: *const c_void,
    size: usize,
    tensor: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (shape, bytes) = (sizes(shape, ndim)?, array(data.cast::<u8>(), size, "data")?);
        write(tensor, "tensor", Tensor::from_bytes(check(dtype)?, shape, bytes)?.into())
    })
}

/// The sizes of a tensor.
///
/// # Safety
/// `shape` is null or points to `ndim` integers.
unsafe fn sizes<'a>(shape: *const i64, ndim: usize) -> Result<&'a [i64], Error> {
    if ndim > MAX_NDIM {
        return Err(Error::value(format!("a tensor cannot have {ndim} dimensions")));
    }
    // SAFETY: as the caller promises.
    unsafe { array(shape, ndim, "shape") }
}

/// Checks that the dtype can be stored in memory.
fn check(dtype: DType) -> Result<DType, Error> {
    let wrong = || Error::type_error(format!("a tensor cannot have elements of {dtype}"));
    dtype.is_storable().then_some(dtype).ok_or_else(wrong)
}

/// Creates a tensor over borrowed memory, without a copy. The `DLTensor` itself is copied.
///
/// # Safety
/// `memory` is null, or valid until `deleter` is called with `context`, which any thread may do; `tensor` is null or
/// valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_borrow(
    memory: *const DLTensor,
    deleter: hammock_deleter,
    context: *mut c_void,
    tensor: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let description = *reference(memory, "memory")?;
        if tensor.is_null() {
            return Err(Error::value("`tensor` is null"));
        }
        let loan = Box::into_raw(Box::new(Loan { deleter, context }));
        let managed = ManagedTensor { tensor: description, context: loan.cast(), deleter: Some(end_loan) };
        let managed = Box::into_raw(Box::new(managed));
        let borrowed = Tensor::from_dlpack(managed).inspect_err(|_| {
            // The caller keeps ownership of the memory, so the deleter must not run.
            drop(Box::from_raw(loan));
            drop(Box::from_raw(managed));
        })?;
        write(tensor, "tensor", borrowed.into())
    })
}

/// The deleter of borrowed memory.
struct Loan {
    deleter: hammock_deleter,
    context: *mut c_void,
}

unsafe extern "C" fn end_loan(managed: *mut ManagedTensor) {
    // SAFETY: `hammock_tensor_borrow` boxed both, and this is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        let loan = Box::from_raw(managed.context.cast::<Loan>());
        if let Some(deleter) = loan.deleter {
            deleter(loan.context);
        }
    }
}

/// The `DLTensor` of a value. Its pointers are valid as long as the value.
///
/// # Safety
/// `from` is null or a value; `tensor` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_tensor(from: *const Any, tensor: *mut DLTensor) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let wrong = || Error::type_error(format!("the value is {value}, not a tensor"));
        write(tensor, "tensor", *value.as_dl_tensor().ok_or_else(wrong)?)
    })
}

/// Returns a contiguous tensor in host memory: the same one, or a copy.
///
/// # Safety
/// `from` is null or a value; `dense` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_to_host(from: *const Any, dense: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let tensor = tensor_of(value(from, "from")?)?.to_device(Device::CPU)?;
        write(dense, "dense", tensor.to_contiguous()?.into())
    })
}

/// Returns a tensor on a device: the same one, or a contiguous copy.
///
/// # Safety
/// `from` is null or a value; `tensor` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_to_device(from: *const Any, device: Device, tensor: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(tensor, "tensor", tensor_of(value(from, "from")?)?.to_device(device)?.into()) })
}

/// Takes ownership of a DLPack tensor; after an error it still belongs to the caller.
///
/// # Safety
/// `managed` is null or valid until its deleter is called, which any thread may do; `tensor` is null or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_from_dlpack(managed: *mut ManagedTensor, tensor: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(tensor, "tensor")?;
        write(tensor, "tensor", Tensor::from_dlpack(managed)?.into())
    })
}

/// Like [`hammock_from_dlpack`], for versioned DLPack tensors.
///
/// # Safety
/// As for [`hammock_from_dlpack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_from_dlpack_versioned(
    managed: *mut ManagedTensorVersioned,
    tensor: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(tensor, "tensor")?;
        write(tensor, "tensor", Tensor::from_dlpack_versioned(managed)?.into())
    })
}

/// Exports a tensor as a DLPack tensor; the deleter releases it.
///
/// # Safety
/// `from` is null or a value; `managed` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_to_dlpack(from: *const Any, managed: *mut *mut ManagedTensor) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(managed, "managed")?;
        write(managed, "managed", tensor_of(value(from, "from")?)?.to_dlpack()?.as_ptr())
    })
}

/// Like [`hammock_to_dlpack`], as a versioned DLPack tensor.
///
/// # Safety
/// As for [`hammock_to_dlpack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_to_dlpack_versioned(
    from: *const Any,
    managed: *mut *mut ManagedTensorVersioned,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(managed, "managed")?;
        write(managed, "managed", tensor_of(value(from, "from")?)?.to_dlpack_versioned()?.as_ptr())
    })
}
