//! Values of expressions of the text.

use super::path::Path;
use hammock_diagnostics::Span;
use hammock_ir::{
    AttrValue, Name, PrimExpr, Type,
    prim::{IterVar, PrimType},
    relax::{self, Operand},
    tir::Buffer,
};
use hammock_syntax::ast;
use std::sync::Arc;

/// A value while reading. Numbers and containers remain Python values until their use determines their type.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Name),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Lambda(Arc<ast::Lambda>),
    /// A namespace or something in one: `R`, `R.nn.conv2d`, `T.float32`.
    Path(Path),
    /// `n = TypeVar("n")`: every function that uses it has its own variable of that name.
    TypeVar(Name),
    /// The class being read: `Module`, `cls`.
    Module,
    /// A function of the module.
    Global(Name),
    /// `metadata`, and the entries of one type in it.
    Metadata,
    MetadataOf(Name),
    /// A scalar expression.
    Scalar(PrimExpr),
    /// The type of a scalar or pointer: `T.handle("float32")`.
    PrimType(PrimType),
    /// `T.let`, `T.let[T.int32]`
    Let(Option<PrimType>),
    /// `T.float32[4]`
    LocalArray(PrimType, Vec<PrimExpr>),
    /// A Relax type.
    Type(Type),
    /// A Relax operand.
    Operand(Operand),
    /// An unbound Relax value.
    Unbound(Box<Pending>),
    Buffer(Buffer),
    /// Part of a buffer: `A[0:4, i]`.
    Slice(Buffer, Vec<Index>),
    IterVar(Arc<IterVar>),
    /// A range of integers: first value and extent, `I.Range(0, 4)`.
    Range(PrimExpr, PrimExpr),
    /// An omitted constant, by index, whose shape its use must determine.
    Omitted(i64),
    /// A value that is only an attribute: a target, an index map, a device.
    Attr(AttrValue),
    /// An erroneous value, which is already reported.
    Broken,
}

/// An unbound Relax value with its spans.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub value: relax::Value,
    /// Spans of the arguments of a call, and of its attributes by name.
    pub args: Vec<Span>,
    pub attrs: Vec<(&'static str, Span)>,
    /// Span.
    pub span: Span,
}

/// One index of a subscript, evaluated.
#[derive(Clone, Debug)]
pub(crate) enum Index {
    At(PrimExpr),
    /// First index, end (exclusive), step.
    Range(PrimExpr, PrimExpr, Option<PrimExpr>),
}

impl Value {
    pub fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    /// Description for messages: `a tuple`.
    pub fn describe(&self) -> String {
        match self {
            Value::None => "`None`".into(),
            Value::Bool(_) => "a truth value".into(),
            Value::Int(_) => "an integer".into(),
            Value::Float(_) => "a float".into(),
            Value::Str(_) => "a string".into(),
            Value::Tuple(_) => "a tuple".into(),
            Value::List(_) => "a list".into(),
            Value::Dict(_) => "a dictionary".into(),
            Value::Lambda(_) => "a lambda".into(),
            Value::Path(path) => format!("`{path}`"),
            Value::TypeVar(name) => format!("the symbolic dimension `{name}`"),
            Value::Module => "the module".into(),
            Value::Global(name) => format!("the function `{name}`"),
            Value::Metadata | Value::MetadataOf(_) => "the metadata section".into(),
            Value::Scalar(e) => format!("a scalar of type {}", e.dtype()),
            Value::PrimType(_) | Value::Let(_) | Value::LocalArray(..) | Value::Type(_) => "a type".into(),
            Value::Operand(_) | Value::Unbound(_) => "a Relax expression".into(),
            Value::Buffer(b) => format!("the buffer `{}`", b.name),
            Value::Slice(b, _) => format!("a region of the buffer `{}`", b.name),
            Value::IterVar(v) => format!("the axis `{}`", v.var.name()),
            Value::Range(..) => "a range".into(),
            Value::Attr(_) => "an attribute value".into(),
            Value::Omitted(_) => "a constant that the text leaves out".into(),
            Value::Broken => "something with an error".into(),
        }
    }

    /// The elements, if it is a tuple or list.
    pub fn elements(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }
}
