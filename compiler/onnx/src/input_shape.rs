//! Input shapes given by users, for dimensions and ranks that the model leaves open.

use crate::{
    graph::Importer,
    listing::brief,
    model::damaged,
    names::identifier,
    schema::{DimensionValue, GraphProto, TypeProto, ValueInfoProto, type_proto},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::PrimExpr;
use std::{fmt, str::FromStr, sync::Arc};

/// Maximum rank of an input.
const MAX_RANK: usize = 64;

/// Shape of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputShape {
    /// Name of the input.
    pub input: String,
    /// Dimensions.
    pub sizes: Vec<InputSize>,
}

/// Dimension of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSize {
    /// Constant.
    Static(i64),
    /// Symbolic dimension with this name.
    Symbol(String),
}

impl FromStr for InputShape {
    type Err = String;

    /// Parses `NAME=2,n,3`; without dimensions, a scalar.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "a shape is given as NAME=2,n,3";
        let (input, sizes) = text.rsplit_once('=').ok_or(form)?;
        let sizes = sizes.trim().trim_start_matches('[').trim_end_matches(']');
        let size = |text: &str| match text.trim() {
            text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                text.parse().map(InputSize::Static).map_err(|_| format!("`{text}` is not a size"))
            }
            text if !text.is_empty() && identifier(text) == text => Ok(InputSize::Symbol(text.to_owned())),
            text => Err(format!("`{text}` is neither a size nor a name for one")),
        };
        let sizes: Vec<InputSize> = match sizes {
            "" => Vec::new(),
            sizes => sizes.split(',').map(size).collect::<Result<_, _>>()?,
        };
        match input.trim() {
            "" => Err(form.to_owned()),
            _ if sizes.len() > MAX_RANK => Err(format!("an input has at most {MAX_RANK} dimensions")),
            input => Ok(InputShape { input: input.to_owned(), sizes }),
        }
    }
}

/// Ranks of inputs from the arguments of a call, in the order of the inputs' names; `None` for inputs without an
/// argument.
#[derive(Clone, Default)]
pub struct Ranks(pub Option<Arc<RanksOf>>);

/// Function from parameter names to their ranks.
pub type RanksOf = dyn Fn(&[&str]) -> Vec<Option<usize>> + Send + Sync;

impl fmt::Debug for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ranks").field(&self.0.is_some()).finish()
    }
}

impl<'m> Importer<'m> {
    /// Applies user-given shapes before inputs become parameters: a named dimension that is given a number has it in
    /// all inputs.
    pub(crate) fn apply_shapes(&mut self, graph: &'m GraphProto) {
        for shape in &self.options.shapes {
            if let Err(error) = self.apply_shape(graph, shape) {
                self.report(error);
            }
        }
    }

    fn apply_shape(&mut self, graph: &'m GraphProto, shape: &InputShape) -> Result<(), Diagnostic> {
        let wrong = |message: String| Diagnostic::error(codes::ONNX_UNSUPPORTED, message);
        let Some(input) = graph.input.iter().find(|input| matches_input(shape, &input.name)) else {
            return Err(wrong(format!("the model has no input `{}`, for which there is a shape", brief(&shape.input)))
                .help("`hammock inspect` shows its inputs"));
        };
        let Some(dims) = declared_dims(input) else { return Ok(()) };
        if dims.len() != shape.sizes.len() {
            let (declared, given) = (dims.len(), shape.sizes.len());
            let name = brief(&input.name);
            return Err(wrong(format!(
                "the input `{name}` has {declared} dimensions, but the shape given for it has {given}"
            )));
        }
        for (axis, (declared, given)) in dims.into_iter().zip(&shape.sizes).enumerate() {
            match (declared, given) {
                (Some(DimensionValue::DimValue(size)), given) if *size >= 0 && *given != InputSize::Static(*size) => {
                    let name = brief(&input.name);
                    return Err(wrong(format!("axis {axis} of the input `{name}` has the size {size}, not {given}")));
                }
                (Some(DimensionValue::DimParam(name)), InputSize::Static(size)) if !name.is_empty() => {
                    let size = PrimExpr::int64(*size);
                    let known = self.symbols.entry(name.clone()).or_insert_with(|| size.clone());
                    if known.as_int() != size.as_int() {
                        let message = format!("the size `{}` is given as {known} and as {size}", brief(name));
                        return Err(wrong(message));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the dimensions of an input: the user's, or those that the model declares.
    pub(crate) fn input_dims(&mut self, input: &'m ValueInfoProto) -> Result<Vec<PrimExpr>, Diagnostic> {
        let given = self.options.shapes.iter().find(|shape| matches_input(shape, &input.name));
        let given = given.map(|shape| shape.sizes.clone());
        let dims = match (declared_dims(input), &given) {
            (Some(dims), _) => dims,
            (None, Some(sizes)) => vec![None; sizes.len()],
            (None, None) => vec![None; self.rank_from_call(input)?],
        };
        let sizes = dims.into_iter().enumerate().map(|(axis, declared)| {
            match given.as_ref().and_then(|sizes| sizes.get(axis)) {
                Some(InputSize::Static(size)) if !is_fixed(declared) => PrimExpr::int64(*size),
                // Named dimensions keep their name: other inputs may share it.
                Some(InputSize::Symbol(name)) if !is_named(declared) => {
                    self.dimension(Some(&DimensionValue::DimParam(name.clone())), "", axis)
                }
                _ => self.dimension(declared, &input.name, axis),
            }
        });
        Ok(sizes.collect())
    }

    /// Returns the rank of an input that the model leaves open, from the call's argument.
    fn rank_from_call(&self, input: &ValueInfoProto) -> Result<usize, Diagnostic> {
        let rank = self.options.ranks.0.as_ref().and_then(|ranks| {
            let names: Vec<&str> = self.parameters.iter().map(String::as_str).collect();
            let at = names.iter().position(|name| self.names.parameter(&input.name) == Some(*name))?;
            *ranks(&names).get(at)?
        });
        rank.filter(|rank| *rank <= MAX_RANK).ok_or_else(|| {
            let name = brief(&input.name);
            damaged(format!("the model does not say how many dimensions its input `{name}` has"))
                .help(format!("give its shape, with names for sizes that are not known: --shape {name}=n,m,3"))
        })
    }
}

impl fmt::Display for InputSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputSize::Static(size) => write!(f, "{size}"),
            InputSize::Symbol(name) => f.write_str(name),
        }
    }
}

fn is_fixed(size: Option<&DimensionValue>) -> bool {
    matches!(size, Some(DimensionValue::DimValue(0..)))
}

fn is_named(size: Option<&DimensionValue>) -> bool {
    matches!(size, Some(DimensionValue::DimParam(name)) if !name.is_empty())
}

fn matches_input(shape: &InputShape, input: &str) -> bool {
    shape.input == input || identifier(&shape.input) == identifier(input)
}

/// Returns the dimensions that the model declares for an input; `None` if its rank is open.
fn declared_dims(input: &ValueInfoProto) -> Option<Vec<Option<&DimensionValue>>> {
    match &input.r#type {
        Some(TypeProto { value: Some(type_proto::Value::Tensor(tensor)) }) => {
            Some(tensor.shape.as_ref()?.dim.iter().map(|dim| dim.value.as_ref()).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        let shape = |input: &str, sizes: &[InputSize]| Ok(InputShape { input: input.into(), sizes: sizes.into() });
        let (two, n) = (InputSize::Static(2), InputSize::Symbol("n".into()));
        assert_eq!("x=2,n".parse(), shape("x", &[two.clone(), n.clone()]));
        assert_eq!("a.b:0 = [2, n]".parse(), shape("a.b:0", &[two, n]));
        assert_eq!("x=".parse(), shape("x", &[]));
        for wrong in ["x", "=2", "x=2,", "x=-1", "x=2a", "x=n+1", "x=99999999999999999999"] {
            assert!(wrong.parse::<InputShape>().is_err(), "{wrong}");
        }
    }
}
