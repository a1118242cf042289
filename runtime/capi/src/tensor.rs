//! Tensors: new ones, copies, and memory lent by either side.
use crate::error::status;
use crate::pointers::{array, reference, value, write};
use hammock_runtime::ffi::dlpack::{ManagedTensor, ManagedTensorVersioned};
use hammock_runtime::value::{DLTensor, MAX_NDIM};
use hammock_runtime::{Any, DType, Device, Error, Tensor};
use std::ffi::{c_int, c_void};

/// Ends a loan; none if there is nothing to do.
pub type hammock_deleter = Option<unsafe extern "C" fn(context: *mut c_void)>;

fn tensor_of(value: &Any) -> Result<&Tensor, Error> {
    value.get().ok_or_else(|| Error::type_error(format!("the value is {value}, not a tensor")))
}

/// A tensor of zeros in the host's memory.
///
/// # Safety
/// `shape` is null or leads to `ndim` integers; `tensor` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_new(dtype: DType, shape: *const i64, ndim: usize, tensor: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let empty = Tensor::empty(check(dtype)?, sizes(shape, ndim)?, Device::CPU)?;
        write(tensor, "tensor", empty.into())
    })
}

/// A tensor with a copy of `size` bytes, which must be as many as its elements take.
///
/// # Safety
/// As for [`hammock_tensor_new`]; `data` is null or leads to `size` bytes.
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
/// `shape` is null or leads to `ndim` integers.
unsafe fn sizes<'a>(shape: *const i64, ndim: usize) -> Result<&'a [i64], Error> {
    if ndim > MAX_NDIM {
        return Err(Error::value(format!("a tensor cannot have {ndim} dimensions")));
    }
    // SAFETY: as the caller promises.
    unsafe { array(shape, ndim, "shape") }
}

/// A type that memory can hold.
fn check(dtype: DType) -> Result<DType, Error> {
    let wrong = || Error::type_error(format!("a tensor cannot have elements of {dtype}"));
    dtype.is_storable().then_some(dtype).ok_or_else(wrong)
}

/// A tensor over memory that the caller lends, without a copy. Its description is copied.
///
/// # Safety
/// `memory` is null or true until `deleter` is called with `context`, which any thread may do; `tensor` is null or has
/// room for a value.
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
            // The loan stays the caller's.
            drop(Box::from_raw(loan));
            drop(Box::from_raw(managed));
        })?;
        write(tensor, "tensor", borrowed.into())
    })
}

/// What the caller wants called when its memory is free again.
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

/// The description of a tensor. What it points to lives as long as the value.
///
/// # Safety
/// `from` is null or a value; `tensor` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_tensor(from: *const Any, tensor: *mut DLTensor) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let wrong = || Error::type_error(format!("the value is {value}, not a tensor"));
        write(tensor, "tensor", *value.as_dl_tensor().ok_or_else(wrong)?)
    })
}

/// A tensor whose elements lie densely on the host: the same, or a copy.
///
/// # Safety
/// `from` is null or a value; `dense` is null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tensor_to_host(from: *const Any, dense: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let tensor = tensor_of(value(from, "from")?)?.to_device(Device::CPU)?;
        write(dense, "dense", tensor.to_contiguous()?.into())
    })
}

/// Takes over a DLPack tensor, which stays the caller's after an error.
///
/// # Safety
/// `managed` is null or true until its deleter is called, which any thread may do; `tensor` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_from_dlpack(managed: *mut ManagedTensor, tensor: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(tensor, "tensor")?;
        write(tensor, "tensor", Tensor::from_dlpack(managed)?.into())
    })
}

/// The same for DLPack's versioned form.
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

/// Lends a tensor by DLPack; its deleter ends the loan.
///
/// # Safety
/// `from` is null or a value; `managed` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_to_dlpack(from: *const Any, managed: *mut *mut ManagedTensor) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(managed, "managed")?;
        write(managed, "managed", tensor_of(value(from, "from")?)?.to_dlpack()?.as_ptr())
    })
}

/// The same in DLPack's versioned form.
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
        write(managed, "managed", tensor_of(value(from, "from")?)?.to_dlpack_versioned().as_ptr())
    })
}
