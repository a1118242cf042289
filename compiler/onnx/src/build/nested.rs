//! Bindings of nested functions and branches.

use super::Builder;
use hammock_ir::{
    PrimExpr, Type, prim,
    relax::{Binding, Block, Body, Operand, Value as Bound, Var},
};

/// The enclosing function's state while a nested body is imported.
#[must_use]
pub struct Enclosing {
    bindings: Vec<Binding>,
    joint_dims: usize,
}

impl Builder {
    /// Starts the bindings of a nested body.
    pub fn enter_body(&mut self) -> Enclosing {
        Enclosing { bindings: std::mem::take(&mut self.bindings), joint_dims: self.joint_dims.len() }
    }

    /// Ends a nested body and returns its bindings. Dimensions that it defines are not visible outside.
    pub fn leave_body(&mut self, enclosing: Enclosing) -> Vec<Binding> {
        self.joint_dims.truncate(enclosing.joint_dims);
        let bindings = std::mem::replace(&mut self.bindings, enclosing.bindings);
        for binding in &bindings {
            self.function.vars[binding.var].dataflow = false;
        }
        bindings
    }

    /// Creates a variable of a nested body: a parameter, or one that a branch binds.
    pub fn nested_var(&mut self, name: &str, ty: Type) -> Var {
        self.function.new_var(name, ty, false, self.span)
    }

    /// Binds the result of a branch.
    pub fn bind_if(&mut self, name: &str, ty: Type, cond: Operand, then: Body, otherwise: Body) -> Var {
        let var = self.nested_var(name, ty);
        self.push(var, Bound::If { cond, then, otherwise });
        var
    }

    /// True if a dimension uses only variables in types of the first `vars` variables.
    pub fn is_dim_of_first_vars(&self, dim: &PrimExpr, vars: usize) -> bool {
        let mut all = true;
        dim.each_var(&mut |used| all = all && self.defines(vars, used));
        all
    }

    fn defines(&self, vars: usize, dim: &prim::Var) -> bool {
        self.function.vars.values().take(vars).any(|info| {
            let mut found = info.scalar.as_ref() == Some(dim);
            info.ty.each_expr(&mut |e| found = found || e.as_var() == Some(dim));
            found
        })
    }
}

/// Returns a body outside dataflow blocks.
pub fn body(bindings: Vec<Binding>, result: Operand) -> Body {
    let blocks = if bindings.is_empty() { Vec::new() } else { vec![Block { dataflow: false, bindings }] };
    Body { blocks, result }
}
