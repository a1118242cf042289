//! What an operator is, and the words in which family files declare one.
//!
//! ```ignore
//! Op::new("sum")
//!     .doc("Adds elements along axes, or all of them.")
//!     .tensor("x")
//!     .attr("axis", AttrKind::OptionalInts, NONE)
//!     .attr("keepdims", AttrKind::Bool, false)
//!     .infer(reduced)
//!     .legalize(|call| …)
//! ```

use crate::{
    context::CallContext,
    legalize::{DecomposeFn, Emit, Legalized, TirFn},
};
use hammock_ir::{
    AttrValue, Attrs, PrimExpr, Type,
    relax::{Call, InferError, Operand},
};

/// A type rule: the type of a call's result, from the types of its operands and its attributes.
pub type InferFn = Box<dyn Fn(&CallContext) -> Result<Type, InferError> + Send + Sync>;

/// Puts a call whose parameters are bound into its full form: see [`Op::complete`].
pub type CompleteFn = Box<dyn Fn(&mut Call) + Send + Sync>;

/// Resolves what a written call leaves open: see [`Op::resolve`].
pub type ResolveFn = fn(&CallContext) -> Result<Call, InferError>;

/// The default of an attribute that may be left out and is then not given.
pub const NONE: AttrValue = AttrValue::None;

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
    /// What turns short forms of arguments into full ones.
    pub complete: Option<CompleteFn>,
    /// The type rule.
    pub infer: InferFn,
    /// How it is computed.
    pub lowering: Lowering,
    /// Whether it is only a way of writing: the importer puts its decomposition in its place, and no pass meets it.
    pub composite: bool,
    /// What the importer puts written calls through once operands have types.
    pub resolve: Option<ResolveFn>,
}

/// One parameter of an operator.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name, usable as a keyword.
    pub name: &'static str,
    /// What may be given for it.
    pub kind: ParamKind,
    /// What it is when nothing is given; `None` makes it required. An operand whose default is `AttrValue::None` may
    /// be absent: the call then ends before it, or holds an empty tuple when other operands follow.
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
    Tir(TirFn),
    /// By other operators.
    Decompose(DecomposeFn),
    /// By a runtime function of that name, called with the operands, then the attributes in order of declaration.
    Packed(&'static str),
    /// By a later pass or the code generator; the text says which, for the table.
    Structural(&'static str),
}

impl Op {
    /// An operator without parameters. It is pure, of any type, and nothing is known of how it is computed.
    pub fn new(name: &'static str) -> Self {
        Op {
            name,
            doc: "",
            params: Vec::new(),
            attr_order: None,
            pure: true,
            complete: None,
            infer: Box::new(|_| Ok(Type::Any)),
            lowering: Lowering::Structural(""),
            composite: false,
            resolve: None,
        }
    }

    /// Says what it does.
    pub fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    /// Adds a tensor operand.
    pub fn tensor(self, name: &'static str) -> Self {
        self.operand(name, OperandKind::Tensor)
    }

    /// Adds an operand that must be given.
    pub fn operand(self, name: &'static str, kind: OperandKind) -> Self {
        self.param(name, ParamKind::Operand(kind), None)
    }

    /// Adds an operand that is `default` when nothing is given.
    pub fn operand_or(self, name: &'static str, kind: OperandKind, default: impl Into<AttrValue>) -> Self {
        self.param(name, ParamKind::Operand(kind), Some(default.into()))
    }

    /// Adds an attribute that must be given.
    pub fn required(self, name: &'static str, kind: AttrKind) -> Self {
        self.param(name, ParamKind::Attr(kind), None)
    }

    /// Adds an attribute with its default.
    pub fn attr(self, name: &'static str, kind: AttrKind, default: impl Into<AttrValue>) -> Self {
        self.param(name, ParamKind::Attr(kind), Some(default.into()))
    }

    fn param(mut self, name: &'static str, kind: ParamKind, default: Option<AttrValue>) -> Self {
        debug_assert!(self.params.iter().all(|p| p.name != name), "{}: `{name}` twice", self.name);
        self.params.push(Param { name, kind, default });
        self
    }

    /// Sets the order to print attributes in, where it is not that of declaration.
    pub fn attr_order(mut self, order: &'static [&'static str]) -> Self {
        self.attr_order = Some(order);
        self
    }

    /// Says that calls have a side effect.
    pub fn impure(mut self) -> Self {
        self.pure = false;
        self
    }

    /// Sets what a call goes through once its parameters are bound, before anything else looks at it: attributes that
    /// may be given short are written out in full (`padding=1` is four numbers), one that is `None` takes its value
    /// from another, and a call whose operands make it one of another operator becomes that. What cannot be completed
    /// is left as it is, for the type rule to refuse.
    pub fn complete(mut self, complete: impl Fn(&mut Call) + Send + Sync + 'static) -> Self {
        self.complete = Some(Box::new(complete));
        self
    }

    /// Says that it is only a way of writing.
    pub fn composite(mut self) -> Self {
        self.composite = true;
        self
    }

    /// Sets what the importer puts a written and completed call through: it replaces what stands for a value that
    /// follows from the operands' types, such as -1 in the shape of a reshape.
    pub fn resolve(mut self, resolve: ResolveFn) -> Self {
        self.resolve = Some(resolve);
        self
    }

    /// Sets the type rule.
    pub fn infer(mut self, rule: impl Fn(&CallContext) -> Result<Type, InferError> + Send + Sync + 'static) -> Self {
        self.infer = Box::new(rule);
        self
    }

    /// Computes it by a TIR function.
    pub fn legalize(
        mut self,
        build: impl Fn(&CallContext) -> Result<Legalized, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.lowering = Lowering::Tir(Box::new(build));
        self
    }

    /// Computes it by other operators.
    pub fn decompose(
        mut self,
        rewrite: impl Fn(&CallContext, &mut dyn Emit) -> Result<Operand, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.lowering = Lowering::Decompose(Box::new(rewrite));
        self
    }

    /// Computes it by a runtime function.
    pub fn packed(mut self, name: &'static str) -> Self {
        self.lowering = Lowering::Packed(name);
        self
    }

    /// Leaves it to a later pass or the code generator, and says which.
    pub fn structural(mut self, by: &'static str) -> Self {
        self.lowering = Lowering::Structural(by);
        self
    }
}

impl Op {
    /// Its operands' parameters in order.
    pub fn operands(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| matches!(p.kind, ParamKind::Operand(_)))
    }

    /// Its attributes' parameters in the order of printing, which is also that of [`Call::attrs`].
    pub fn attrs(&self) -> Vec<&Param> {
        let mut attrs: Vec<_> = self.params.iter().filter(|p| matches!(p.kind, ParamKind::Attr(_))).collect();
        if let Some(order) = self.attr_order {
            attrs.sort_by_key(|p| order.iter().position(|n| *n == p.name).unwrap_or(usize::MAX));
        }
        attrs
    }

    /// A call in full form, with some attributes given, the others at their defaults.
    pub fn call<'v>(
        &self,
        args: Vec<Operand>,
        given: impl IntoIterator<Item = (&'static str, AttrValue), IntoIter: Clone + 'v>,
    ) -> Call {
        let given = given.into_iter();
        let value = |p: &Param| given.clone().find(|(n, _)| *n == p.name).map(|(_, v)| v).or_else(|| p.default.clone());
        let attrs = self.attrs().into_iter().map(|p| (p.name, value(p).unwrap_or(NONE)));
        let mut call = Call::op(self.name, self.with_defaults(args), attrs.collect::<Attrs>());
        self.complete.iter().for_each(|complete| complete(&mut call));
        call
    }

    /// Operands with those that are not given at their defaults; absent ones at the end are left out.
    fn with_defaults(&self, mut args: Vec<Operand>) -> Vec<Operand> {
        let rest: Vec<&Param> = self.operands().skip(args.len()).collect();
        let last = rest.iter().rposition(|p| p.default.as_ref().is_some_and(|d| !d.is_none()));
        let rest = &rest[..last.map_or(0, |last| last + 1)];
        args.extend(rest.iter().map(|p| p.default.as_ref().map_or(Operand::Tuple(Vec::new()), default_operand)));
        args
    }
}

/// The operand that a default stands for; the empty tuple for none.
fn default_operand(default: &AttrValue) -> Operand {
    match default {
        AttrValue::Bool(v) => Operand::Prim(PrimExpr::bool(*v)),
        AttrValue::Int(v) => Operand::int(*v),
        AttrValue::Expr(e) => Operand::Prim(e.clone()),
        AttrValue::Str(s) => Operand::Str(s.clone()),
        AttrValue::DType(t) => Operand::DType(*t),
        AttrValue::None => Operand::Tuple(Vec::new()),
        other => Operand::Opaque(Box::new(other.clone())),
    }
}
