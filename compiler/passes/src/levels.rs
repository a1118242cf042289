//! The pipelines that compile a module: which passes run at each optimisation level, and in which order.

use crate::*;

/// What turns a module as written into one that the bytecode generator takes, at a level from 0 to 3.
///
/// - 0: what code generation needs, and no more.
/// - 1: also removes what is unused.
/// - 2: also computes the same values only once, constants at compile time, and makes one kernel of several.
/// - 3: as 2; kernels take longer to compile.
pub fn pipeline(level: u8) -> Pipeline {
    let at = |least: u8, passes: &[&'static Pass]| if level >= least { passes.to_vec() } else { Vec::new() };
    let steps = [
        vec![&normalize::PASS, &canonicalize_bindings::PASS, &lambda_lift::PASS],
        at(2, &[&eliminate_common_subexpr::PASS, &canonicalize_bindings::PASS, &fold_constant::PASS]),
        vec![&legalize_ops::PASS],
        at(2, &[&fold_constant::PASS]),
        at(1, &[&dead_code_elimination::PASS]),
        at(2, &[&annotate_tir_op_pattern::PASS, &fuse_ops::PASS, &fuse_tir::PASS]),
        vec![
            &to_non_dataflow::PASS,
            &remove_purity_checking::PASS,
            &call_tir_rewrite::PASS,
            &lower_alloc_tensor::PASS,
            &kill_after_last_use::PASS,
            &lower_runtime_builtin::PASS,
            &compute_prim_value::PASS,
            &vm_shape_lower::PASS,
            &attach_global_symbol::PASS,
        ],
    ];
    Pipeline { steps: steps.into_iter().flatten().map(Step::from).collect() }
}
