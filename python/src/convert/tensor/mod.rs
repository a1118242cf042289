//! The class `Tensor`.
pub mod array;
mod buffer;
pub mod dlpack;
mod widen;

use super::to_tensor;
use crate::error::raise;
use hammock_runtime::{Any, Device, show, value::Tensor as Data};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyDict, PyFloat, PyInt, PyTuple},
};
use std::ffi::c_int;

/// A tensor: an array of numbers of one dtype, in the memory of a device.
///
/// It shares its memory with NumPy (`numpy.asarray(tensor)`), with other frameworks (`torch.from_dlpack(tensor)`) and
/// with anything that reads buffers (`memoryview(tensor)`). `Tensor(x)` makes one of an array, a number, a nested list,
/// or an object with `__dlpack__`, again without a copy where that is possible.
#[pyclass(frozen, module = "hammock")]
pub struct Tensor(pub Data);

impl Tensor {
    /// The NumPy array of its elements, in a dtype that NumPy has.
    fn widened<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let host = self.0.to_device(Device::CPU).map_err(raise)?;
        match array::of_tensor(py, &host)? {
            Some(array) => Ok(array),
            None => Tensor(widen::widen(&host)?).numpy(py),
        }
    }
}

#[pymethods]
impl Tensor {
    #[new]
    fn new(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        to_tensor(value, None).map(Tensor)
    }

    /// The sizes of its dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The dtype of its elements, such as `"float32"`.
    #[getter]
    fn dtype(&self) -> String {
        self.0.dtype().to_string()
    }

    /// The device of its memory, such as `"cpu:0"`.
    #[getter]
    fn device(&self) -> String {
        self.0.device().to_string()
    }

    /// The tensor on the CPU: itself if it is there, otherwise a copy.
    fn cpu(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let own = &slf.get().0;
        if own.device().is_host() {
            return Ok(slf);
        }
        Bound::new(slf.py(), Tensor(own.to_device(Device::CPU).map_err(raise)?))
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.shape().len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.element_count()
    }

    /// The size of its elements in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    /// The NumPy array that shares its memory; read-only if the tensor is a constant of a model.
    ///
    /// Raises TypeError if NumPy has no such dtype; the package `ml_dtypes` adds bfloat16 and the float8 types.
    /// `astype` and `tolist` need no such dtype.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.0.device().is_host() {
            return Err(PyTypeError::new_err(format!(
                "the tensor is on {}, and NumPy has arrays of the CPU only: `cpu()` copies it",
                self.device()
            )));
        }
        array::of_tensor(py, &self.0)?.ok_or_else(|| {
            let dtype = self.0.dtype();
            PyTypeError::new_err(format!(
                "NumPy has no dtype `{dtype}`; astype(\"{}\") converts it, and `pip install ml_dtypes` adds bfloat16 \
                 and float8",
                widen::dtype(dtype)
            ))
        })
    }

    /// Another name of `numpy`.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy(py)
    }

    /// A NumPy array with its elements converted to `dtype`, as by `numpy.ndarray.astype`. Elements of any dtype can be
    /// converted, also those that NumPy itself lacks: bfloat16, float8, int4 and so on.
    ///
    /// Raises TypeError if NumPy has no dtype `dtype`.
    fn astype<'py>(&self, py: Python<'py>, dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.widened(py)?.call_method1("astype", (dtype,))
    }

    /// Its only element, as a number of Python.
    ///
    /// Raises ValueError if it has more than one, or none.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = self.size();
        if count != 1 {
            return Err(PyValueError::new_err(format!("only tensors of one element have an item, not one of {count}")));
        }
        self.widened(py)?.call_method0("item")
    }

    /// Its elements as nested lists of numbers; for rank 0, the number.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.widened(py)?.call_method0("tolist")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.numpy(py)?;
        let Some(dtype) = dtype.filter(|dtype| !dtype.is_none()) else {
            return if copy == Some(true) { array.call_method0("copy") } else { Ok(array) };
        };
        let how = PyDict::new(py);
        how.set_item("copy", copy == Some(true))?;
        let converted = array.call_method("astype", (dtype,), Some(&how))?;
        if copy == Some(false) && !converted.is(&array) {
            return Err(PyValueError::new_err(format!(
                "elements of {} cannot be converted without a copy",
                self.dtype()
            )));
        }
        Ok(converted)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy(py)?.get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.numpy(py)?.try_iter()?.into_any())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.item(py)?,))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyFloat>().call1((self.item(py)?,))
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream.filter(|stream| !stream.is_none());
        match stream.map(|stream| stream.extract::<i64>()).transpose()? {
            Some(_) if self.0.device().is_host() => {
                return Err(PyBufferError::new_err("tensors of the CPU have no stream"));
            }
            Some(stream) if stream == 0 || stream < -1 => {
                return Err(PyBufferError::new_err(format!("{stream} is no stream of CUDA for DLPack")));
            }
            // The calls that wrote the tensor have ended, and so has their work on the device.
            _ => {}
        }
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err(format!(
                "the tensor is on {}, not on the device asked for",
                self.device()
            )));
        }
        let copied = if copy == Some(true) { Some(dlpack::copied(&self.0)?) } else { None };
        dlpack::export(py, copied.as_ref().unwrap_or(&self.0), max_version.is_some_and(|(major, _)| major >= 1))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.0.device();
        (device.kind, device.id)
    }

    /// # Safety
    /// Python passes a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: as Python promises.
        unsafe { buffer::fill(slf, view, flags) }
    }

    /// # Safety
    /// Python passes a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as Python promises.
        unsafe { buffer::release(view) }
    }

    fn __repr__(&self) -> String {
        let text = show::show(&Any::from(self.0.clone()));
        format!("hammock.Tensor({})", text.trim_end())
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.0.shape().first() {
            Some(len) => Ok(*len as usize),
            None => Err(PyTypeError::new_err("a tensor of rank 0 has no length")),
        }
    }
}
