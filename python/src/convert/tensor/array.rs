//! NumPy arrays as tensors and tensors as NumPy arrays. Both share their memory.
use super::Tensor as TensorObject;
use crate::{check, error::raise};
use hammock_runtime::{
    DType, Device,
    image::signature::ValueType,
    value::{DLTensor, Lender, Tensor, dtype_code as code},
};
use numpy::{
    PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods,
    npyffi::{
        NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NPY_TYPES, NpyTypes, PY_ARRAY_API, array::PyArray_CheckExact,
        get_type_object, npy_intp,
    },
};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    ffi::PyWeakref_NewRef,
    prelude::*,
    sync::PyOnceLock,
    types::PyDict,
};
use std::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};

/// The dtypes of NumPy's type numbers from 0 on, as far as models have them: `bool` to `longlong` and `ulonglong`,
/// three floats, `longdouble`, two complex types, six kinds of other values, `half`.
const DTYPES: [Option<DType>; 24] = {
    let mut dtypes = [None; 24];
    dtypes[NPY_TYPES::NPY_BOOL as usize] = Some(DType::BOOL);
    dtypes[NPY_TYPES::NPY_BYTE as usize] = Some(DType::INT8);
    dtypes[NPY_TYPES::NPY_UBYTE as usize] = Some(DType::UINT8);
    dtypes[NPY_TYPES::NPY_SHORT as usize] = Some(DType::INT16);
    dtypes[NPY_TYPES::NPY_USHORT as usize] = Some(DType::UINT16);
    dtypes[NPY_TYPES::NPY_INT as usize] = Some(DType::INT32);
    dtypes[NPY_TYPES::NPY_UINT as usize] = Some(DType::UINT32);
    dtypes[NPY_TYPES::NPY_LONG as usize] = Some(DType::INT64);
    dtypes[NPY_TYPES::NPY_ULONG as usize] = Some(DType::UINT64);
    dtypes[NPY_TYPES::NPY_LONGLONG as usize] = Some(DType::INT64);
    dtypes[NPY_TYPES::NPY_ULONGLONG as usize] = Some(DType::UINT64);
    dtypes[NPY_TYPES::NPY_FLOAT as usize] = Some(DType::FLOAT32);
    dtypes[NPY_TYPES::NPY_DOUBLE as usize] = Some(DType::FLOAT64);
    dtypes[NPY_TYPES::NPY_CFLOAT as usize] = Some(DType::new(code::COMPLEX, 64, 1));
    dtypes[NPY_TYPES::NPY_CDOUBLE as usize] = Some(DType::new(code::COMPLEX, 128, 1));
    dtypes[NPY_TYPES::NPY_HALF as usize] = Some(DType::FLOAT16);
    dtypes
};

/// Keeps an array's memory alive for a tensor.
struct Loan {
    _array: Py<PyAny>,
    /// NumPy never resizes an array that has a weak reference, not even with `refcheck=False`.
    _weak: Py<PyAny>,
    is_read_only: bool,
}

impl Lender for Loan {
    fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

/// The tensor of an array, an argument of type `ty`. The memory is shared, unless it is not contiguous, misaligned or
/// of the other byte order.
///
/// # Errors
/// If there is no such dtype here, or an array that would have to be copied does not fit.
pub fn to_tensor(array: &Bound<'_, PyUntypedArray>, ty: Option<&ValueType>) -> PyResult<Tensor> {
    // SAFETY: the fields are read while the interpreter is attached.
    let fields = unsafe { &(*array.as_array_ptr()).fields };
    let descr = array.dtype();
    let dtype = dtype_of(&descr)?;
    let sizes = fields.dimensions.cast::<i64>();
    let is_swapped = descr.is_native_byteorder() == Some(false);
    let is_contiguous = fields.flags & NPY_ARRAY_C_CONTIGUOUS != 0;
    if is_swapped || !is_contiguous || !is_aligned(fields.data.cast(), dtype) {
        let shape: Vec<i64> = array.shape().iter().map(|size| *size as i64).collect();
        if let Some(misfit) = ty.and_then(|ty| check::compare_array(ty, dtype, &shape)) {
            return Err(misfit.into_error(""));
        }
        return to_tensor(&copy(array, is_swapped)?, ty);
    }
    reject_masked(array)?;
    let view = DLTensor {
        data: fields.data.cast(),
        device: Device::CPU,
        ndim: fields.nd,
        dtype,
        shape: sizes,
        strides: null_mut(),
        byte_offset: 0,
    };
    // SAFETY: the array is alive.
    let weak = unsafe { Bound::from_owned_ptr_or_err(array.py(), PyWeakref_NewRef(array.as_ptr(), null_mut()))? };
    let loan = || -> Box<dyn Lender> {
        let is_read_only = fields.flags & NPY_ARRAY_WRITEABLE == 0;
        Box::new(Loan { _array: array.clone().into_any().unbind(), _weak: weak.unbind(), is_read_only })
    };
    // SAFETY: the array has this memory as long as it lives and is not resized, which the loan ensures.
    unsafe { Tensor::borrow(&view, loan) }.map_err(|error| raise(error.into()))
}

/// Fails for arrays with a mask, which would be ignored.
fn reject_masked(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    // SAFETY: the object is alive.
    if unsafe { PyArray_CheckExact(array.py(), array.as_ptr()) } != 0 {
        return Ok(());
    }
    if array.is_instance(&numpy(array.py())?.getattr("ma")?.getattr("MaskedArray")?)? {
        return Err(PyTypeError::new_err("models have no masked arrays; fill the gaps, as with filled(0)"));
    }
    Ok(())
}

/// A contiguous copy in the machine's byte order.
fn copy<'py>(array: &Bound<'py, PyUntypedArray>, is_swapped: bool) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    reject_masked(array)?;
    let dtype = array.dtype().into_any();
    let dtype = if is_swapped { dtype.call_method1("newbyteorder", ("=",))? } else { dtype };
    let how = PyDict::new(py);
    how.set_item("dtype", dtype)?;
    how.set_item("order", "C")?;
    let copied = numpy(py)?.call_method("array", (array,), Some(&how))?;
    Ok(copied.cast_into::<PyUntypedArray>()?)
}

/// Returns true if elements at this address are aligned to their size.
pub fn is_aligned(data: *const u8, dtype: DType) -> bool {
    data.addr().is_multiple_of(dtype.bytes().clamp(1, 8))
}

/// The dtype of an array's elements. Those of the package `ml_dtypes`, such as `bfloat16`, have its name.
fn dtype_of(descr: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let number = descr.num();
    match usize::try_from(number).ok().and_then(|number| DTYPES.get(number)) {
        Some(Some(dtype)) => Ok(*dtype),
        _ => custom_dtype_of(descr, number),
    }
}

#[cold]
fn custom_dtype_of(descr: &Bound<'_, PyArrayDescr>, number: c_int) -> PyResult<DType> {
    let name = descr.typeobj().name()?.to_string();
    let is_custom = number >= NPY_TYPES::NPY_USERDEF as c_int;
    let known = name.parse::<DType>().ok().filter(|dtype| is_custom && dtype.bytes() == descr.itemsize());
    known.filter(|dtype| dtype.is_byte_sized()).ok_or_else(|| {
        let shown = descr.str().map_or(name, |shown| shown.to_string());
        PyTypeError::new_err(format!(
            "arrays of dtype `{shown}` cannot be arguments of a model; convert it with astype()"
        ))
    })
}

/// The array of a tensor on the host: a view of its memory, which is read-only if the tensor is a constant. `None` if
/// NumPy has no such dtype.
pub fn of_tensor<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(descr) = descr_of(py, tensor.dtype())? else { return Ok(None) };
    let tensor = tensor.to_contiguous().map_err(|error| raise(error.into()))?;
    let shape = tensor.shape().as_ptr().cast::<npy_intp>().cast_mut();
    let is_empty = tensor.nbytes() == 0;
    // NumPy allocates if there is no address.
    let data = if is_empty { null_mut() } else { tensor.data_ptr().cast::<c_void>() };
    let flags = if tensor.is_read_only() { 0 } else { NPY_ARRAY_WRITEABLE };
    let ndim = tensor.shape().len() as c_int;
    // SAFETY: the shape has `ndim` sizes, the memory belongs to the tensor, and the array holds the tensor as its base.
    // Both functions take the references that they are given.
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
            let owner = Bound::new(py, TensorObject(tensor))?;
            if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(Some(array))
    }
}

/// NumPy's dtype; that of the package `ml_dtypes`, where it is installed, for the types that NumPy itself lacks.
fn descr_of(py: Python<'_>, dtype: DType) -> PyResult<Option<Bound<'_, PyArrayDescr>>> {
    if let Some(number) = DTYPES.iter().position(|own| *own == Some(dtype)) {
        // SAFETY: NumPy returns a new reference to one of its own dtypes.
        let descr = unsafe {
            let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
            Bound::from_owned_ptr_or_err(py, descr.cast())?
        };
        return Ok(Some(descr.cast_into()?));
    }
    let Ok(custom) = py.import("ml_dtypes") else { return Ok(None) };
    let Ok(class) = custom.getattr(dtype.to_string()) else { return Ok(None) };
    let descr = PyArrayDescr::new(py, class)?;
    Ok(Some(descr).filter(|descr| dtype.is_byte_sized() && descr.itemsize() == dtype.bytes()))
}

/// An array of anything that NumPy can convert: numbers, nested lists, objects with a buffer. Numbers are converted to
/// `dtype` where it has them exactly, or is a float type.
///
/// # Errors
/// NumPy's; TypeError or OverflowError if a number does not fit.
pub fn of_any<'py>(value: &Bound<'py, PyAny>, dtype: Option<DType>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = value.py();
    let array = numpy(py)?.call_method1("asarray", (value,))?.cast_into::<PyUntypedArray>()?;
    let Some(dtype) = dtype else { return Ok(array) };
    let Some(descr) = descr_of(py, dtype)? else { return Ok(array) };
    let own = dtype_of(&array.dtype())?;
    if own == dtype {
        return Ok(array);
    }
    if category(own) > category(dtype) && !array.is_empty() {
        return Err(PyTypeError::new_err(format!("numbers of {own} are not converted to {dtype} without a loss")));
    }
    let converted = array.call_method1("astype", (descr,))?;
    let is_exact = || numpy(py)?.call_method1("array_equal", (&array, &converted))?.is_truthy();
    if !dtype.is_floating() && !is_exact()? {
        return Err(PyOverflowError::new_err(format!("a number is out of the range of {dtype}")));
    }
    Ok(converted.cast_into::<PyUntypedArray>()?)
}

/// Categories of dtypes, each of which has the numbers of those before it: bools, integers, floats, complex numbers.
fn category(dtype: DType) -> u8 {
    match dtype.code {
        code::BOOL => 0,
        code::INT | code::UINT => 1,
        code::COMPLEX => 3,
        _ => 2,
    }
}

fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || PyResult::Ok(py.import("numpy")?.into_any().unbind()))?;
    Ok(module.bind(py))
}
