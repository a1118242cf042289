//! NumPy arrays as tensors and tensors as NumPy arrays. Both share their memory.
use crate::{error::raise, tensor};
use hammock_runtime::{
    DType, Device,
    value::{DLTensor, Lender, MAX_NDIM, Tensor, dtype_code as code},
};
use numpy::{
    PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods,
    npyffi::{NPY_ARRAY_WRITEABLE, NPY_TYPES, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp},
};
use pyo3::{exceptions::PyTypeError, prelude::*, sync::PyOnceLock, types::PyDict};
use std::{
    array,
    ffi::{c_int, c_void},
    ptr::null_mut,
};

/// NumPy's numbers of its own dtypes of fixed width.
const DTYPES: [(NPY_TYPES, DType); 14] = [
    (NPY_TYPES::NPY_BOOL, DType::BOOL),
    (NPY_TYPES::NPY_BYTE, DType::INT8),
    (NPY_TYPES::NPY_SHORT, DType::INT16),
    (NPY_TYPES::NPY_INT, DType::INT32),
    (NPY_TYPES::NPY_LONG, DType::INT64),
    (NPY_TYPES::NPY_UBYTE, DType::UINT8),
    (NPY_TYPES::NPY_USHORT, DType::UINT16),
    (NPY_TYPES::NPY_UINT, DType::UINT32),
    (NPY_TYPES::NPY_ULONG, DType::UINT64),
    (NPY_TYPES::NPY_HALF, DType::FLOAT16),
    (NPY_TYPES::NPY_FLOAT, DType::FLOAT32),
    (NPY_TYPES::NPY_DOUBLE, DType::FLOAT64),
    (NPY_TYPES::NPY_CFLOAT, DType::new(code::COMPLEX, 64, 1)),
    (NPY_TYPES::NPY_CDOUBLE, DType::new(code::COMPLEX, 128, 1)),
];

/// Keeps an array's memory alive for a tensor. A reference from outside also stops NumPy from resizing the array.
struct Loan {
    _array: Py<PyAny>,
    is_read_only: bool,
}

impl Lender for Loan {
    fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

/// The tensor of an array. The memory is shared, unless it is not contiguous, misaligned or of the other byte order.
///
/// # Errors
/// If there is no such dtype here.
pub fn to_tensor(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let descr = array.dtype();
    let dtype = dtype_of(&descr)?;
    let is_swapped = descr.is_native_byteorder() == Some(false);
    if is_swapped || !array.is_c_contiguous() || !is_aligned(array, dtype) {
        return to_tensor(&copy(array, is_swapped)?);
    }
    let ndim = array.ndim();
    let sizes: [i64; MAX_NDIM] = {
        let shape = array.shape();
        array::from_fn(|axis| shape.get(axis).map_or(0, |size| *size as i64))
    };
    // SAFETY: the array's fields are read while the interpreter is attached.
    let (data, flags) = unsafe {
        let fields = array.as_array_ptr();
        ((*fields).fields.data, (*fields).fields.flags)
    };
    let view = DLTensor {
        data: data.cast(),
        device: Device::CPU,
        ndim: ndim as i32,
        dtype,
        shape: sizes.as_ptr().cast_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let loan = || -> Box<dyn Lender> {
        let is_read_only = flags & NPY_ARRAY_WRITEABLE == 0;
        Box::new(Loan { _array: array.clone().into_any().unbind(), is_read_only })
    };
    // SAFETY: the array has this memory as long as it lives, which the loan ensures.
    unsafe { Tensor::borrow(&view, loan) }.map_err(|error| raise(error.into()))
}

/// A contiguous copy in the machine's byte order.
fn copy<'py>(array: &Bound<'py, PyUntypedArray>, is_swapped: bool) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let dtype = array.dtype().into_any();
    let dtype = if is_swapped { dtype.call_method1("newbyteorder", ("=",))? } else { dtype };
    let how = PyDict::new(py);
    how.set_item("dtype", dtype)?;
    how.set_item("order", "C")?;
    let copied = numpy(py)?.call_method("array", (array,), Some(&how))?;
    Ok(copied.cast_into::<PyUntypedArray>()?)
}

/// Returns true if the elements are aligned to their size.
fn is_aligned(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> bool {
    // SAFETY: the array's fields are read while the interpreter is attached.
    let data = unsafe { (*array.as_array_ptr()).fields.data };
    data.addr().is_multiple_of(dtype.bytes().clamp(1, 8))
}

/// The dtype of an array's elements. Those of the package `ml_dtypes`, such as `bfloat16`, have its name.
fn dtype_of(descr: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let number = descr.num();
    if let Some((_, dtype)) = DTYPES.iter().find(|(own, _)| *own as c_int == number) {
        return Ok(*dtype);
    }
    let name = match number {
        _ if number == NPY_TYPES::NPY_LONGLONG as c_int => return Ok(DType::INT64),
        _ if number == NPY_TYPES::NPY_ULONGLONG as c_int => return Ok(DType::UINT64),
        _ => descr.typeobj().name()?.to_string(),
    };
    let is_custom = number >= NPY_TYPES::NPY_USERDEF as c_int;
    let known = name.parse::<DType>().ok().filter(|dtype| is_custom && dtype.bytes() == descr.itemsize());
    known.filter(|dtype| dtype.is_byte_sized()).ok_or_else(|| {
        let shown = descr.str().map_or(name, |shown| shown.to_string());
        PyTypeError::new_err(format!(
            "arrays of dtype `{shown}` cannot be arguments of a model; convert it with astype()"
        ))
    })
}

/// The array of a tensor on the host: a view of its memory, which is read-only if the tensor is a constant. `None` if NumPy has
/// no such dtype.
pub fn of_tensor<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(descr) = descr_of(py, tensor.dtype())? else { return Ok(None) };
    let tensor = tensor.to_contiguous().map_err(|error| raise(error.into()))?;
    let shape = tensor.shape().as_ptr().cast::<npy_intp>().cast_mut();
    let is_empty = tensor.nbytes() == 0;
    // NumPy allocates if there is no address.
    let data = if is_empty { null_mut() } else { tensor.data_ptr().cast::<c_void>() };
    let flags = if tensor.is_read_only() { 0 } else { NPY_ARRAY_WRITEABLE };
    let ndim = tensor.shape().len() as c_int;
    // SAFETY: the shape has `ndim` sizes, the memory belongs to the tensor, and the array holds the tensor as its base. Both
    // functions take the references that they are given.
    unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr.into_dtype_ptr(),
            ndim,
            shape,
            null_mut(),
            data,
            flags,
            null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if !is_empty {
            let owner = Bound::new(py, tensor::Tensor(tensor))?;
            if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(Some(array))
    }
}

/// NumPy's dtype; that of the package `ml_dtypes`, where it is installed, for the types that NumPy itself lacks.
fn descr_of(py: Python<'_>, dtype: DType) -> PyResult<Option<Bound<'_, PyArrayDescr>>> {
    if let Some((number, _)) = DTYPES.iter().find(|(_, own)| *own == dtype) {
        // SAFETY: NumPy returns a new reference to one of its own dtypes.
        let descr = unsafe {
            let descr = PY_ARRAY_API.PyArray_DescrFromType(py, *number as c_int);
            Bound::from_owned_ptr_or_err(py, descr.cast())?
        };
        return Ok(Some(descr.cast_into()?));
    }
    let Ok(custom) = py.import("ml_dtypes") else { return Ok(None) };
    let Ok(class) = custom.getattr(dtype.to_string()) else { return Ok(None) };
    let descr = PyArrayDescr::new(py, class)?;
    Ok(Some(descr).filter(|descr| dtype.is_byte_sized() && descr.itemsize() == dtype.bytes()))
}

/// An array of anything that NumPy can convert: numbers, nested lists, objects with a buffer.
///
/// # Errors
/// NumPy's.
pub fn of_any<'py>(value: &Bound<'py, PyAny>, dtype: Option<DType>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = value.py();
    let dtype = dtype.map(|dtype| descr_of(py, dtype)).transpose()?.flatten();
    let array = numpy(py)?.call_method1("asarray", (value, dtype))?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || PyResult::Ok(py.import("numpy")?.into_any().unbind()))?;
    Ok(module.bind(py))
}
