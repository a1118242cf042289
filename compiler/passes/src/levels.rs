//! The pipelines that compile a module: which passes run at each optimisation level, and in which order.

use crate::{fusion::*, graph::*, layout::*, lowering::*, memory::*, params::*, quantization::*, *};

/// What turns a module as written into one that the bytecode generator takes, at a level from 0 to 3.
///
/// - 0: what code generation needs, and no more.
/// - 1: also removes what is unused, and lets tensors that are not needed at the same time share memory.
/// - 2: also puts the bodies of private functions in the place of their calls while the module stays of about its
///   size; gathers what has no effects into dataflow blocks, which much of the rest needs; computes the same values
///   only once, constants at compile time, with integers what is written with dequantized numbers, products in the
///   cheaper order and batch normalization as a part of convolutions; joins matrices before they are transposed;
///   chooses columns of a product rather than of a matrix where that is cheaper; lays tensors out as convolutions
///   are fastest, and leaves out layouts that are undone; computes convolutions with fewer multiplications, which
///   rounds differently; joins products of a few rows, and multiplies few rows by matrices as they lie, not
///   transposed; makes one kernel of several, and views of kernels that only reshape or copy parts; rearranges
///   constants as kernels use them; and computes late what would only wait for its use.
/// - 3: as 2; kernels take longer to compile.
pub fn pipeline(level: u8) -> Pipeline {
    let at = |least: u8, steps: Vec<Step>| if level >= least { steps } else { Vec::new() };
    let plan_memory =
        Step { pass: &static_plan_block_memory::PASS, options: static_plan_block_memory::in_whole_functions() };
    let inline = Step { pass: &inline_private_functions::PASS, options: inline_private_functions::within_reason() };
    let layouts = Step { pass: &convert_layout::PASS, options: convert_layout::where_it_helps() };
    let few_rows = fuse_transpose_matmul::FEW_ROWS.into();
    let steps = [
        plain(&[&zero_initialize::PASS, &normalize::PASS, &canonicalize_bindings::PASS, &lambda_lift::PASS]),
        at(2, vec![inline]),
        at(2, plain(&[&convert_to_dataflow::PASS, &eliminate_common_subexpr::PASS, &canonicalize_bindings::PASS])),
        at(2, plain(&[&fake_quantization_to_integer::PASS])),
        at(2, better_graph()),
        at(2, plain(&[&fold_constant::PASS])),
        at(2, vec![layouts]),
        at(2, vec![with(&winograd::PASS, winograd::CHEAPER.name, true.into())]),
        at(2, plain(&[&remove_redundant_permute_dims::PASS, &remove_redundant_reshape::PASS])),
        at(2, plain(&[&eliminate_common_subexpr::PASS, &canonicalize_bindings::PASS])),
        at(2, vec![with(&fuse_transpose_matmul::PASS, fuse_transpose_matmul::MAX_ROWS.name, few_rows)]),
        plain(&[&legalize_ops::PASS]),
        at(2, plain(&[&fold_constant::PASS])),
        at(1, plain(&[&dead_code_elimination::PASS])),
        at(2, vec![with(&annotate_tir_op_pattern::PASS, annotate_tir_op_pattern::SYMBOLIC.name, true.into())]),
        at(2, plain(&[&separate_outputs::PASS])),
        at(2, vec![with(&fuse_ops::PASS, fuse_ops::WIDENED_WEIGHTS.name, true.into())]),
        at(2, plain(&[&fuse_tir::PASS])),
        // Reshapes are views from here on: kernels that work row by row need not take them in.
        at(2, plain(&[&rewrite_dataflow_reshape::PASS, &fuse_rows::PASS, &fuse_tir::PASS])),
        at(2, packed_weights()),
        at(2, vec![with(&topological_sort::PASS, "order", "latest".into())]),
        plain(&[&to_non_dataflow::PASS, &remove_purity_checking::PASS, &call_tir_rewrite::PASS]),
        at(1, vec![plan_memory]),
        plain(&[
            &lower_alloc_tensor::PASS,
            &kill_after_last_use::PASS,
            &lower_runtime_builtin::PASS,
            &compute_prim_value::PASS,
            &vm_shape_lower::PASS,
            &attach_global_symbol::PASS,
        ]),
    ];
    Pipeline { steps: steps.concat() }
}

/// The same without the passes that round differently: by those that stay, sums have the terms that the program gives
/// them.
pub fn exact_pipeline(level: u8) -> Pipeline {
    let mut exact = pipeline(level);
    exact.steps.retain(|step| !std::ptr::eq(step.pass, &winograd::PASS));
    exact
}

/// A pipeline that also keeps constant weights in few bits, once constants are folded.
pub fn with_quantized_weights(mut pipeline: Pipeline, dtype: &str, group: i64) -> Pipeline {
    let first = |pass| pipeline.steps.iter().position(|step| std::ptr::eq(step.pass, pass));
    let at = first(&fold_constant::PASS).map(|fold| fold + 1).or_else(|| first(&legalize_ops::PASS)).unwrap_or(0);
    let step = Step { pass: &quantize_weights::PASS, options: quantize_weights::to(dtype, group) };
    pipeline.steps.insert(at, step);
    pipeline
}

/// A pipeline that also stores constants as the data that they are computed from, where that is much less; the last time
/// that constants are folded decides.
pub fn with_prepared_constants(mut pipeline: Pipeline) -> Pipeline {
    let last = pipeline.steps.iter().rposition(|step| std::ptr::eq(step.pass, &fold_constant::PASS));
    if let Some(last) = last {
        pipeline.steps.insert(last + 1, Step::from(&prepare_constants::PASS));
    }
    pipeline
}

/// Rewritings that leave less to compute. Batch normalization in training stays as it is.
fn better_graph() -> Vec<Step> {
    let for_inference = |pass| with(pass, KEEP_TRAINING.name, true.into());
    let mut steps = vec![for_inference(&fold_batchnorm_to_conv2d::PASS), for_inference(&decompose_ops::FOR_INFERENCE)];
    steps.extend(plain(&[&canonicalize_bindings::PASS]));
    let for_products = reorder_permute_dims_after_concat::FOR_PRODUCTS.name;
    steps.push(with(&reorder_permute_dims_after_concat::PASS, for_products, true.into()));
    steps.extend(plain(&[&remove_redundant_permute_dims::PASS]));
    steps.extend(plain(&[&remove_redundant_reshape::PASS, &optimize_layout_transform::PASS]));
    steps.push(with(&reorder_take_after_matmul::PASS, reorder_take_after_matmul::CHEAPER.name, true.into()));
    // Weights that are arguments of each call are computed with at each call.
    steps.push(with(&adjust_matmul_order::PASS, adjust_matmul_order::KNOWN_WEIGHTS.name, false.into()));
    steps.push(Step { pass: &combine_parallel_matmul::PASS, options: combine_parallel_matmul::where_it_helps() });
    steps
}

/// Constants in the order in which kernels use them.
fn packed_weights() -> Vec<Step> {
    let constants = attach_attr_layout_free_buffers::CONSTANTS.name;
    let mut steps = vec![with(&attach_attr_layout_free_buffers::PASS, constants, true.into())];
    steps.extend(plain(&[&pack_weights::PASS, &split_layout_rewrite_preproc::PASS, &fold_constant::PASS]));
    steps.extend(plain(&[&dead_code_elimination::PASS]));
    steps
}

/// Passes with their own options.
fn plain(passes: &[&'static Pass]) -> Vec<Step> {
    passes.iter().copied().map(Step::from).collect()
}

/// A pass with one option of its own.
fn with(pass: &'static Pass, option: &'static str, value: serde_json::Value) -> Step {
    Step { pass, options: Options::of(pass).with([(option, value)]) }
}
