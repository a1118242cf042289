//! Functions, bodies, blocks and bindings.

mod value;

pub use value::{Call, Callee, Constant, Operand, Origin, Source, Value};

use super::Var;
use crate::{Attrs, Name, Type, prim};
use cranelift_entity::PrimaryMap;
use hammock_diagnostics::Span;
use rustc_hash::FxHashSet;

/// A global Relax function. It owns the table of every variable bound in it, those of nested functions included, so
/// that a captured variable is simply the same variable.
#[derive(Clone, Debug)]
pub struct Function {
    /// Every variable: parameters, bindings, and those of nested functions.
    pub vars: PrimaryMap<Var, VarInfo>,
    /// Parameters and body.
    pub lambda: Lambda,
}

/// Properties of a variable.
#[derive(Clone, Debug)]
pub struct VarInfo {
    /// Its name in the text; the printer makes names unique.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// True if it is visible only in its dataflow block.
    pub dataflow: bool,
    /// Source location of its binding.
    pub span: Span,
    /// For a variable of scalar type: the scalar variable that denotes its value in expressions. In `def f(n: T.int64,
    /// x: R.Tensor((n,)))`, the dimension is this variable, the argument `n` of a call the Relax one.
    pub scalar: Option<prim::Var>,
}

/// Parameters and a body: a global function without its table, or a nested function.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Parameters in order.
    pub params: Vec<Var>,
    /// The declared (or inferred) type of the result.
    pub ret_ty: Type,
    /// True if calls have no visible side effect.
    pub pure: bool,
    /// `R.func_attr`, and `global_symbol` for a function that others may call.
    pub attrs: Attrs,
    /// Body.
    pub body: Body,
    /// Source location of its header.
    pub span: Span,
}

/// Blocks of bindings, then a result.
#[derive(Clone, Debug)]
pub struct Body {
    /// Blocks in order.
    pub blocks: Vec<Block>,
    /// The result.
    pub result: Operand,
}

/// Bindings that run in order.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// True if it is a dataflow block: no side effects, no control flow.
    pub dataflow: bool,
    /// Bindings in order.
    pub bindings: Vec<Binding>,
}

/// `var = value`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The variable bound.
    pub var: Var,
    /// Its value.
    pub value: Value,
    /// Source location.
    pub span: Span,
}

impl Function {
    /// An empty function: pure, without parameters, returning the empty tuple with unknown type.
    pub fn empty() -> Self {
        let lambda = Lambda {
            params: Vec::new(),
            ret_ty: Type::Any,
            pure: true,
            attrs: Attrs::new(),
            body: Body::of(Operand::Tuple(Vec::new())),
            span: Span::NONE,
        };
        Function { vars: PrimaryMap::new(), lambda }
    }

    /// A new variable; one of scalar type gets a new scalar variable for its value.
    pub fn new_var(&mut self, name: impl Into<Name>, ty: Type, dataflow: bool, span: Span) -> Var {
        let name = name.into();
        let scalar = match ty {
            Type::Prim(dtype) => Some(prim::Var::new(name.clone(), dtype)),
            _ => None,
        };
        self.vars.push(VarInfo { name, ty, dataflow, span, scalar })
    }

    /// The scalar variable that denotes the value of a variable of scalar type.
    pub fn scalar(&self, var: Var) -> Option<&prim::Var> {
        self.vars[var].scalar.as_ref()
    }

    /// The variable whose value a scalar variable denotes; `None` for a symbolic dimension.
    pub fn var_of_scalar(&self, scalar: &prim::Var) -> Option<Var> {
        self.vars.iter().find(|(_, info)| info.scalar.as_ref() == Some(scalar)).map(|(var, _)| var)
    }

    /// The scalar variables in the types of parameters, and those that denote the values of scalar parameters.
    pub fn sizes_of(&self, params: &[Var]) -> FxHashSet<prim::Var> {
        let mut sizes = FxHashSet::default();
        for param in params {
            let info = &self.vars[*param];
            info.ty.each_expr(&mut |e| e.each_var(&mut |v| sizes.extend([v.clone()])));
            sizes.extend(info.scalar.clone());
        }
        sizes
    }

    /// The type of a variable.
    pub fn ty(&self, var: Var) -> &Type {
        &self.vars[var].ty
    }

    /// Returns true if the callee, an operand or a named type of a call has an error that is reported already.
    pub fn is_erroneous(&self, call: &Call) -> bool {
        let var = |v: Var| self.vars.get(v).is_some_and(|info| info.ty.is_erroneous());
        let mut found = matches!(call.callee, Callee::Var(v) if var(v)) || call.ty_args.iter().any(Type::is_erroneous);
        call.args.iter().for_each(|operand| operand.each_var(&mut |v| found |= var(v)));
        found
    }

    /// Returns true if the function is private: not callable from outside its module.
    pub fn is_private(&self) -> bool {
        self.lambda.attrs.get("global_symbol").is_none()
    }
}

impl Lambda {
    /// Number of parameters that are inputs of each run, if declared (`num_input`); the rest are weights.
    pub fn num_input(&self) -> Option<usize> {
        usize::try_from(self.attrs.get("num_input")?.as_int()?).ok()
    }
}

impl Body {
    /// A body with a result and no bindings.
    pub fn of(result: Operand) -> Self {
        Body { blocks: Vec::new(), result }
    }

    /// Every binding in order, not those of nested bodies.
    pub fn bindings(&self) -> impl Iterator<Item = &Binding> {
        self.blocks.iter().flat_map(|b| &b.bindings)
    }
}
