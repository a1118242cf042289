//! Modules: the compiler's intermediate representation.
use super::{describe, failure::raise};
use crate::convert::{Returns, to_python};
use hammock_compiler::{Failure, Model, STACK_BYTES};
use hammock_ir::{
    Module, equal, hash,
    print::{Metadata, PrintOptions, constants, module_text},
    verify,
};
use hammock_ops::Table;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use std::mem;

/// Calls a function that walks trees, which nest as deep as a text may.
fn with_large_stack<R>(walk: impl FnOnce() -> R) -> R {
    stacker::grow(STACK_BYTES, walk)
}

/// A module, with the text that its spans point into, and signatures from before its weights became constants. The
/// package's class `Module` has one.
#[pyclass(frozen, module = "hammock._hammock")]
pub struct ModuleHandle(Model);

impl ModuleHandle {
    /// The handle of a model without unbound weights.
    pub fn new(mut model: Model) -> ModuleHandle {
        let Module { functions, attrs, global_infos, .. } = &model.module;
        // Only a single function is read back without a class.
        let has_one_function = functions.len() == 1 && attrs.is_empty() && global_infos.is_empty();
        model.module.bare &= has_one_function;
        ModuleHandle(model)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.0
    }

    fn module(&self) -> &Module {
        &self.0.module
    }
}

impl Drop for ModuleHandle {
    fn drop(&mut self) {
        let module = mem::take(&mut self.0.module);
        with_large_stack(move || drop(module));
    }
}

#[pymethods]
impl ModuleHandle {
    /// The text. Constants of graphs are in it where `has_constants`, other objects of the metadata section where
    /// `has_metadata`.
    fn text(&self, py: Python<'_>, has_metadata: bool, has_constants: bool) -> String {
        let metadata = match (has_metadata, has_constants) {
            (false, _) => Metadata::Omitted,
            (true, false) => Metadata::NoConstants,
            (true, true) => Metadata::All,
        };
        py.detach(|| with_large_stack(|| module_text(self.module(), &PrintOptions { metadata })))
    }

    /// The same module, whose text has a class.
    fn in_class(&self) -> ModuleHandle {
        let module = Module { bare: false, ..self.module().clone() };
        ModuleHandle(Model { module, ..self.0.clone() })
    }

    /// The constants that the text refers to by index, as arrays.
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tensors = py.detach(|| with_large_stack(|| constants(self.module())));
        let arrays = tensors.into_iter().map(|tensor| to_python(py, tensor.into(), Returns::Numpy));
        PyList::new(py, arrays.collect::<PyResult<Vec<_>>>()?)
    }

    /// The functions as dicts, in the order in which the text has them.
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let functions = py.detach(|| with_large_stack(|| describe::functions(self.module(), &self.0.source)));
        functions.iter().map(|function| function.to_dict(py)).collect()
    }

    /// Name and text of the file that spans point into.
    fn source(&self) -> (&str, &str) {
        (self.0.source.name(), self.0.source.text())
    }

    /// The first difference to another module, except in names of variables; `None` if there is none.
    fn difference(&self, py: Python<'_>, other: &Bound<'_, ModuleHandle>) -> Option<String> {
        let other = other.get().module();
        let compared = py.detach(|| with_large_stack(|| equal::modules(self.module(), other)));
        compared.err().map(|difference| difference.to_string())
    }

    /// A hash that is equal for modules without a difference.
    fn hash(&self, py: Python<'_>) -> u64 {
        py.detach(|| with_large_stack(|| hash::module(self.module())))
    }

    /// Raises CompileError unless the module is well formed.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let errors = py.detach(|| with_large_stack(|| verify::errors(self.module(), &Table)));
        if errors.is_empty() {
            return Ok(());
        }
        Err(raise(py, &Failure::from(errors).within(&self.0.source)))
    }

    /// The same module with the signatures of the original.
    fn made_from(&self, original: &Bound<'_, ModuleHandle>) -> ModuleHandle {
        ModuleHandle(Model { signatures: original.get().0.signatures.clone(), ..self.0.clone() })
    }
}
