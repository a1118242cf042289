//! What functions of a module consist of.
use hammock_diagnostics::{SourceFile, Span};
use hammock_ir::{
    AttrValue, Attrs, Function, Module, Name,
    print::{BindingText, GraphText, attr_text, function_text, graph_texts, type_text},
    tir::{Param, PrimFunc},
};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};

/// Lines and columns of a span, counted from 1, with an exclusive end.
type Location = (u32, u32, u32, u32);

/// A function of a module.
pub struct Described {
    name: String,
    kind: &'static str,
    params: Vec<(String, String, Option<Location>)>,
    bindings: Vec<(BindingText, bool, Option<Location>)>,
    result: Option<String>,
    ret_type: Option<String>,
    attrs: Attrs,
    span: Option<Location>,
    text: String,
}

/// Functions in the order in which the text has them.
pub fn functions(module: &Module, source: &SourceFile) -> Vec<Described> {
    let mut graphs = graph_texts(module);
    let mut described: Vec<Described> =
        module.functions.iter().map(|(name, function)| describe(name, function, &mut graphs, source)).collect();
    let rank = |d: &Described| (d.name == "main", d.kind == "relax", d.kind == "extern");
    described.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)));
    described
}

fn describe(name: &Name, function: &Function, graphs: &mut [GraphText], source: &SourceFile) -> Described {
    let graph = graphs.iter_mut().find(|graph| graph.name == *name.as_str()).map(std::mem::take).unwrap_or_default();
    let blank = Described {
        name: name.to_string(),
        kind: "extern",
        params: Vec::new(),
        bindings: Vec::new(),
        result: None,
        ret_type: None,
        attrs: function.attrs().cloned().unwrap_or_default(),
        span: None,
        text: function_text(name, function),
    };
    match function {
        Function::Relax(f) => {
            let spans = f.lambda.params.iter().map(|param| location(f.vars[*param].span, source));
            let params = graph.params.into_iter().zip(spans).map(|((name, ty), span)| (name, ty, span));
            let blocks = f.lambda.body.blocks.iter();
            let locations = blocks.flat_map(|b| b.bindings.iter().map(|own| (b.dataflow, location(own.span, source))));
            let bindings =
                graph.bindings.into_iter().zip(locations).map(|(text, (dataflow, span))| (text, dataflow, span));
            Described {
                kind: "relax",
                params: params.collect(),
                bindings: bindings.collect(),
                result: Some(graph.result),
                ret_type: Some(graph.ret_ty),
                span: location(f.lambda.span, source),
                ..blank
            }
        }
        Function::Tir(kernel) => {
            Described { kind: "tir", span: location(kernel.span, source), ..kernel_of(kernel, blank) }
        }
        Function::Extern(f) => {
            Described { ret_type: f.ty.as_ref().map(type_text), span: location(f.span, source), ..blank }
        }
    }
}

fn kernel_of(kernel: &PrimFunc, blank: Described) -> Described {
    let param = |param: &Param| match &param.buffer {
        Some(buffer) => (buffer.name.to_string(), buffer_text(buffer), None),
        None => (param.var.name().to_string(), format!("T.{}", param.var.dtype()), None),
    };
    let ret_type = kernel.ret_ty.as_ref().map(|ty| format!("T.{}", ty.dtype()));
    Described { params: kernel.params.iter().map(param).collect(), ret_type, ..blank }
}

/// `T.Buffer((n, 4), "float32")`.
fn buffer_text(buffer: &hammock_ir::tir::Buffer) -> String {
    let sizes: Vec<String> = buffer.shape.iter().map(hammock_ir::print::dim_text).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    format!("T.Buffer(({}{comma}), \"{}\")", sizes.join(", "), buffer.dtype)
}

fn location(span: Span, source: &SourceFile) -> Option<Location> {
    if span.is_none() || span.end as usize > source.text().len() {
        return None;
    }
    let (start, end) = (source.position(span.start), source.position(span.end.max(span.start)));
    Some((start.line, start.column, end.line, end.column))
}

impl Described {
    /// The function as a dict; the package's class `GlobalFunction` has its entries as fields.
    pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let bindings =
            self.bindings.iter().map(|(text, dataflow, span)| (&text.var, &text.ty, &text.value, *dataflow, *span));
        let attrs = PyDict::new(py);
        for (key, value) in self.attrs.iter() {
            attrs.set_item(key.as_str(), attr_to_python(py, value)?)?;
        }
        let dict = PyDict::new(py);
        dict.set_item("name", &self.name)?;
        dict.set_item("kind", self.kind)?;
        dict.set_item("params", PyList::new(py, &self.params)?)?;
        dict.set_item("bindings", PyList::new(py, bindings)?)?;
        dict.set_item("result", &self.result)?;
        dict.set_item("ret_type", &self.ret_type)?;
        dict.set_item("attrs", attrs)?;
        dict.set_item("span", self.span)?;
        dict.set_item("text", &self.text)?;
        Ok(dict)
    }
}

/// A value of an attribute: numbers, strings, lists and dicts as themselves, others as text.
fn attr_to_python<'py>(py: Python<'py>, value: &AttrValue) -> PyResult<Bound<'py, PyAny>> {
    match value {
        AttrValue::None => Ok(py.None().into_bound(py)),
        AttrValue::Bool(value) => value.into_bound_py_any(py),
        AttrValue::Int(value) => value.into_bound_py_any(py),
        AttrValue::Float(value) => value.into_bound_py_any(py),
        AttrValue::Str(text) => text.as_str().into_bound_py_any(py),
        AttrValue::List(values) => {
            let values: Vec<_> = values.iter().map(|value| attr_to_python(py, value)).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        AttrValue::Tuple(values) => {
            let values: Vec<_> = values.iter().map(|value| attr_to_python(py, value)).collect::<PyResult<_>>()?;
            Ok(PyTuple::new(py, values)?.into_any())
        }
        AttrValue::Dict(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(attr_to_python(py, key)?, attr_to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
        other => attr_text(other).into_bound_py_any(py),
    }
}
