//! Evaluation of calls on small constants, so that the shapes that a model computes from them are static.
//!
//! The calls remain in the function (unused ones are removed later); the builder only records their results.

use super::Builder;
use hammock_interp::{Arg, call_tir};
use hammock_ir::{
    DType, PrimExpr, Tensor, TensorType, Type,
    relax::{Call, Constant, Operand, Var},
};
use hammock_ops::{CallContext, Lowering, Op, legalize::has_normal_operands};
use rustc_hash::FxHashMap;

/// Maximum number of elements of each tensor in a call that is evaluated.
const MAX_ELEMENTS: usize = 64;

/// Values of variables that are computed from constants.
#[derive(Debug, Default)]
pub struct Constants(FxHashMap<Var, Tensor>);

impl Constants {
    /// Returns the value of a variable.
    pub fn get(&self, var: Var) -> Option<&Tensor> {
        self.0.get(&var)
    }

    /// Records the value of a variable, if it is known.
    pub fn record(&mut self, var: Var, value: Option<Tensor>) {
        self.0.extend(value.map(|value| (var, value)));
    }

    /// Drops the values of all but the first `vars` variables of the function.
    pub fn truncate(&mut self, vars: usize) {
        self.0.retain(|var, _| (var.as_u32() as usize) < vars);
    }
}

impl Builder {
    /// Runs the kernel of a call; `None` if a value is not known or too large, or the kernel fails.
    pub(super) fn evaluate(&self, op: &'static Op, call: &Call, ty: &Type) -> Option<Tensor> {
        let Lowering::Tir(build) = &op.lowering else { return None };
        if !op.pure || op.unique {
            return None;
        }
        let (shape, dtype) = static_tensor(ty.as_tensor()?)?;
        let args = call.args.iter().map(|arg| self.with_known_vars(arg)).collect::<Option<Vec<_>>>()?;
        let call = Call { args, ..call.clone() };
        let cx = CallContext { module: &self.module, function: &self.function, op, call: &call };
        let lowered = has_normal_operands(&cx).then(|| build(&cx).ok()).flatten()?;
        let args = lowered.args.iter().map(kernel_argument).collect::<Option<Vec<_>>>()?;
        call_tir(&lowered.func, &args, &[(shape, dtype)]).ok()?.pop()
    }

    /// Returns an argument with the values of its variables; `None` if it is not a small constant.
    fn with_known_vars(&self, arg: &Operand) -> Option<Operand> {
        let is_small = |tensor: &Tensor| tensor.element_count() <= MAX_ELEMENTS;
        match arg {
            Operand::Const(constant) => is_small(&constant.tensor).then(|| arg.clone()),
            Operand::Var(var) => self.constants.get(*var).map(|tensor| Operand::Const(Constant::new(tensor.clone()))),
            Operand::Tuple(fields) => {
                fields.iter().map(|field| self.with_known_vars(field)).collect::<Option<_>>().map(Operand::Tuple)
            }
            Operand::Prim(e) => (e.as_int().is_some() || e.as_float().is_some()).then(|| arg.clone()),
            Operand::Shape(dims) => dims.iter().all(|dim| dim.as_int().is_some()).then(|| arg.clone()),
            Operand::Str(_) | Operand::DType(_) => Some(arg.clone()),
            _ => None,
        }
    }
}

fn kernel_argument(operand: &Operand) -> Option<Arg> {
    match operand {
        Operand::Const(constant) => Some(constant.tensor.clone().into()),
        Operand::Prim(e) => e.as_int().map(Arg::from).or_else(|| e.as_float().map(Arg::from)),
        _ => None,
    }
}

/// Returns the shape and dtype of a small tensor.
fn static_tensor(ty: &TensorType) -> Option<(Vec<i64>, DType)> {
    let shape: Vec<i64> = ty.dims()?.iter().map(PrimExpr::as_int).collect::<Option<_>>()?;
    let count = shape.iter().try_fold(1usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?))?;
    (count <= MAX_ELEMENTS).then_some((shape, ty.dtype?))
}
