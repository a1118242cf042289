//! Sequences and optional values at run time.

use super::Builder;
use crate::value::{
    Value,
    sequence::{Dims, Element, ObjectType, OptionalType, Sequence},
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{InferError, Operand},
};
use hammock_tools::ElementType;

impl Builder {
    /// Returns the type of a tensor as one of a sequence.
    ///
    /// # Errors
    /// If the value is not a tensor.
    pub fn element_of(&mut self, value: &Value) -> Result<Element, InferError> {
        if let Value::Known(known) = value {
            let ty = ElementType { number: 0, stored: known.dtype, held: known.dtype };
            let dims = known.shape.iter().map(|size| Some(PrimExpr::int64(*size))).collect();
            return Ok(Element { ty: Some(ty), dims: Dims::Known(dims) });
        }
        let operand = self.operand(value)?;
        let ty = self.tensor(&operand)?;
        let held = |held| ElementType { number: 0, stored: held, held };
        let dims = ty.shape.dims().map(|dims| dims.iter().cloned().map(Some).collect());
        let dims = dims.or_else(|| ty.ndim().map(|ndim| vec![None; ndim])).map_or(Dims::Unranked, Dims::Known);
        Ok(Element { ty: value.narrow().or(ty.dtype.map(held)), dims })
    }

    /// Returns a sequence of known values, whose types are joined with `element`.
    pub fn known_sequence(&mut self, values: Vec<Value>, element: Option<Element>) -> Result<Sequence, InferError> {
        let mut joined = element.unwrap_or_default();
        for value in &values {
            joined = joined.join(&self.element_of(value)?)?;
        }
        Ok(Sequence::Known(values.into(), joined))
    }

    /// Returns a sequence as a value at run time.
    pub fn sequence_operand(&mut self, sequence: &Sequence) -> Result<Operand, InferError> {
        match sequence {
            Sequence::Dynamic(operand, _) => Ok(operand.clone()),
            Sequence::Known(values, _) => {
                let values = values.iter().map(|value| self.operand(value)).collect::<Result<Vec<_>, _>>()?;
                self.call("sequence_construct", values, &[])
            }
        }
    }

    /// Returns a value of any kind as one at run time, whose type is a tensor's or `R.Any`.
    pub fn object_operand(&mut self, value: &Value) -> Result<Operand, InferError> {
        match value {
            Value::Sequence(sequence) => self.sequence_operand(sequence),
            other => self.any_operand(other),
        }
    }

    /// Returns the type of two values of which one is the result; `None` if both are tensors of numbers.
    pub fn joined_type(&mut self, a: &Value, b: &Value) -> Result<Option<ObjectType>, InferError> {
        let optional = |build: &mut Builder, tensor: &Value| {
            build.element_of(tensor).map(|element| ObjectType::Optional(Some(OptionalType::Tensor(element))))
        };
        match (ObjectType::of(a), ObjectType::of(b)) {
            (None, None) => Ok(None),
            (Some(own), Some(other)) => own.join(&other).map(Some),
            // A tensor may be absent in the other case.
            (Some(own @ ObjectType::Optional(_)), None) => own.join(&optional(self, b)?).map(Some),
            (None, Some(other @ ObjectType::Optional(_))) => optional(self, a)?.join(&other).map(Some),
            (Some(_), None) | (None, Some(_)) => {
                Err(InferError::new("it is a tensor in one case and not in the other"))
            }
        }
    }

    /// Binds a value of unknown type, such as one out of a sequence, as a tensor, which is checked at run time.
    pub fn tensor_of_element(&mut self, value: Operand, element: &Element) -> Result<Value, InferError> {
        let (Some(ty), Some(dims)) = (element.ty, element.dims.known()) else {
            let message = format!("the type of the tensors is not known: {}", element.shown());
            return Err(
                InferError::new(message).help("give the sequence in the model's inputs or outputs a complete type")
            );
        };
        let dim = |dim: &Option<PrimExpr>| dim.clone().unwrap_or_else(|| prim::Var::int64("m").expr());
        let shape = TensorShape::Known(dims.iter().map(dim).collect::<Vec<_>>().into());
        let tensor = TensorType { shape, dtype: Some(ty.held), vdevice: None };
        Ok(Value::of(self.match_cast(value, Type::from(tensor))?, ty))
    }

    /// Concatenates the tensors of a sequence along an axis, which may be negative, or stacks them along a new one.
    pub fn concat_sequence(
        &mut self,
        sequence: Operand,
        element: &Element,
        axis: i64,
        new_axis: bool,
    ) -> Result<Value, InferError> {
        let (Some(ty), Some(dims)) = (element.ty, element.dims.known()) else {
            let message = format!("the type of the sequence's tensors is not known: {}", element.shown());
            return Err(InferError::new(message));
        };
        let rank = dims.len() + usize::from(new_axis);
        let from_start = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        let no_axis = || InferError::new(format!("there is no axis {axis} in {rank} dimensions"));
        let axis = usize::try_from(from_start).ok().filter(|axis| *axis < rank).ok_or_else(no_axis)?;
        let mut args = vec![sequence, Operand::int(axis as i64), Operand::Prim(PrimExpr::bool(new_axis))];
        // The shape matters for empty sequences; the size of the axis does not.
        let unused = |at: usize| (!new_axis && at == axis).then(|| PrimExpr::int64(0));
        let sizes = dims.iter().enumerate().map(|(at, dim)| dim.clone().or_else(|| unused(at)));
        if let Some(sizes) = sizes.collect::<Option<Vec<_>>>() {
            args.extend([Operand::DType(ty.held), Operand::Shape(sizes)]);
        }
        let joined = self.call("sequence_concat", args, &[])?;
        let mut element = element.clone();
        if let Dims::Known(dims) = &mut element.dims {
            match new_axis {
                true => dims.insert(axis, None),
                false => dims[axis] = None,
            }
        }
        self.tensor_of_element(joined, &element)
    }
}
