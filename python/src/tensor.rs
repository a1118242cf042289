//! The class `Tensor`.
use crate::{array, convert::to_tensor, dlpack, error::raise};
use hammock_runtime::{Any, DType, show, value::Tensor as Data};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    ffi,
    prelude::*,
    types::PyTuple,
};
use std::{
    ffi::{CStr, c_int},
    ptr::null_mut,
};

/// A tensor: an array of numbers of one dtype, in the memory of a device.
///
/// It shares its memory with NumPy (`numpy.asarray(tensor)`), with other frameworks (`torch.from_dlpack(tensor)`) and with
/// anything that reads buffers (`memoryview(tensor)`). `Tensor(x)` makes one of an array, a number, a nested list, or an object
/// with `__dlpack__`, again without a copy where that is possible.
#[pyclass(frozen, module = "hammock")]
pub struct Tensor(pub Data);

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

    /// The device of its memory, such as `"cpu"`.
    #[getter]
    fn device(&self) -> String {
        self.0.device().to_string()
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

    /// The NumPy array that shares its memory.
    ///
    /// Raises TypeError if NumPy has no such dtype; the package `ml_dtypes` adds bfloat16 and the float8 types.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array::of_tensor(py, &self.0)?.ok_or_else(|| {
            let dtype = self.0.dtype();
            PyTypeError::new_err(format!(
                "NumPy has no dtype `{dtype}`; `pip install ml_dtypes` adds bfloat16 and float8"
            ))
        })
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None if copy == Some(true) => array.call_method0("copy"),
            None => Ok(array),
        }
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
        if stream.is_some_and(|stream| !stream.is_none()) && self.0.device().is_host() {
            return Err(PyBufferError::new_err("tensors of the CPU have no stream"));
        }
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err(format!(
                "the tensor is on {}, not on the device asked for",
                self.device()
            )));
        }
        let copied = match copy {
            Some(true) => {
                let dense = self.0.to_contiguous().map_err(|error| raise(error.into()))?;
                let bytes = dense.as_bytes().map_err(|error| raise(error.into()))?;
                Some(Data::from_bytes(dense.dtype(), dense.shape(), bytes).map_err(|error| raise(error.into()))?)
            }
            _ => None,
        };
        dlpack::export(py, copied.as_ref().unwrap_or(&self.0), max_version.is_some_and(|(major, _)| major >= 1))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.0.device();
        (device.kind, device.id)
    }

    /// # Safety
    /// Python passes a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let tensor = &slf.get().0;
        let format = buffer_format(tensor.dtype());
        let format = format.ok_or_else(|| PyBufferError::new_err(format!("buffers have no {}", tensor.dtype())))?;
        if !tensor.is_contiguous() || !tensor.device().is_host() {
            return Err(PyBufferError::new_err("only contiguous tensors of the CPU have a buffer"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && tensor.is_read_only() {
            return Err(PyBufferError::new_err("the tensor is a constant, which must not be written"));
        }
        let width = tensor.dtype().bytes() as isize;
        let shape: Vec<isize> = tensor.shape().iter().map(|size| *size as isize).collect();
        let mut strides = vec![width; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
        }
        let asked = |flag: c_int| flags & flag == flag;
        let mut layout = Box::new((shape, strides));
        // SAFETY: Python passes a view to fill. The layout lives until `__releasebuffer__`, the memory as long as the tensor,
        // which the view refers to.
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
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }

    /// # Safety
    /// Python passes a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as Python promises.
        unsafe { drop(Box::from_raw((*view).internal.cast::<(Vec<isize>, Vec<isize>)>())) }
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

/// Format of elements in Python's buffers; `None` if these have no such elements.
fn buffer_format(dtype: DType) -> Option<&'static CStr> {
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
