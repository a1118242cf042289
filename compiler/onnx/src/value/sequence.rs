//! Sequences and optional values: known one by one while the model is imported, or only at run time.

use super::{Value, strings::Strings};
use crate::{
    dtype,
    schema::{DimensionValue, TypeProto, type_proto},
};
use hammock_ir::{
    PrimExpr,
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
    /// Dimensions.
    pub dims: Dims,
}

/// Dimensions of all tensors of a sequence.
#[derive(Clone, Debug, Default)]
pub enum Dims {
    /// There is no tensor yet.
    #[default]
    Empty,
    /// Dimensions that all tensors have, as far as they are the same.
    Known(Vec<Option<PrimExpr>>),
    /// Ranks that differ or are unknown.
    Unranked,
}

impl Dims {
    /// Returns the dimensions if the rank is known.
    pub fn known(&self) -> Option<&[Option<PrimExpr>]> {
        match self {
            Dims::Known(dims) => Some(dims),
            Dims::Empty | Dims::Unranked => None,
        }
    }

    fn join(&self, other: &Dims) -> Dims {
        match (self, other) {
            (Dims::Empty, dims) | (dims, Dims::Empty) => dims.clone(),
            (Dims::Known(own), Dims::Known(other)) if own.len() == other.len() => Dims::Known(join_dims(own, other)),
            _ => Dims::Unranked,
        }
    }

    fn is_same(&self, other: &Dims) -> bool {
        match (self, other) {
            (Dims::Empty, Dims::Empty) | (Dims::Unranked, Dims::Unranked) => true,
            (Dims::Known(own), Dims::Known(other)) => is_same_dims(own, other),
            _ => false,
        }
    }
}

/// Dimensions that two tensors of the same rank share.
fn join_dims(own: &[Option<PrimExpr>], other: &[Option<PrimExpr>]) -> Vec<Option<PrimExpr>> {
    let same = |(a, b): (&Option<PrimExpr>, &Option<PrimExpr>)| match (a, b) {
        (Some(a), Some(b)) if dims::equal(a, b) == Some(true) => Some(a.clone()),
        _ => None,
    };
    own.iter().zip(other).map(same).collect()
}

fn is_same_dims(own: &[Option<PrimExpr>], other: &[Option<PrimExpr>]) -> bool {
    own.len() == other.len()
        && own.iter().zip(join_dims(own, other)).all(|(own, joined)| own.is_some() == joined.is_some())
}

/// Type of a value at run time that is not a tensor of numbers.
#[derive(Clone, Debug)]
pub enum ObjectType {
    /// Tensor of strings.
    Strings(Vec<Option<PrimExpr>>),
    /// Sequence.
    Sequence(Element),
    /// Optional value; `None` if nothing is known of it, because it is absent.
    Optional(Option<OptionalType>),
}

impl ObjectType {
    /// Returns the type of a value; `None` for tensors of numbers, and for maps, which branches and loops cannot return.
    pub fn of(value: &Value) -> Option<ObjectType> {
        Some(match value {
            Value::Strings(strings) => ObjectType::Strings(strings.dims()),
            Value::Sequence(sequence) => ObjectType::Sequence(sequence.element().clone()),
            Value::Optional(OptionalValue::Absent) => ObjectType::Optional(None),
            Value::Optional(OptionalValue::Dynamic(_, ty)) => ObjectType::Optional(Some(ty.clone())),
            Value::Operand(_) | Value::Narrow(..) | Value::Known(_) | Value::Maps(_) | Value::Broken => return None,
        })
    }

    /// Returns a value of this type.
    pub fn value(&self, operand: Operand) -> Value {
        match self {
            ObjectType::Strings(dims) => Value::Strings(Strings::Dynamic(operand, dims.clone())),
            ObjectType::Sequence(element) => Value::Sequence(Sequence::Dynamic(operand, element.clone())),
            ObjectType::Optional(None) => Value::Optional(OptionalValue::Absent),
            ObjectType::Optional(Some(ty)) => Value::Optional(OptionalValue::Dynamic(operand, ty.clone())),
        }
    }

    /// Returns the type of values of either type.
    pub fn join(&self, other: &ObjectType) -> Result<ObjectType, InferError> {
        use ObjectType::{Optional, Sequence, Strings};
        let mismatch =
            || Err(InferError::new("it is a value of one kind in one case and of another kind in the other"));
        Ok(match (self, other) {
            (Strings(own), Strings(other)) if own.len() == other.len() => Strings(join_dims(own, other)),
            (Sequence(own), Sequence(other)) => Sequence(own.join(other)?),
            (Optional(None), Optional(ty)) | (Optional(ty), Optional(None)) => Optional(ty.clone()),
            (Optional(None), Sequence(element)) | (Sequence(element), Optional(None)) => {
                Optional(Some(OptionalType::Sequence(element.clone())))
            }
            (
                Optional(Some(OptionalType::Sequence(own))),
                Sequence(other) | Optional(Some(OptionalType::Sequence(other))),
            )
            | (Sequence(own), Optional(Some(OptionalType::Sequence(other)))) => {
                Optional(Some(OptionalType::Sequence(own.join(other)?)))
            }
            (Optional(Some(OptionalType::Tensor(own))), Optional(Some(OptionalType::Tensor(other)))) => {
                Optional(Some(OptionalType::Tensor(own.join(other)?)))
            }
            _ => return mismatch(),
        })
    }

    /// Returns true if both types are the same.
    pub fn is_same(&self, other: &ObjectType) -> bool {
        match (self, other) {
            (ObjectType::Strings(own), ObjectType::Strings(other)) => is_same_dims(own, other),
            (ObjectType::Sequence(own), ObjectType::Sequence(other)) => own.dims.is_same(&other.dims),
            (ObjectType::Optional(own), ObjectType::Optional(other)) => match (own, other) {
                (None, None) => true,
                (Some(OptionalType::Tensor(own)), Some(OptionalType::Tensor(other)))
                | (Some(OptionalType::Sequence(own)), Some(OptionalType::Sequence(other))) => {
                    own.dims.is_same(&other.dims)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Forgets dimensions that are not visible.
    pub fn retain_dims(&mut self, is_visible: impl Fn(&PrimExpr) -> bool) {
        let dims = match self {
            ObjectType::Strings(dims) => dims,
            ObjectType::Sequence(Element { dims: Dims::Known(dims), .. })
            | ObjectType::Optional(Some(
                OptionalType::Tensor(Element { dims: Dims::Known(dims), .. })
                | OptionalType::Sequence(Element { dims: Dims::Known(dims), .. }),
            )) => dims,
            _ => return,
        };
        for dim in dims {
            *dim = dim.take().filter(|dim| is_visible(dim));
        }
    }
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
            None => return Ok(Element { ty: None, dims: Dims::Unranked }),
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
        Ok(Element { ty, dims: dims.map_or(Dims::Unranked, Dims::Known) })
    }

    /// Returns the type with a fixed size of one axis, or without the axis if there is no size.
    pub fn with_axis(mut self, axis: usize, size: Option<Option<PrimExpr>>) -> Element {
        if let Dims::Known(dims) = &mut self.dims {
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
        Ok(Element { ty, dims: self.dims.join(&other.dims) })
    }

    /// Formats the type for messages.
    pub fn shown(&self) -> String {
        let ty = self.ty.map_or("?".to_owned(), |ty| ty.stored.to_string());
        let Some(dims) = self.dims.known() else { return format!("{ty} of unknown rank") };
        let shown = |dim: &PrimExpr| dim.as_int().map_or_else(|| dim.to_string(), |size| size.to_string());
        let dims: Vec<String> = dims.iter().map(|dim| dim.as_ref().map_or("?".to_owned(), shown)).collect();
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
