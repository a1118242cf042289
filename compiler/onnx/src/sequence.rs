//! Sequences and optional values: known one by one while the model is imported, or only at run time.

use crate::{
    build::Builder,
    dtype,
    node::shown_size,
    schema::{DimensionValue, TypeProto, type_proto},
    value::Value,
};
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type, prim,
    relax::{InferError, Operand},
};
use hammock_ops::dims;
use hammock_tools::ElementType;
use std::rc::Rc;

/// Sequence of values.
#[derive(Clone, Debug)]
pub enum Sequence {
    /// Values that are known one by one, and the type of further ones.
    Known(Rc<[Value]>, Element),
    /// Sequence at run time.
    Dynamic(Operand, Element),
}

/// Optional value.
#[derive(Clone, Debug)]
pub enum OptionalValue {
    /// No value.
    Absent,
    /// Value that may be `None` at run time.
    Dynamic(Operand, OptionalType),
}

/// Type of an optional value.
#[derive(Clone, Debug)]
pub enum OptionalType {
    /// Tensor.
    Tensor(Element),
    /// Sequence of tensors.
    Sequence(Element),
}

/// What is known about all tensors of a sequence.
#[derive(Clone, Debug, Default)]
pub struct Element {
    /// Element type.
    pub ty: Option<ElementType>,
    /// Dimensions, as far as all tensors have the same; `None` if their rank is unknown.
    pub dims: Option<Vec<Option<PrimExpr>>>,
}

impl Element {
    /// Returns the type that a model declares for the tensors of a sequence, or for an optional tensor.
    ///
    /// # Errors
    /// What they are, if it is unsupported.
    pub fn declared(ty: Option<&TypeProto>) -> Result<Element, String> {
        let tensor = match ty.and_then(|ty| ty.value.as_ref()) {
            Some(type_proto::Value::Tensor(tensor)) => tensor,
            Some(type_proto::Value::Sequence(_)) => return Err("sequences".to_owned()),
            Some(type_proto::Value::Map(_)) => return Err("maps".to_owned()),
            Some(type_proto::Value::Optional(_)) => return Err("optional values".to_owned()),
            Some(type_proto::Value::SparseTensor(_)) => return Err("sparse tensors".to_owned()),
            None => return Ok(Element::default()),
        };
        let number = i64::from(tensor.elem_type);
        let ty = ElementType::of(number);
        if ty.is_none() && number != 0 {
            return Err(format!("tensors of {}", dtype::name(number)));
        }
        let size = |dim: &crate::schema::Dimension| match dim.value {
            // Exporters write unknown dimensions as 0 or -1.
            Some(DimensionValue::DimValue(size)) if size > 0 => Some(PrimExpr::int64(size)),
            _ => None,
        };
        let dims = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(size).collect());
        Ok(Element { ty, dims })
    }

    /// Returns the type with a fixed size of one axis, or without the axis if there is no size.
    pub fn with_axis(mut self, axis: usize, size: Option<Option<PrimExpr>>) -> Element {
        if let Some(dims) = &mut self.dims {
            match size {
                Some(size) => dims[axis] = size,
                None => drop(dims.remove(axis)),
            }
        }
        self
    }

    /// Returns the type of tensors of either type.
    ///
    /// # Errors
    /// If they have different element types.
    pub fn join(&self, other: &Element) -> Result<Element, InferError> {
        let ty = match (self.ty, other.ty) {
            (Some(own), Some(other)) if (own.stored, own.held) != (other.stored, other.held) => {
                let message = format!("a sequence cannot hold tensors of {} and {}", own.stored, other.stored);
                return Err(InferError::new(message));
            }
            (own, other) => own.or(other),
        };
        let same = |(a, b): (&Option<PrimExpr>, &Option<PrimExpr>)| match (a, b) {
            (Some(a), Some(b)) if dims::equal(a, b) == Some(true) => Some(a.clone()),
            _ => None,
        };
        let dims = match (&self.dims, &other.dims) {
            (Some(own), Some(other)) if own.len() == other.len() => Some(own.iter().zip(other).map(same).collect()),
            _ => None,
        };
        Ok(Element { ty, dims })
    }

    /// Formats the type for messages.
    pub fn shown(&self) -> String {
        let ty = self.ty.map_or("?".to_owned(), |ty| ty.stored.to_string());
        let Some(dims) = &self.dims else { return format!("{ty} of unknown rank") };
        let dims: Vec<String> = dims.iter().map(|dim| dim.as_ref().map_or("?".to_owned(), shown_size)).collect();
        format!("{ty}({})", dims.join(", "))
    }
}

impl Sequence {
    /// Returns the type of its tensors.
    pub fn element(&self) -> &Element {
        match self {
            Sequence::Known(_, element) | Sequence::Dynamic(_, element) => element,
        }
    }
}

impl Builder {
    /// Returns the type of a tensor as one of a sequence.
    ///
    /// # Errors
    /// If the value is not a tensor.
    pub fn element_of(&mut self, value: &Value) -> Result<Element, InferError> {
        if let Value::Known(known) = value {
            let ty = ElementType { number: 0, stored: known.dtype, held: known.dtype };
            let dims = known.shape.iter().map(|size| Some(PrimExpr::int64(*size))).collect();
            return Ok(Element { ty: Some(ty), dims: Some(dims) });
        }
        let operand = self.operand(value)?;
        let ty = self.tensor(&operand)?;
        let held = |held| ElementType { number: 0, stored: held, held };
        let dims = ty.shape.dims().map(|dims| dims.iter().cloned().map(Some).collect());
        let dims = dims.or_else(|| ty.ndim().map(|ndim| vec![None; ndim]));
        Ok(Element { ty: value.narrow().or(ty.dtype.map(held)), dims })
    }

    /// Returns a sequence of known values, whose types are joined with `element`.
    pub fn known_sequence(&mut self, values: Vec<Value>, element: Option<Element>) -> Result<Sequence, InferError> {
        let mut joined = element;
        for value in &values {
            let own = self.element_of(value)?;
            joined = Some(match joined {
                // An empty sequence knows only the element type of its tensors.
                Some(Element { ty, dims: None }) => {
                    Element { dims: own.dims.clone(), ..Element { ty, dims: None }.join(&own)? }
                }
                Some(joined) => joined.join(&own)?,
                None => own,
            });
        }
        Ok(Sequence::Known(values.into(), joined.unwrap_or_default()))
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

    /// Binds a value of unknown type, such as one out of a sequence, as a tensor, which is checked at run time.
    pub fn tensor_of_element(&mut self, value: Operand, element: &Element) -> Result<Value, InferError> {
        let (Some(ty), Some(dims)) = (element.ty, &element.dims) else {
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
}
