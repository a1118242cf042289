//! Symbolic operation counts of kernels.

use super::cost_model::value_ops;
use hammock_ir::{
    PrimExpr,
    prim::{Substitution, Var},
    tir::{Param, PrimFunc},
};
use hammock_loopnest::{Kernel, Part, Stage, index::Simplifier};

/// Floating-point operations of a kernel; a multiply-add counts as two.
pub struct Flops {
    params: Vec<Param>,
    terms: Vec<Term>,
}

/// Operations for each element of a domain.
struct Term {
    operations: f64,
    extents: Vec<PrimExpr>,
}

impl Flops {
    /// Counts the operations of a function's kernel. `None` if it has opaque parts.
    pub fn of(func: &PrimFunc, kernel: &Kernel) -> Option<Flops> {
        let mut terms = Vec::new();
        for part in &kernel.parts {
            if let Part::Opaque(_) = part {
                return None;
            }
            terms.extend(part.stages().iter().flat_map(of_stage));
        }
        Some(Flops { params: func.params.clone(), terms })
    }

    /// Evaluates the count for arguments, in the order of parameters: the shape of a tensor, or one number. `None` if
    /// these do not determine all sizes.
    pub fn at(&self, arguments: &[Vec<i64>]) -> Option<f64> {
        let mut sizes = Substitution::default();
        for (param, values) in self.params.iter().zip(arguments) {
            let vars: Vec<Option<&Var>> = match &param.buffer {
                Some(buffer) => buffer.shape.iter().map(PrimExpr::as_var).collect(),
                None => vec![Some(&param.var)],
            };
            let known = vars.into_iter().zip(values).filter_map(|(var, value)| Some((var?, value)));
            sizes.extend(known.map(|(var, value)| (var.clone(), PrimExpr::int(*value, var.dtype()))));
        }
        let simplifier = Simplifier::default();
        let size = |extent: &PrimExpr| Some(simplifier.poly(&extent.substitute(&sizes)).as_constant()? as f64);
        let of_term = |term: &Term| Some(term.operations * term.extents.iter().map(size).product::<Option<f64>>()?);
        self.terms.iter().map(of_term).sum()
    }
}

/// Counts the operations of a stage's elements, and of its epilogue.
fn of_stage(stage: &Stage) -> [Term; 2] {
    let term = |operations, reduced: bool| {
        let axes = stage.axes.iter().filter(|axis| reduced || !axis.reduce);
        Term { operations, extents: axes.map(|axis| axis.extent.clone()).collect() }
    };
    let after = stage.epilogue.as_ref().map_or(0.0, |epilogue| value_ops(&epilogue.value));
    [term(value_ops(&stage.value), true), term(after, false)]
}
