//! Python's buffer protocol for tensors.
use super::Tensor;
use hammock_runtime::DType;
use pyo3::{exceptions::PyBufferError, ffi, prelude::*};
use std::{
    ffi::{CStr, c_int},
    ptr::null_mut,
};

/// Shape and strides of a view, in bytes.
type Layout = (Vec<isize>, Vec<isize>);

/// Fills a view of a tensor's memory.
///
/// # Errors
/// If buffers have no such elements, or a constant is to be written.
///
/// # Safety
/// `view` is valid for writes; [`release`] is called with it before the interpreter frees it.
pub unsafe fn fill(owner: Bound<'_, Tensor>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    // SAFETY: the consumer sees no owner if this fails.
    unsafe { (*view).obj = null_mut() };
    let tensor = &owner.get().0;
    let format = format(tensor.dtype()).ok_or_else(|| {
        let dtype = tensor.dtype();
        PyBufferError::new_err(format!("buffers have no elements of {dtype}"))
    })?;
    if !tensor.is_contiguous() || !tensor.device().is_host() {
        return Err(PyBufferError::new_err("only contiguous tensors of the CPU have a buffer"));
    }
    let asked = |flag: c_int| flags & flag == flag;
    if asked(ffi::PyBUF_WRITABLE) && tensor.is_read_only() {
        return Err(PyBufferError::new_err("the tensor is a constant, which must not be written"));
    }
    let shape: Vec<isize> = tensor.shape().iter().map(|size| *size as isize).collect();
    if !shape.is_empty() && shape.len() != 1 && asked(ffi::PyBUF_F_CONTIGUOUS) {
        return Err(PyBufferError::new_err("the tensor is contiguous in row-major order only"));
    }
    let width = tensor.dtype().bytes() as isize;
    let mut strides = vec![width; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
    }
    let mut layout: Box<Layout> = Box::new((shape, strides));
    // SAFETY: the view is valid for writes. The layout lives until `release`, the memory as long as the tensor, which
    // the view refers to.
    unsafe {
        (*view).buf = tensor.data_ptr().cast();
        (*view).len = tensor.nbytes() as isize;
        (*view).itemsize = width;
        (*view).readonly = c_int::from(tensor.is_read_only());
        (*view).ndim = layout.0.len() as c_int;
        (*view).format = if asked(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { null_mut() };
        (*view).shape = if asked(ffi::PyBUF_ND) { layout.0.as_mut_ptr() } else { null_mut() };
        (*view).strides = if asked(ffi::PyBUF_STRIDES) { layout.1.as_mut_ptr() } else { null_mut() };
        (*view).suboffsets = null_mut();
        (*view).internal = Box::into_raw(layout).cast();
        (*view).obj = owner.into_ptr();
    }
    Ok(())
}

/// Releases what [`fill`] allocated.
///
/// # Safety
/// `fill` filled the view, which is not used afterwards.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `fill` boxed the layout.
    unsafe { drop(Box::from_raw((*view).internal.cast::<Layout>())) }
}

/// Format of elements in Python's buffers; `None` if these have no such elements.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::BOOL => c"?",
        DType::INT8 => c"b",
        DType::INT16 => c"h",
        DType::INT32 => c"i",
        DType::INT64 => c"q",
        DType::UINT8 => c"B",
        DType::UINT16 => c"H",
        DType::UINT32 => c"I",
        DType::UINT64 => c"Q",
        DType::FLOAT16 => c"e",
        DType::FLOAT32 => c"f",
        DType::FLOAT64 => c"d",
        _ => return None,
    })
}
