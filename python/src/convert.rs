//! Values to and from Python.
use crate::{
    array, dlpack,
    function::{self, Function},
    model::ModelFunction,
    tensor::Tensor,
};
use hammock_runtime::{Any, DType, Device, Shape, Tuple, image::signature::ValueType, value};
use numpy::PyUntypedArray;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple},
};

/// How results are given to Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Tensors as NumPy arrays, where NumPy has their dtype.
    #[default]
    Numpy,
    /// Tensors as objects of the class `Tensor`.
    Tensor,
}

impl Returns {
    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Returns::Numpy => "numpy",
            Returns::Tensor => "tensor",
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Returns {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Returns> {
        match value.extract::<String>()?.as_str() {
            "numpy" => Ok(Returns::Numpy),
            "tensor" => Ok(Returns::Tensor),
            other => Err(PyValueError::new_err(format!("`returns` is \"numpy\" or \"tensor\", not \"{other}\""))),
        }
    }
}

/// A value of Python as one of this runtime. Where it is an argument, `ty` is its parameter's type, to which numbers and lists are
/// converted.
///
/// # Errors
/// If there is no such value here.
pub fn from_python(value: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<Any> {
    if let Ok(tensor) = value.cast::<Tensor>() {
        return Ok(tensor.get().0.clone().into());
    }
    if let Some(plain) = plain(value, ty)? {
        return Ok(plain);
    }
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return array::to_tensor(array).map(Any::from);
    }
    if let Ok(function) = value.cast::<Function>() {
        return Ok(function.get().data.clone().into());
    }
    if let Ok(function) = value.cast::<ModelFunction>()
        && let Some(function) = function.get().value()
    {
        return Ok(function.into());
    }
    if let Ok(object) = value.cast::<Object>() {
        return Ok(object.get().0.clone());
    }
    match ty {
        Some(ValueType::Scalar(_)) if value.hasattr("item")? => return from_python(&value.call_method0("item")?, ty),
        _ => {}
    }
    if value.hasattr("__dlpack__")? {
        return dlpack::import(value).map(Any::from);
    }
    if value.is_callable() {
        return Ok(function::from_callable(value, Returns::Numpy).into());
    }
    if has_elements(value)? {
        return array::to_tensor(&array::of_any(value, None)?).map(Any::from);
    }
    Err(PyTypeError::new_err(format!("{} cannot be a value of a model", value.get_type().name()?)))
}

/// Numbers, texts, lists and tuples.
fn plain(value: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<Option<Any>> {
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    let is_list = value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>();
    if let (true, Some(ValueType::Tensor { dtype, .. })) = (is_number || is_list, ty) {
        return to_tensor(value, *dtype).map(|tensor| Some(tensor.into()));
    }
    if is_list {
        return list(value, ty).map(Some);
    }
    Ok(if value.is_none() {
        Some(Any::NONE)
    } else if let Ok(bool) = value.cast::<PyBool>() {
        Some(bool.is_true().into())
    } else if value.is_instance_of::<PyInt>() {
        let int = value.extract::<i64>()?;
        let is_float = matches!(ty, Some(ValueType::Scalar(dtype)) if dtype.is_floating());
        Some(if is_float { Any::from(int as f64) } else { int.into() })
    } else if let Ok(float) = value.cast::<PyFloat>() {
        if let Some(ValueType::Scalar(dtype)) = ty
            && !dtype.is_floating()
        {
            return Err(PyTypeError::new_err(format!("expected {dtype}, got a float")));
        }
        Some(float.value().into())
    } else if let Ok(text) = value.cast::<PyString>() {
        Some(Any::str(text.to_cow()?.as_ref()))
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        Some(value::Bytes::new(bytes.as_bytes()).into())
    } else {
        None
    })
}

/// A tuple, or a shape where the parameter is one.
fn list(value: &Bound<'_, PyAny>, ty: Option<&ValueType>) -> PyResult<Any> {
    if let Some(ValueType::Shape(_)) = ty {
        return Ok(Shape::new(&value.extract::<Vec<i64>>()?).into());
    }
    let fields: Vec<Bound<'_, PyAny>> = value.try_iter()?.collect::<PyResult<_>>()?;
    let types = if let Some(ValueType::Tuple(types)) = ty { types.as_slice() } else { &[] };
    let fields = fields.iter().enumerate().map(|(at, field)| from_python(field, types.get(at)));
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
    if let Ok(tensor) = value.cast::<Tensor>() {
        return Ok(tensor.get().0.clone());
    }
    if !value.is_instance_of::<PyUntypedArray>() && value.hasattr("__dlpack__")? {
        return dlpack::import(value);
    }
    match value.cast::<PyUntypedArray>() {
        Ok(array) => array::to_tensor(array),
        Err(_) => array::to_tensor(&array::of_any(value, dtype)?),
    }
}

/// A value of this runtime as one of Python.
pub fn to_python<'py>(py: Python<'py>, value: Any, returns: Returns) -> PyResult<Bound<'py, PyAny>> {
    if let Some(tensor) = value.get::<&value::Tensor>() {
        if returns == Returns::Numpy
            && tensor.device().is_host()
            && let Some(array) = array::of_tensor(py, tensor)?
        {
            return Ok(array);
        }
        return Ok(Bound::new(py, Tensor(tensor.clone()))?.into_any());
    }
    if let Some(fields) = value.get::<&Tuple>() {
        let fields = fields.as_slice().iter().map(|field| to_python(py, field.clone(), returns));
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
    if let Some(function) = value.get::<&hammock_runtime::Function>() {
        return Ok(Bound::new(py, Function { data: function.clone(), returns })?.into_any());
    }
    match value.type_index() {
        value::index::NONE => Ok(py.None().into_bound(py)),
        value::index::BOOL => Ok(PyBool::new(py, value.get() == Some(true)).to_owned().into_any()),
        value::index::INT => Ok(value.get::<i64>().into_pyobject(py)?),
        value::index::FLOAT => Ok(value.get::<f64>().into_pyobject(py)?),
        value::index::DATA_TYPE => Ok(value.get::<DType>().map(|dtype| dtype.to_string()).into_pyobject(py)?),
        value::index::DEVICE => Ok(value.get::<Device>().map(|device| device.to_string()).into_pyobject(py)?),
        _ => Ok(Bound::new(py, Object(value))?.into_any()),
    }
}

/// A value without a counterpart in Python, such as a closure. It can be given back to the model.
#[pyclass(frozen, module = "hammock")]
pub struct Object(pub Any);

#[pymethods]
impl Object {
    fn __repr__(&self) -> String {
        format!("<hammock.Object {}>", hammock_runtime::show::show(&self.0).trim_end())
    }
}
