//! Operators and the builder with which family files declare them.
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

mod context;
mod example;
mod lowering;

pub use crate::param::{AttrKind, OperandKind, Param, ParamKind};
pub use context::{CallContext, is_absent};
pub use example::Example;
pub use lowering::{DecomposeFn, Emit, Legalized, Lowering, TirFn};

use crate::{
    precision::Precision,
    relayout::{LayoutChange, LayoutRule, Relayout},
};
use hammock_ir::{
    AttrValue, Attrs, Type,
    print::attr_text,
    relax::{Call, InferError, Operand, OperandWrites, ResultMemory},
};

/// A type rule: the type of a call's result, from the types of its operands and its attributes.
pub type InferFn = Box<dyn Fn(&CallContext) -> Result<Type, InferError> + Send + Sync>;

/// Expands a call with bound parameters to its full form: see [`Op::complete`].
pub type CompleteFn = Box<dyn Fn(&mut Call) + Send + Sync>;

/// Resolves values that a call leaves open: see [`Op::resolve`].
pub type ResolveFn = fn(&CallContext) -> Result<Call, InferError>;

/// The default of an optional attribute that is absent if omitted.
pub const NONE: AttrValue = AttrValue::None;

/// An operator: name, parameters, type rule and lowering.
pub struct Op {
    /// Its name without the `R.` prefix: `nn.conv2d`.
    pub name: &'static str,
    /// Documentation; only its first line is printed in tables.
    pub doc: &'static str,
    /// A runnable call of it; `None` if only the compiler creates calls, or they need functions of the program.
    pub example: Option<Example>,
    /// Operands and attributes in positional order.
    pub params: Vec<Param>,
    /// Printing order of attributes, if it is not that of `params`.
    pub attr_order: Option<&'static [&'static str]>,
    /// True if calls have no visible side effect.
    pub pure: bool,
    /// True if equal calls must not be merged: each allocates memory, or overwrites its operands.
    pub unique: bool,
    /// Expands short forms of arguments to full ones.
    pub complete: Option<CompleteFn>,
    /// The type rule.
    pub infer: InferFn,
    /// Lowering.
    pub lowering: Lowering,
    /// Memory of its result.
    pub memory: ResultMemory,
    /// Operands that a call may overwrite.
    pub writes: OperandWrites,
    /// Resolves calls in the importer once operands have types.
    pub resolve: Option<ResolveFn>,
    /// Rule for operands in other layouts than the program's; `None` if these are unsupported.
    pub layouts: Option<LayoutRule>,
    /// The primal axes of the layouts that `ConvertLayout` accepts for it: of data, kernel and result for a
    /// convolution. Empty for an operator without layouts of its own.
    pub layout_axes: Vec<String>,
    /// Behaviour under `ToMixedPrecision`.
    pub precision: Precision,
}

impl Op {
    /// A pure operator without parameters, whose type rule and lowering must be set.
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

    /// Sets the documentation.
    pub fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }

    /// Sets the example: the parameters of the enclosing function, and the call's arguments. See [`Example`].
    pub fn example(mut self, params: &'static str, args: &'static str) -> Self {
        self.example = Some(Example { params, args });
        self
    }

    /// Adds a tensor operand.
    pub fn tensor(self, name: &'static str) -> Self {
        self.operand(name, OperandKind::Tensor)
    }

    /// Adds a required operand.
    pub fn operand(self, name: &'static str, kind: OperandKind) -> Self {
        self.param(name, ParamKind::Operand(kind), None)
    }

    /// Adds an operand with a default.
    pub fn operand_or(self, name: &'static str, kind: OperandKind, default: impl Into<AttrValue>) -> Self {
        self.param(name, ParamKind::Operand(kind), Some(default.into()))
    }

    /// Adds a required attribute.
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

    /// Sets the printing order of attributes, if it is not that of declaration.
    pub fn attr_order(mut self, order: &'static [&'static str]) -> Self {
        self.attr_order = Some(order);
        self
    }

    /// Declares that calls have a side effect, and may overwrite any operand.
    pub fn impure(mut self) -> Self {
        self.pure = false;
        self.writes = OperandWrites::Any;
        self
    }

    /// Declares that calls have a side effect, but overwrite no operand.
    pub fn impure_reader(mut self) -> Self {
        self.pure = false;
        self
    }

    /// Declares that a call overwrites the operands listed in its attribute `inplace_indices`.
    pub fn writes_in_place(mut self) -> Self {
        self.writes = OperandWrites::InPlace;
        self.unique()
    }

    /// Declares that a call runs a closure, which may overwrite what it gets or has captured.
    pub fn calls_closure(mut self) -> Self {
        self.writes = OperandWrites::Closure;
        self
    }

    /// Declares that a call allocates memory, or overwrites its operands.
    pub fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Sets the expansion of a call once its parameters are bound, before anything else uses it: short forms of
    /// attributes become full ones (`padding=1` is four numbers), a `None` takes its value from another attribute, and
    /// a call may become one of another operator depending on its operands. Invalid attributes are unchanged; the type
    /// rule rejects them.
    pub fn complete(mut self, complete: impl Fn(&mut Call) + Send + Sync + 'static) -> Self {
        self.complete = Some(Box::new(complete));
        self
    }

    /// Sets the importer's resolution of an expanded call: it replaces placeholders for values that follow from the
    /// operands' types, such as -1 in the shape of a reshape.
    pub fn resolve(mut self, resolve: ResolveFn) -> Self {
        self.resolve = Some(resolve);
        self
    }

    /// Sets the type rule.
    pub fn infer(mut self, rule: impl Fn(&CallContext) -> Result<Type, InferError> + Send + Sync + 'static) -> Self {
        self.infer = Box::new(rule);
        self
    }

    /// Sets the rule for operands in other layouts than the program's.
    pub fn layouts(
        mut self,
        rule: impl Fn(&Relayout) -> Result<Option<LayoutChange>, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.layouts = Some(Box::new(rule));
        self
    }

    /// Sets the primal axes of the layouts that `ConvertLayout` accepts for it.
    pub fn layout_axes(mut self, axes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.layout_axes = axes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets its behaviour under `ToMixedPrecision`.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Declares that the result is in new memory, which is the default for TIR functions.
    pub fn own_memory(mut self) -> Self {
        self.memory = ResultMemory::Own;
        self
    }

    /// Declares that an element of the result depends only on the operands' elements at the same index.
    pub fn in_place(mut self) -> Self {
        self.memory = ResultMemory::OwnOrOperand;
        self
    }

    /// Declares that the result may be a view of the first operand.
    pub fn view(mut self) -> Self {
        self.memory = ResultMemory::View;
        self
    }

    /// Lowers it to a TIR function.
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

    /// Lowers it to other operators.
    pub fn decompose(
        mut self,
        rewrite: impl Fn(&CallContext, &mut dyn Emit) -> Result<Operand, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.lowering = Lowering::Decompose(Box::new(rewrite));
        self
    }

    /// Lowers it to a runtime function.
    pub fn packed(mut self, name: &'static str) -> Self {
        self.lowering = Lowering::Packed(name);
        self
    }

    /// Leaves it to a later pass or the code generator, which is named.
    pub fn structural(mut self, by: &'static str) -> Self {
        self.lowering = Lowering::Structural(by);
        self
    }
}

impl Op {
    /// Parameters of its operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| matches!(p.kind, ParamKind::Operand(_)))
    }

    /// Parameters of its attributes in printing order, which is also that of [`Call::attrs`].
    pub fn attrs(&self) -> Vec<&Param> {
        let mut attrs: Vec<_> = self.params.iter().filter(|p| matches!(p.kind, ParamKind::Attr(_))).collect();
        if let Some(order) = self.attr_order {
            attrs.sort_by_key(|p| order.iter().position(|n| *n == p.name).unwrap_or(usize::MAX));
        }
        attrs
    }

    /// Its parameters with their defaults, optional operands in brackets: `R.sum(x, axis=None, keepdims=False)`.
    pub fn signature(&self) -> String {
        let param = |p: &Param| match (&p.default, p.kind) {
            (None, _) => p.name.to_owned(),
            (Some(value), ParamKind::Attr(_)) => format!("{}={}", p.name, attr_text(value)),
            (Some(_), _) => format!("[{}]", p.name),
        };
        let params: Vec<String> = self.params.iter().map(param).collect();
        format!("R.{}({})", self.name, params.join(", "))
    }

    /// A call in full form, with default values for attributes that are not given.
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

    /// Operands with defaults for those that are not given; absent ones at the end are omitted.
    fn with_defaults(&self, mut args: Vec<Operand>) -> Vec<Operand> {
        let rest: Vec<&Param> = self.operands().skip(args.len()).collect();
        let last = rest.iter().rposition(|p| p.default.as_ref().is_some_and(|d| !d.is_none()));
        let rest = &rest[..last.map_or(0, |last| last + 1)];
        args.extend(rest.iter().map(|p| p.default_operand()));
        args
    }
}
