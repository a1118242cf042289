//! What an operator is.

use hammock_ir::{
    AttrValue, Module, Type,
    relax::{Call, Function, InferError},
};

/// The context of a type rule: the module and function that a call stands in.
pub struct Context<'a> {
    /// The module.
    pub module: &'a Module,
    /// The function, for the types of variables.
    pub function: &'a Function,
}

/// A type rule: the type of a call's result, from the types of its operands and its attributes.
pub type InferFn = fn(&Context, &Call) -> Result<Type, InferError>;

/// An operator: its name, what it takes, what it gives, and how it is computed.
pub struct Op {
    /// Its name without the `R.` prefix: `nn.conv2d`.
    pub name: &'static str,
    /// What it does: the first line alone stands in tables.
    pub doc: &'static str,
    /// Operands and attributes in the order in which a call may give them by position.
    pub params: Vec<Param>,
    /// The order to print attributes in, where it is not that of `params`.
    pub attr_order: Option<&'static [&'static str]>,
    /// Whether calls have no visible side effect.
    pub pure: bool,
    /// The type rule.
    pub infer: InferFn,
    /// How it is computed.
    pub lowering: Lowering,
}

/// One parameter of an operator.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name, usable as a keyword.
    pub name: &'static str,
    /// What may be given for it.
    pub kind: ParamKind,
    /// What it is when nothing is given; `None` makes it required.
    pub default: Option<AttrValue>,
}

/// Whether a parameter is computed with or known when compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An operand: a value at run time.
    Operand(OperandKind),
    /// An attribute: part of the program.
    Attr(AttrKind),
}

/// What an operand may be. The importer converts what the text gives: numbers to scalars, lists to shapes or tuples.
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

/// What an attribute may be.
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
    /// Anything.
    Any,
}

/// How an operator is computed.
pub enum Lowering {
    /// By a TIR function that this builds.
    Tir(crate::legalize::TirFn),
    /// By other operators.
    Decompose(crate::legalize::DecomposeFn),
    /// By a runtime function of that name, called with the operands.
    Packed(&'static str),
    /// By a later pass or the code generator; the text says which, for the table.
    Structural(&'static str),
}
