//! Interface of import functions to a node: its inputs and attributes, and helpers that append calls.

use crate::{
    attributes::Attributes, graph::Importer, known_tensor::KnownTensor, schema::TensorProto, tensor, value::Value,
};
use hammock_ir::{
    AttrValue, DType, PrimExpr, Tensor, TensorShape, TensorType, Type,
    relax::{Constant, InferError, Operand},
};
use hammock_ops::{dims, legalize::accumulator};

/// Node that is being imported.
pub struct Node<'a, 'm> {
    /// Importer of the graph, with the function under construction.
    pub importer: &'a mut Importer<'m>,
    /// Attributes.
    pub attrs: Attributes<'m>,
    /// Version of its domain's operator set.
    pub opset: i64,
    /// Inputs; `None` if omitted.
    pub inputs: Vec<Option<Value>>,
    /// Number of outputs.
    pub outputs: usize,
}

/// Result of import helpers.
pub type Result<T> = std::result::Result<T, InferError>;

impl<'m> Node<'_, 'm> {
    /// Returns an error about the node.
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(InferError::new(message))
    }

    /// Returns an input, if it is present.
    pub fn given(&self, at: usize) -> Option<&Value> {
        self.inputs.get(at).and_then(Option::as_ref)
    }

    /// Returns a required input.
    pub fn value(&self, at: usize) -> Result<Value> {
        let missing = || InferError::new(format!("its input {at} is missing"));
        self.given(at).cloned().ok_or_else(missing)
    }

    /// Returns a required input as an operand.
    pub fn input(&mut self, at: usize) -> Result<Operand> {
        let value = self.value(at)?;
        self.importer.build.operand(&value)
    }

    /// Returns an optional input as an operand.
    pub fn optional(&mut self, at: usize) -> Result<Option<Operand>> {
        let value = self.given(at).cloned();
        value.map(|value| self.importer.build.operand(&value)).transpose()
    }

    /// Returns the tensor of an input that is a constant; `None` for other ones.
    pub fn constant(&mut self, at: usize) -> Result<Option<Tensor>> {
        Ok(match self.optional(at)? {
            Some(Operand::Const(constant)) => Some(constant.tensor),
            _ => None,
        })
    }

    /// Returns all inputs from an index on, which are required.
    pub fn inputs_from(&mut self, from: usize) -> Result<Vec<Operand>> {
        (from..self.inputs.len()).map(|at| self.input(at)).collect()
    }

    /// Returns the elements of an input if they are known.
    pub fn known(&self, at: usize) -> Option<KnownTensor> {
        self.importer.build.known(self.given(at)?)
    }

    /// Returns the integers of an input that must be known at compile time; `None` if it is omitted.
    pub fn ints(&self, at: usize, name: &str) -> Result<Option<Vec<i64>>> {
        let Some(value) = self.given(at) else { return Ok(None) };
        let ints = self.importer.build.known(value).and_then(|known| known.ints());
        ints.map(Some).ok_or_else(|| not_constant(name))
    }

    /// Returns the floats of an input that must be known at compile time; `None` if it is omitted.
    pub fn floats(&self, at: usize, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.given(at) else { return Ok(None) };
        let floats = self.importer.build.known(value).and_then(|known| known.floats());
        floats.map(Some).ok_or_else(|| not_constant(name))
    }

    /// Returns integers that are an attribute before a version of the operator set, and an input since then.
    pub fn ints_since(&self, version: i64, at: usize, name: &str) -> Result<Option<Vec<i64>>> {
        if self.opset < version { self.attrs.ints(name) } else { self.ints(at, name) }
    }

    /// Returns the elements of a tensor attribute.
    pub fn tensor_numbers(&mut self, proto: &'m TensorProto) -> Result<Vec<f64>> {
        let tensor = self.importer.read_tensor(proto).map_err(InferError::new)?;
        tensor::numbers(&tensor).map_err(InferError::new)
    }

    /// Returns the dimensions in an input, which must be constants or expressions over dimensions.
    pub fn known_sizes(&self, at: usize, name: &str) -> Result<Vec<PrimExpr>> {
        self.known(at).map(|known| known.elements.to_vec()).ok_or_else(|| not_constant(name))
    }

    /// Returns the shape of an operand.
    pub fn dims(&self, x: &Operand) -> Result<Vec<PrimExpr>> {
        self.importer.build.dims(x)
    }

    /// Returns the rank of an operand.
    pub fn rank(&self, x: &Operand) -> Result<usize> {
        Ok(self.dims(x)?.len())
    }

    /// Returns the dtype of an operand.
    pub fn dtype(&self, x: &Operand) -> Result<DType> {
        self.importer.build.dtype(x)
    }

    /// Appends a call of an operator.
    pub fn call(&mut self, op: &'static str, args: impl Into<Vec<Operand>>) -> Result<Operand> {
        self.importer.build.call(op, args.into(), &[])
    }

    /// Appends a call of an operator with attributes.
    pub fn call_with(
        &mut self,
        op: &'static str,
        args: impl Into<Vec<Operand>>,
        attrs: &[(&'static str, AttrValue)],
    ) -> Result<Operand> {
        self.importer.build.call(op, args.into(), attrs)
    }

    /// Casts a tensor to another dtype.
    pub fn cast(&mut self, x: Operand, dtype: DType) -> Result<Operand> {
        self.importer.build.cast(x, dtype)
    }

    /// Computes in the accumulator dtype, float32 for narrower floats, so intermediates do not overflow and the result
    /// is rounded once.
    pub fn in_accumulator_dtype(
        &mut self,
        x: Operand,
        compute: impl FnOnce(&mut Self, Operand) -> Result<Operand>,
    ) -> Result<Operand> {
        let dtype = self.dtype(&x)?;
        let x = self.cast(x, accumulator(dtype))?;
        let y = compute(self, x)?;
        self.cast(y, dtype)
    }

    /// Returns a scalar constant of an operand's dtype.
    pub fn scalar_like(&self, value: f64, like: &Operand) -> Result<Operand> {
        scalar(value, self.dtype(like)?)
    }

    /// Appends `x op number`.
    pub fn with_scalar(&mut self, op: &'static str, x: &Operand, value: f64) -> Result<Operand> {
        let number = self.scalar_like(value, x)?;
        self.call(op, [x.clone(), number])
    }

    /// Adds `more` to a partial sum, which is `None` at first.
    pub fn accumulate_sum(&mut self, sum: Option<Operand>, more: Operand) -> Result<Operand> {
        match sum {
            Some(sum) => self.call("add", [sum, more]),
            None => Ok(more),
        }
    }

    /// Reshapes a tensor.
    pub fn reshape(&mut self, x: Operand, shape: Vec<PrimExpr>) -> Result<Operand> {
        self.call("reshape", [x, Operand::Shape(shape)])
    }

    /// Asserts the dimensions of some axes; those that are not known statically are checked at run time.
    pub fn assert_dims(&mut self, x: Operand, sizes: &[(usize, PrimExpr)]) -> Result<Operand> {
        let ty = self.importer.build.tensor(&x)?;
        let own = self.dims(&x)?;
        let mut wanted = own.clone();
        for (axis, size) in sizes {
            match dims::equal(&own[*axis], size) {
                Some(true) => {}
                Some(false) => {
                    let (own, size) = (shown_size(&own[*axis]), shown_size(size));
                    return self.error(format!("the size of axis {axis} is {own}, not {size}"));
                }
                None => wanted[*axis] = size.clone(),
            }
        }
        if dims::all_equal(&own, &wanted) {
            return Ok(x);
        }
        self.importer.build.match_cast(x, TensorType { shape: TensorShape::Known(wanted.into()), ..ty }.into())
    }

    /// Checks at run time that a dimension is at least `min`.
    pub fn expect_at_least(&mut self, size: &PrimExpr, min: i64) -> Result<()> {
        let known = dims::min(size, &min.into());
        self.importer.build.match_cast(Operand::Shape(vec![known]), Type::shape([min]))?;
        Ok(())
    }

    /// Normalizes an axis, which may be negative.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_start = if axis < 0 { axis + rank as i64 } else { axis };
        let at = usize::try_from(from_start).ok().filter(|at| *at < rank);
        at.ok_or_else(|| InferError::new(format!("there is no axis {axis} in {} dimensions", rank)))
    }

    /// Normalizes axes, which may be negative.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        axes.iter().map(|axis| self.axis(*axis, rank)).collect()
    }
}

/// Returns a scalar constant.
pub fn scalar(value: f64, dtype: DType) -> Result<Operand> {
    if let Some(constant) = Constant::float(value, dtype) {
        return Ok(Operand::Const(constant));
    }
    let known = KnownTensor::new(&[], dtype, [PrimExpr::int64(value as i64)]).and_then(|known| known.constant());
    known.ok_or_else(|| InferError::new(format!("{value} is not a value of {dtype}")))
}

/// Formats a dimension for messages.
pub fn shown_size(size: &PrimExpr) -> String {
    size.as_int().map_or_else(|| size.to_string(), |size| size.to_string())
}

/// Returns the product of dimensions.
pub fn product(sizes: &[PrimExpr]) -> PrimExpr {
    dims::product(sizes)
}

/// Returns axes as an attribute.
pub fn axes_attr(axes: &[usize]) -> AttrValue {
    axes.iter().map(|axis| *axis as i64).collect::<Vec<_>>().into()
}

fn not_constant(name: &str) -> InferError {
    InferError::new(format!("`{name}` has to be known when the model is compiled"))
        .help("make it a constant or an initializer, or compute it from shapes alone")
}
