//! Parameters of operators.

use hammock_ir::{AttrValue, PrimExpr, relax::Operand};

/// One parameter of an operator.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name, usable as a keyword.
    pub name: &'static str,
    /// Kind of its arguments.
    pub kind: ParamKind,
    /// Default; `None` for a required parameter. An operand whose default is `AttrValue::None` may be absent: the call
    /// then ends before it, or has an empty tuple if other operands follow.
    pub default: Option<AttrValue>,
}

/// Kind of a parameter: a run-time operand or a compile-time attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An operand: a value at run time.
    Operand(OperandKind),
    /// An attribute: part of the program.
    Attr(AttrKind),
}

/// Kind of an operand. The importer converts arguments: numbers to scalars, lists to shapes or tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A tensor (or, for arithmetic, a scalar, which becomes a constant of the other operand's dtype).
    Tensor,
    /// A tensor that may be left out or `None`.
    OptionalTensor,
    /// A tuple of tensors, or a list of them.
    Tensors,
    /// A shape: `R.shape([…])`, a variable of that type, or a list of dimensions.
    Shape,
    /// A scalar: a number or symbolic expression, int64 when plain.
    Prim,
    /// A tuple of scalars (`(0, 1)`); lists and shapes are converted.
    Prims,
    /// A string.
    Str,
    /// A dtype.
    DType,
    /// A function of the module, or an external one.
    Function,
    /// Anything.
    Any,
    /// Any number of operands of any kind; only as the last operand.
    Variadic,
}

/// Kind of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// An integer.
    Int,
    /// An integer or `None`.
    OptionalInt,
    /// A float (integers are converted).
    Float,
    /// A float or `None`.
    OptionalFloat,
    /// `True` or `False`.
    Bool,
    /// A string.
    Str,
    /// A string or `None`.
    OptionalStr,
    /// A dtype, written as a string; `None` or `""` is void.
    DType,
    /// A list of integers; one integer is a list of one.
    Ints,
    /// A list of integers or `None`.
    OptionalInts,
    /// A list of floats.
    Floats,
    /// An index map (or a lambda, which becomes one).
    IndexMap,
    /// A virtual device.
    VDevice,
    /// A mesh of devices: one of the module's, such as `"mesh[0]"`.
    Mesh,
    /// Anything.
    Any,
}

impl Param {
    /// The operand that the default denotes; the empty tuple for `None`.
    pub(crate) fn default_operand(&self) -> Operand {
        match &self.default {
            Some(AttrValue::Bool(v)) => Operand::Prim(PrimExpr::bool(*v)),
            Some(AttrValue::Int(v)) => Operand::int(*v),
            Some(AttrValue::Expr(e)) => Operand::Prim(e.clone()),
            Some(AttrValue::Str(s)) => Operand::Str(s.clone()),
            Some(AttrValue::DType(t)) => Operand::DType(*t),
            Some(AttrValue::None) | None => Operand::Tuple(Vec::new()),
            Some(other) => Operand::Opaque(Box::new(other.clone())),
        }
    }
}
