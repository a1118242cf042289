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
    example::Example,
    legalize::{DecomposeFn, Emit, Legalized, TirFn},
    precision::Precision,
    relayout::{LayoutRule, Relaid, Relayout},
};
use hammock_ir::{
    AttrValue, Attrs, Type,
    relax::{
        Call, InferError, Operand,
        memory::{OperandWrites, ResultMemory},
    },
};

pub use crate::param::{AttrKind, OperandKind, Param, ParamKind};

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
    /// A call of it that runs; none where only the compiler writes calls, or they need functions of the program.
    pub example: Option<Example>,
    /// Operands and attributes in the order in which a call may give them by position.
    pub params: Vec<Param>,
    /// The order to print attributes in, where it is not that of `params`.
    pub attr_order: Option<&'static [&'static str]>,
    /// True if calls have no visible side effect.
    pub pure: bool,
    /// True if every call counts, even after an equal one: it makes memory of its own, or writes over its operands.
    pub unique: bool,
    /// What turns short forms of arguments into full ones.
    pub complete: Option<CompleteFn>,
    /// The type rule.
    pub infer: InferFn,
    /// How it is computed.
    pub lowering: Lowering,
    /// Where its result is.
    pub memory: ResultMemory,
    /// Operands that a call may write over.
    pub writes: OperandWrites,
    /// What the importer puts written calls through once operands have types.
    pub resolve: Option<ResolveFn>,
    /// How a call looks when its operands lie in other layouts than the program's; `None` where they must not.
    pub layouts: Option<LayoutRule>,
    /// The primal axes of the layouts that `ConvertLayout` may be asked to give it: those of data, kernel and result for
    /// a convolution. Empty for an operator that has no layouts of its own.
    pub layout_axes: Vec<String>,
    /// Whether `ToMixedPrecision` computes it in 16 bits.
    pub precision: Precision,
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
    /// An operator without parameters. It is pure; its type rule and how it is computed must be set.
    pub fn new(name: &'static str) -> Self {
        Op {
            name,
            doc: "",
            example: None,
            params: Vec::new(),
            attr_order: None,
            pure: true,
            unique: false,
            complete: None,
            infer: Box::new(|cx| Err(cx.error("has no type rule"))),
            lowering: Lowering::Structural(""),
            memory: ResultMemory::Unknown,
            writes: OperandWrites::Nothing,
            resolve: None,
            layouts: None,
            layout_axes: Vec::new(),
            precision: Precision::Never,
        }
    }

    /// Says what it does.
    pub fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    /// Shows a call: the parameters of the function around it, and its arguments. See [`Example`].
    pub fn example(mut self, params: &'static str, args: &'static str) -> Self {
        self.example = Some(Example { params, args });
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

    /// Says that calls have a side effect, and may write over any operand.
    pub fn impure(mut self) -> Self {
        self.pure = false;
        self.writes = OperandWrites::Any;
        self
    }

    /// Says that calls have a side effect, but write over no operand.
    pub fn impure_reader(mut self) -> Self {
        self.pure = false;
        self
    }

    /// Says that a call writes over the operands that its attribute `inplace_indices` counts.
    pub fn writes_in_place(mut self) -> Self {
        self.writes = OperandWrites::InPlace;
        self.unique()
    }

    /// Says that a call makes memory of its own, or writes over its operands.
    pub fn unique(mut self) -> Self {
        self.unique = true;
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

    /// Sets how a call looks when its operands lie in other layouts than the program's.
    pub fn layouts(
        mut self,
        rule: impl Fn(&Relayout) -> Result<Option<Relaid>, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.layouts = Some(Box::new(rule));
        self
    }

    /// Sets the primal axes of the layouts that `ConvertLayout` may be asked to give it.
    pub fn layout_axes(mut self, axes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.layout_axes = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets whether `ToMixedPrecision` computes it in 16 bits.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Says that the result has memory of its own, as that of a TIR function has unless something else is said.
    pub fn own_memory(mut self) -> Self {
        self.memory = ResultMemory::Own;
        self
    }

    /// Says that an element of the result depends on those of operands at its place alone.
    pub fn in_place(mut self) -> Self {
        self.memory = ResultMemory::OwnOrOperand;
        self
    }

    /// Says that the result may be the first operand's memory, seen in another way.
    pub fn view(mut self) -> Self {
        self.memory = ResultMemory::View;
        self
    }

    /// Computes it by a TIR function.
    pub fn legalize(
        mut self,
        build: impl Fn(&CallContext) -> Result<Legalized, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.lowering = Lowering::Tir(Box::new(build));
        if self.memory == ResultMemory::Unknown {
            self.memory = ResultMemory::Own;
        }
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
        args.extend(rest.iter().map(|p| p.default_operand()));
        args
    }
}
