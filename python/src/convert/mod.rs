//! Values to and from Python.
mod borrowed;
pub mod callee;
pub mod function;
mod python_call;
pub mod tensor;

use crate::error::raise;
use function::Function;
use hammock_runtime::{Any, DType, Device, Shape, Tuple, image::signature::ValueType, reflect, value};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use tensor::{Tensor, array, dlpack};

/// How results are given to Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Tensors as NumPy arrays, where NumPy has their dtype.
    #[default]
    Numpy,
    /// Tensors as objects of the class `Tensor`.
    Tensor,
    /// Tensors as torch tensors.
    Torch,
}

impl Returns {
    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Returns::Numpy => "numpy",
            Returns::Tensor => "tensor",
            Returns::Torch => "torch",
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Returns {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Returns> {
        match value.extract::<String>()?.as_str() {
            "numpy" => Ok(Returns::Numpy),
            "tensor" => Ok(Returns::Tensor),
            "torch" => Ok(Returns::Torch),
            other => {
                Err(PyValueError::new_err(format!("`returns` is \"numpy\", \"tensor\" or \"torch\", not \"{other}\"")))
            }
        }
    }
}

/// Maximum nesting depth of tuples, in both directions.
const MAX_DEPTH: usize = 100;

/// A value of Python as one of this runtime. Where it is an argument, `ty` is its parameter's type, to which numbers
/// and lists are converted.
///
/// # Errors
/// If there is no such value here.
pub fn from_python(value: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<Any> {
    nested_from_python(value, ty, 0)
}

fn nested_from_python(value: &Bound<'_, PyAny>, ty: Option<&ValueType>, depth: usize) -> PyResult<Any> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    // The most common arguments first.
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return match ty {
            Some(ValueType::Scalar(_)) if array.ndim() == 0 => {
                nested_from_python(&value.call_method0("item")?, ty, depth + 1)
            }
            _ => array::to_tensor(array, ty).map(Any::from),
        };
    }
    if let Ok(tensor) = value.cast::<Tensor>() {
        return Ok(tensor.get().0.clone().into());
    }
    if let Some(plain) = plain(value, ty, depth)? {
        return Ok(plain);
    }
    if let Ok(function) = value.cast::<Function>() {
        return Ok(function.get().data.clone().into());
    }
    if let Ok(object) = value.cast::<Object>() {
        return Ok(object.get().0.clone());
    }
    match ty {
        Some(ValueType::Scalar(_)) if value.hasattr("item")? => {
            return nested_from_python(&value.call_method0("item")?, ty, depth + 1);
        }
        _ => {}
    }
    if value.hasattr("__dlpack__")? {
        return dlpack::import(value).map(Any::from);
    }
    if value.is_callable() {
        return function::of_callable(value).map(Any::from);
    }
    if has_elements(value)? {
        return array::to_tensor(&array::of_any(value, None)?, ty).map(Any::from);
    }
    Err(PyTypeError::new_err(format!("{} cannot be a value of a model", value.get_type().name()?)))
}

#[cold]
fn too_deep() -> PyErr {
    PyValueError::new_err(format!("values that are nested more than {MAX_DEPTH} deep are not supported"))
}

/// Numbers, texts, lists and tuples.
fn plain(value: &Bound<'_, PyAny>, ty: Option<&ValueType>, depth: usize) -> PyResult<Option<Any>> {
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    let is_list = value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>();
    if let (true, Some(ValueType::Tensor { dtype, .. })) = (is_number || is_list, ty) {
        return to_tensor(value, *dtype).map(|tensor| Some(tensor.into()));
    }
    if is_list {
        return list(value, ty, depth).map(Some);
    }
    Ok(if value.is_none() {
        Some(Any::NONE)
    } else if is_number {
        Some(number(value, ty)?)
    } else if let Ok(text) = value.cast::<PyString>() {
        Some(Any::str(text.to_cow()?.as_ref()))
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        Some(value::Bytes::new(bytes.as_bytes()).into())
    } else {
        None
    })
}

/// A bool, an int or a float.
fn number(value: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<Any> {
    let dtype = if let Some(ValueType::Scalar(dtype)) = ty { Some(*dtype) } else { None };
    if let Ok(float) = value.cast::<PyFloat>() {
        return match dtype {
            Some(dtype) if !dtype.is_floating() => {
                Err(PyTypeError::new_err(format!("expected {dtype}, got the float {}", float.value())))
            }
            _ => Ok(float.value().into()),
        };
    }
    if dtype.is_some_and(DType::is_floating) {
        return Ok(value.extract::<f64>()?.into());
    }
    match value.cast::<PyBool>() {
        Ok(bool) if dtype.is_none() => Ok(bool.is_true().into()),
        _ => integer(value, dtype),
    }
}

/// An int that the dtype has. One of uint64 is passed as the int64 of the same bits.
fn integer(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Any> {
    let Some(dtype) = dtype.filter(|dtype| !dtype.is_handle()) else { return Ok(value.extract::<i64>()?.into()) };
    if dtype == DType::UINT64 {
        return Ok(value.extract::<u64>()?.cast_signed().into());
    }
    let number: i64 = value.extract()?;
    let range = match dtype.bits {
        64.. => i64::MIN..=i64::MAX,
        bits if dtype.is_int() => -1 << (bits - 1)..=(1 << (bits - 1)) - 1,
        _ if dtype.is_bool() => 0..=1,
        bits => 0..=(1 << bits) - 1,
    };
    if range.contains(&number) {
        return Ok(if dtype.is_bool() { Any::from(number != 0) } else { number.into() });
    }
    Err(PyOverflowError::new_err(format!("expected {dtype}, got {number}, which is out of its range")))
}

/// A tuple, or a shape where the parameter is one.
fn list(value: &Bound<'_, PyAny>, ty: Option<&ValueType>, depth: usize) -> PyResult<Any> {
    if let Some(ValueType::Shape(_)) = ty {
        return Ok(Shape::new(&value.extract::<Vec<i64>>()?).into());
    }
    let types = if let Some(ValueType::Tuple(types)) = ty { types.as_slice() } else { &[] };
    let fields = value.try_iter()?.enumerate();
    let fields = fields.map(|(at, field)| nested_from_python(&field?, types.get(at), depth + 1));
    Ok(Tuple::new(fields.collect::<PyResult<Vec<_>>>()?.into_iter()).into())
}

/// Returns true for objects that NumPy can make an array of without guessing.
fn has_elements(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: the object is alive.
    let has_buffer = unsafe { pyo3::ffi::PyObject_CheckBuffer(value.as_ptr()) != 0 };
    Ok(has_buffer || value.hasattr("__array__")? || value.hasattr("__array_interface__")?)
}

/// A tensor of an array, a number, a nested list, or an object with `__dlpack__`. Numbers become elements of `dtype`.
///
/// # Errors
/// If it is none of these, or a number does not fit.
pub fn to_tensor(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<value::Tensor> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return array::to_tensor(array, None);
    }
    if let Ok(tensor) = value.cast::<Tensor>() {
        return Ok(tensor.get().0.clone());
    }
    if value.hasattr("__dlpack__")? {
        return dlpack::import(value);
    }
    array::to_tensor(&array::of_any(value, dtype)?, None)
}

/// A value of this runtime as one of Python.
pub fn to_python<'py>(py: Python<'py>, value: Any, returns: Returns) -> PyResult<Bound<'py, PyAny>> {
    nested_to_python(py, &value, returns, 0)
}

fn nested_to_python<'py>(py: Python<'py>, value: &Any, returns: Returns, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    if let Some(tensor) = value.get::<&value::Tensor>() {
        return tensor_to_python(py, tensor, returns);
    }
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    if let Some(fields) = value.get::<&Tuple>() {
        let fields = fields.as_slice().iter().map(|field| nested_to_python(py, field, returns, depth + 1));
        return Ok(PyTuple::new(py, fields.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if let Some(shape) = value.get::<&Shape>() {
        return Ok(PyTuple::new(py, shape.as_slice())?.into_any());
    }
    if let Some(text) = value.as_str() {
        return Ok(PyString::new(py, text).into_any());
    }
    if let Some(bytes) = value.as_bytes() {
        return Ok(PyBytes::new(py, bytes).into_any());
    }
    if let Some(function) = callee::of_value(value, returns) {
        return Ok(Bound::new(py, function)?.into_any());
    }
    match value.type_index() {
        value::index::NONE => Ok(py.None().into_bound(py)),
        value::index::BOOL => Ok(PyBool::new(py, value.get() == Some(true)).to_owned().into_any()),
        value::index::INT => Ok(value.get::<i64>().into_pyobject(py)?),
        value::index::FLOAT => Ok(value.get::<f64>().into_pyobject(py)?),
        value::index::DATA_TYPE => Ok(value.get::<DType>().map(|dtype| dtype.to_string()).into_pyobject(py)?),
        value::index::DEVICE => Ok(value.get::<Device>().map(|device| device.to_string()).into_pyobject(py)?),
        _ => Ok(Bound::new(py, Object(value.clone()))?.into_any()),
    }
}

/// A tensor in the form that the caller asked for; a `Tensor` if NumPy lacks its dtype. NumPy's arrays of tensors on other
/// devices are copies.
fn tensor_to_python<'py>(py: Python<'py>, tensor: &value::Tensor, returns: Returns) -> PyResult<Bound<'py, PyAny>> {
    if returns == Returns::Numpy {
        let host = tensor.to_device(Device::CPU).map_err(raise)?;
        return match array::of_tensor(py, &host)? {
            Some(array) => Ok(array),
            None => Ok(Bound::new(py, Tensor(host))?.into_any()),
        };
    }
    let object = Bound::new(py, Tensor(tensor.clone()))?;
    match returns {
        Returns::Torch => dlpack::to_torch(object),
        _ => Ok(object.into_any()),
    }
}

/// A value without a counterpart in Python, such as a KV cache. It can be given back to the model.
#[pyclass(frozen, module = "hammock")]
pub struct Object(pub Any);

#[pymethods]
impl Object {
    /// The kind of value, with its fields, or else its address.
    fn __repr__(&self) -> String {
        let text = reflect::text(&self.0);
        match self.0.address() {
            Some(address) if reflect::fields(&self.0).is_empty() => format!("<hammock.Object {text} at {address:#x}>"),
            _ => format!("<hammock.Object {text}>"),
        }
    }
}
