//! Attributes: an ordered list of named, typed values.
//!
//! Operator calls have exactly the attributes that their operator declares, in its order; functions, loops and blocks
//! have those given in the text.

mod device;

pub use device::{DeviceMesh, HOST_KINDS, VDevice};

use super::{Buffer, IndexMap, IterVar, PrimExpr, Reducer};
use crate::{DType, Name, Tensor, Type};
use std::sync::Arc;

/// One attribute's value.
#[derive(Clone, Debug)]
pub enum AttrValue {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A plain integer.
    Int(i64),
    /// A plain float.
    Float(f64),
    /// A string.
    Str(Name),
    /// A data type, printed as a string such as `"float32"`; void means "not given".
    DType(DType),
    /// A scalar expression other than a plain number: `n * 2`, `T.int64(3)`.
    Expr(PrimExpr),
    /// `[a, b]`.
    List(Vec<AttrValue>),
    /// `(a, b)`, if the text distinguishes it from a list.
    Tuple(Vec<AttrValue>),
    /// `{k: v}` in the order to print.
    Dict(Vec<(AttrValue, AttrValue)>),
    /// A type.
    Type(Type),
    /// A tensor from the metadata section.
    Tensor(Tensor),
    /// `T.target({…})`: the dictionary inside.
    Target(Vec<(AttrValue, AttrValue)>),
    /// `T.index_map(lambda …)`.
    IndexMap(Arc<IndexMap>),
    /// `T.comm_reducer(lambda …)`.
    Reducer(Arc<Reducer>),
    /// A loop or thread axis.
    IterVar(Arc<IterVar>),
    /// A buffer.
    Buffer(Buffer),
    /// A global function by name.
    Global(Name),
    /// A virtual device.
    VDevice(Arc<VDevice>),
    /// A device mesh.
    DeviceMesh(Arc<DeviceMesh>),
    /// A placement string of a distributed tensor, `R.dist.placement("S[0], R")`.
    Placement(Name),
    /// Any other object of the metadata section, unparsed: its type key and its JSON.
    Opaque(Name, Arc<str>),
}

impl AttrValue {
    /// The integer, when it is one (a plain one or a constant expression).
    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrValue::Int(v) => Some(*v),
            AttrValue::Bool(v) => Some(i64::from(*v)),
            AttrValue::Expr(e) => e.as_int(),
            _ => None,
        }
    }

    /// The truth value, when it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            AttrValue::Bool(v) => Some(*v),
            AttrValue::Int(v) => Some(*v != 0),
            _ => None,
        }
    }

    /// The number as a float, when it is a number.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            AttrValue::Float(v) => Some(*v),
            AttrValue::Int(v) => Some(*v as f64),
            AttrValue::Expr(e) => e.as_float().or_else(|| e.as_int().map(|v| v as f64)),
            _ => None,
        }
    }

    /// The string, when it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AttrValue::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The elements, when it is a list or tuple.
    pub fn as_list(&self) -> Option<&[AttrValue]> {
        match self {
            AttrValue::List(v) | AttrValue::Tuple(v) => Some(v),
            _ => None,
        }
    }

    /// Returns true if it is `None` (or a void dtype, its typed form).
    pub fn is_none(&self) -> bool {
        matches!(self, AttrValue::None) || matches!(self, AttrValue::DType(t) if *t == DType::VOID)
    }
}

macro_rules! from {
    ($($t:ty => |$v:ident| $e:expr),* $(,)?) => {
        $(impl From<$t> for AttrValue { fn from($v: $t) -> Self { $e } })*
    };
}
from! {
    bool => |v| AttrValue::Bool(v),
    i64 => |v| AttrValue::Int(v),
    f64 => |v| AttrValue::Float(v),
    &str => |v| AttrValue::Str(v.into()),
    Name => |v| AttrValue::Str(v),
    DType => |v| AttrValue::DType(v),
    PrimExpr => |v| AttrValue::Expr(v),
    Vec<AttrValue> => |v| AttrValue::List(v),
    Vec<i64> => |v| AttrValue::List(v.into_iter().map(AttrValue::Int).collect()),
}

/// An ordered list of named values; names are unique.
#[derive(Clone, Debug, Default)]
pub struct Attrs(Vec<(Name, AttrValue)>);

impl Attrs {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&AttrValue> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Sets `name`, in place if it exists, otherwise at the end.
    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<AttrValue>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, v)) => *v = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds or replaces one value; for building lists in one expression.
    pub fn with(mut self, name: impl Into<Name>, value: impl Into<AttrValue>) -> Self {
        self.set(name, value);
        self
    }

    /// Removes `name` and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<AttrValue> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Returns true if `name` is set to a true value.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(AttrValue::as_bool).unwrap_or(false)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &AttrValue)> {
        self.0.iter().map(|(n, v)| (n, v))
    }

    /// Names and mutable values in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Name, &mut AttrValue)> {
        self.0.iter_mut().map(|(n, v)| (&*n, v))
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<Name>, V: Into<AttrValue>> FromIterator<(N, V)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(iter: I) -> Self {
        let mut attrs = Attrs::new();
        for (n, v) in iter {
            attrs.set(n, v);
        }
        attrs
    }
}
