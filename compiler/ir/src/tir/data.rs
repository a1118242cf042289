//! Variables of a kernel that hold data, whose arithmetic wraps (see [`PrimExpr::is_data`]).

use super::{PrimFunc, StmtKind, fresh};
use crate::{
    PrimExpr,
    prim::{PrimKind, Substitution, Var},
};
use rustc_hash::FxHashSet;

impl PrimFunc {
    /// Marks variables that hold data: scalar parameters that occur in no size of a parameter, and variables bound to
    /// values computed from data. `None` if nothing changes.
    pub fn with_data_marked(&self) -> Option<PrimFunc> {
        let mut data = Substitution::default();
        let sizes = self.size_vars();
        for param in self.params.iter().filter(|p| p.buffer.is_none() && !sizes.contains(&p.var)) {
            mark(&param.var, &mut data);
        }
        self.body.walk(&mut |stmt| {
            if let StmtKind::Bind(var, value) = &stmt.kind
                && is_data(value, &data)
            {
                mark(var, &mut data);
            }
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let PrimKind::Let(var, value, _) = e.kind()
                        && is_data(value, &data)
                    {
                        mark(var, &mut data);
                    }
                });
            });
        });
        (!data.is_empty()).then(|| fresh::replace_in(self, data, Vec::new()))
    }

    /// Variables in sizes, strides and offsets of parameters.
    fn size_vars(&self) -> FxHashSet<&Var> {
        let mut vars = FxHashSet::default();
        for buffer in self.buffers() {
            let exprs = buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset);
            exprs.for_each(|e| e.each_var(&mut |v| _ = vars.insert(v)));
        }
        vars
    }
}

fn mark(var: &Var, data: &mut Substitution) {
    let is_number = var.dtype().is_integer() || var.dtype().is_bool();
    if is_number && !var.is_data() && !data.contains_key(var) {
        data.insert(var.clone(), Var::data(var.name().clone(), var.ty().clone()).expr());
    }
}

/// Returns true if a value is data, given the variables known to hold data.
fn is_data(value: &PrimExpr, data: &Substitution) -> bool {
    value.is_data() || !data.is_empty() && value.any(&mut |e| e.as_var().is_some_and(|v| data.contains_key(v)))
}
