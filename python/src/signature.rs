//! The classes `Signature` and `Parameter`: what the functions of a model take and return.
use hammock_runtime::image::signature::{Dims, Param, Role, Signature as Data, Size, ValueType};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use std::sync::Arc;

/// The signature of a function: its name, its parameters, and its results.
///
/// `str(signature)` is one line, such as `main(x: float32[n, 4]) -> float32[n, 2]`.
#[pyclass(frozen, eq, module = "hammock")]
#[derive(PartialEq)]
pub struct Signature(pub Arc<Data>);

#[pymethods]
impl Signature {
    /// The function's name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.function
    }

    /// The arguments of a call, in order.
    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        self.0.given().cloned().map(Parameter).collect()
    }

    /// The weights whose values are in the model, and parameters with a default value: calls do not pass them.
    #[getter]
    fn bound(&self) -> Vec<Parameter> {
        let is_bound = |param: &&Param| matches!(param.role, Role::Bound | Role::Default);
        self.0.params.iter().filter(is_bound).cloned().map(Parameter).collect()
    }

    /// The results: the fields of the tuple if the function returns one.
    #[getter]
    fn results(&self) -> Vec<Parameter> {
        self.0.results.iter().cloned().map(Parameter).collect()
    }

    fn __str__(&self) -> String {
        text(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<hammock.Signature {}>", text(&self.0))
    }
}

/// A parameter or a result of a function.
#[pyclass(frozen, eq, module = "hammock")]
#[derive(PartialEq)]
pub struct Parameter(Param);

#[pymethods]
impl Parameter {
    /// Its name; results without one have their index.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Its role: `"input"`, `"weight"` (a weight that each call passes), `"bound"` (one whose value is in the model),
    /// `"default"` (a parameter with a default value) or `"output"`.
    #[getter]
    fn role(&self) -> &'static str {
        self.0.role.name()
    }

    /// The kind of its values: `"tensor"`, `"shape"`, `"number"`, `"tuple"` or `"other"`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.ty {
            ValueType::Tensor { .. } => "tensor",
            ValueType::Shape(_) => "shape",
            ValueType::Scalar(_) => "number",
            ValueType::Tuple(_) => "tuple",
            ValueType::Other(_) => "other",
        }
    }

    /// The dtype of a tensor or number, such as `"float32"`; None if it is unknown.
    #[getter]
    fn dtype(&self) -> Option<String> {
        self.0.ty.dtype().map(|dtype| dtype.to_string())
    }

    /// The sizes of a tensor or shape: ints, and strings for symbolic ones, such as `"n"`; None for each if only the
    /// rank is known, and None instead of the tuple if not even that is.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (ValueType::Tensor { shape: dims, .. } | ValueType::Shape(dims)) = &self.0.ty else { return Ok(None) };
        let size = |size: &Size| match size {
            Size::Static(size) => size.into_py_any(py),
            Size::Symbol(text) => text.into_py_any(py),
        };
        match dims {
            Dims::Unknown => Ok(None),
            Dims::Rank(rank) => PyTuple::new(py, (0..*rank).map(|_| py.None())).map(Some),
            Dims::Known(sizes) => PyTuple::new(py, sizes.iter().map(size).collect::<PyResult<Vec<_>>>()?).map(Some),
        }
    }

    /// Its type as text, such as `"float32[n, 4]"`.
    #[getter]
    fn r#type(&self) -> String {
        self.0.ty.to_string()
    }

    fn __str__(&self) -> String {
        format!("{}: {}", self.0.name, self.0.ty)
    }

    fn __repr__(&self) -> String {
        format!("<hammock.Parameter {}>", self.__str__())
    }
}

/// `main(x: float32[n, 4]) -> float32[n, 2]`.
pub fn text(signature: &Data) -> String {
    let params: Vec<String> = signature.given().map(|param| format!("{}: {}", param.name, param.ty)).collect();
    format!("{}({}) -> {}", signature.function, params.join(", "), results_text(signature))
}

fn results_text(signature: &Data) -> String {
    let results: Vec<String> = signature.results.iter().map(|result| result.ty.to_string()).collect();
    if results.len() == 1 { results.concat() } else { format!("({})", results.join(", ")) }
}

/// A function's documentation: its signature, with a line for each parameter and result.
pub fn doc(signature: &Data) -> String {
    let mut lines = vec![text(signature)];
    let mut list = |title: &str, params: &mut dyn Iterator<Item = &Param>| {
        let params: Vec<String> = params.map(|param| format!("    {}: {}", param.name, param.ty)).collect();
        if !params.is_empty() {
            lines.extend([String::new(), format!("{title}:")]);
            lines.extend(params);
        }
    };
    list("Parameters", &mut signature.given());
    list("Results", &mut signature.results.iter());
    lines.join("\n")
}

/// The signature as one of the module `inspect`.
///
/// # Errors
/// ValueError if names are no identifiers of Python, which compilers do not write.
pub fn of_inspect<'py>(py: Python<'py>, signature: &Data) -> PyResult<Bound<'py, PyAny>> {
    let inspect = py.import("inspect")?;
    let class = inspect.getattr("Parameter")?;
    let kind = class.getattr("POSITIONAL_OR_KEYWORD")?;
    let params = PyList::empty(py);
    for param in signature.given() {
        let annotation = PyDict::new(py);
        annotation.set_item("annotation", param.ty.to_string())?;
        params.append(class.call((&param.name, &kind), Some(&annotation))?)?;
    }
    let result = PyDict::new(py);
    result.set_item("return_annotation", results_text(signature))?;
    inspect.getattr("Signature")?.call((params,), Some(&result))
}
