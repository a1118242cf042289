//! The pipelines that compile a module: passes and their order at each optimization level.

use crate::{
    fusion::*, graph::*, layout::*, libraries::Library, lowering::*, memory::*, params::*, quantization::*, *,
};

/// Returns the pipeline that lowers a module to the VM level, which the bytecode generator takes, at a level from 0
/// to 3.
///
/// - 0: lowering only.
/// - 1: also dead-code elimination and memory planning.
/// - 2: also inlining, while the module's size stays about the same; dataflow blocks, which most other passes need;
///   common-subexpression elimination; constant folding; QDQ patterns to integer arithmetic; dequantized weights
///   packed; cheaper matmul orders; batch normalization folded into convolutions; parallel matmuls combined; transposed
///   convolutions of stride 1 as convolutions; layouts that suit convolutions, without redundant layout changes;
///   convolutions that do not multiply padding, and strided pointwise ones of slices; kn2row and Winograd convolution,
///   which round differently; transposes fused into matmuls of few rows; kernel fusion; reshapes as views; weights
///   packed at compile time; and values computed as late as possible.
/// - 3: as 2, with more expensive optimizations of kernels.
pub fn pipeline(level: u8) -> Pipeline {
    let at = |min_level: u8, steps: Vec<Step>| if level >= min_level { steps } else { Vec::new() };
    let inline = Step { pass: &inline_private_functions::PASS, options: inline_private_functions::bounded() };
    let layouts = Step { pass: &convert_layout::PASS, options: convert_layout::profitable() };
    let few_rows = fuse_transpose_matmul::FEW_ROWS.into();
    let steps = [
        plain(&[&zero_initialize::PASS, &normalize::PASS, &canonicalize_bindings::PASS, &lambda_lift::PASS]),
        at(2, vec![inline]),
        at(2, plain(&[&convert_to_dataflow::PASS, &eliminate_common_subexpr::PASS, &canonicalize_bindings::PASS])),
        at(2, plain(&[&fake_quantization_to_integer::PASS])),
        at(2, simplify_graph()),
        at(2, plain(&[&fold_constant::PASS, &pack_quantized_weights::PASS])),
        at(2, vec![layouts]),
        at(2, plain(&[&slice_strided_conv::PASS])),
        at(2, vec![with(&kn2row::PASS, kn2row::CHEAPER.name, true.into())]),
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
        // Reshapes are views from here on, so row-wise kernels need not fuse them.
        at(2, plain(&[&rewrite_dataflow_reshape::PASS, &fuse_rows::PASS, &fuse_tir::PASS])),
        at(2, pack_constant_weights()),
        at(2, vec![with(&topological_sort::PASS, "order", "latest".into())]),
        plain(&[&to_non_dataflow::PASS]),
        vm_pipeline(level).steps,
    ];
    Pipeline { steps: steps.concat() }
}

/// Returns the end of [`pipeline`], which makes memory and its releases explicit. Other passes do not keep these in
/// order, so none of them may follow.
pub fn vm_pipeline(level: u8) -> Pipeline {
    let plan_memory =
        Step { pass: &static_plan_block_memory::PASS, options: static_plan_block_memory::for_whole_functions() };
    let mut steps = plain(&[&remove_purity_checking::PASS, &call_tir_rewrite::PASS]);
    steps.extend((level >= 1).then_some(plan_memory));
    steps.extend(plain(&[
        &lower_alloc_tensor::PASS,
        &kill_after_last_use::PASS,
        &lower_runtime_builtin::PASS,
        &compute_prim_value::PASS,
        &vm_shape_lower::PASS,
        &attach_global_symbol::PASS,
    ]));
    Pipeline { steps }
}

/// Returns the pipeline without passes that change rounding: the passes that stay sum the addends that the program
/// sums.
pub fn exact_pipeline(level: u8) -> Pipeline {
    let mut exact = pipeline(level);
    let rounds_differently: [&Pass; 2] = [&kn2row::PASS, &winograd::PASS];
    exact.steps.retain(|step| !rounds_differently.iter().any(|pass| std::ptr::eq(step.pass, *pass)));
    exact
}

/// Returns the pipeline without passes whose layouts, packed weights and row tiling suit CPUs, with passes that place
/// tensors and kernels on devices, and with RewriteCUDAGraph after memory planning.
pub fn gpu_pipeline(mut pipeline: Pipeline) -> Pipeline {
    let of_cpus: [&Pass; 8] = [
        &convert_layout::PASS,
        &slice_strided_conv::PASS,
        &kn2row::PASS,
        &winograd::PASS,
        &fuse_rows::PASS,
        &attach_attr_layout_free_buffers::PASS,
        &pack_weights::PASS,
        &split_layout_rewrite_preproc::PASS,
    ];
    pipeline.steps.retain(|step| !of_cpus.iter().any(|pass| std::ptr::eq(step.pass, *pass)));
    let graphs = with(&rewrite_cuda_graph::PASS, rewrite_cuda_graph::UPDATED.name, true.into());
    insert_after(&mut pipeline, &static_plan_block_memory::PASS, graphs);
    // Before and after operators are lowered to others, which may have operands of their own.
    for pass in [&normalize::PASS, &legalize_ops::PASS] {
        insert_after(&mut pipeline, pass, Step::from(&realize_vdevice::PASS));
    }
    insert_after(&mut pipeline, &to_non_dataflow::PASS, Step::from(&place_kernels::PASS));
    pipeline
}

/// Inserts a step after the first one that runs a pass, if there is one.
fn insert_after(pipeline: &mut Pipeline, pass: &Pass, step: Step) {
    if let Some(position) = pipeline.steps.iter().position(|other| std::ptr::eq(other.pass, pass)) {
        pipeline.steps.insert(position + 1, step);
    }
}

/// Adds weight-only quantization to a pipeline, after the first constant folding.
pub fn with_quantized_weights(mut pipeline: Pipeline, dtype: &str, group: i64) -> Pipeline {
    let step = Step { pass: &quantize_weights::PASS, options: quantize_weights::to(dtype, group) };
    pipeline.steps.insert(after_folding(&pipeline), step);
    pipeline
}

/// Adds the quantization of activations to a pipeline, after that of weights.
pub fn with_quantized_activations(mut pipeline: Pipeline) -> Pipeline {
    let of_weights = pipeline.steps.iter().position(|step| std::ptr::eq(step.pass, &quantize_weights::PASS));
    if let Some(of_weights) = of_weights {
        let step = &mut pipeline.steps[of_weights];
        step.options = step.options.clone().with([(quantize_weights::SCALE_AFTER.name, false.into())]);
    }
    let at = of_weights.map_or_else(|| after_folding(&pipeline), |of_weights| of_weights + 1);
    pipeline.steps.insert(at, Step::from(&quantize_activations::PASS));
    pipeline
}

/// Returns the position after the first constant folding, and the packing of weights that are quantized already.
fn after_folding(pipeline: &Pipeline) -> usize {
    let first = |pass| pipeline.steps.iter().position(|step| std::ptr::eq(step.pass, pass));
    first(&pack_quantized_weights::PASS)
        .or_else(|| first(&fold_constant::PASS))
        .map(|fold| fold + 1)
        .or_else(|| first(&legalize_ops::PASS))
        .unwrap_or(0)
}

/// Adds passes that make the values that libraries compute calls of them, before kernels are made.
pub fn with_libraries(mut pipeline: Pipeline, libraries: &[&Library]) -> Pipeline {
    let makes_kernels: [&Pass; 2] = [&fuse_transpose_matmul::PASS, &legalize_ops::PASS];
    let is_first = |step: &Step| makes_kernels.iter().any(|pass| std::ptr::eq(step.pass, *pass));
    if libraries.is_empty() {
        return pipeline;
    }
    let at = pipeline.steps.iter().position(is_first).unwrap_or(0);
    let patterns: Vec<_> = libraries.iter().flat_map(|library| (library.patterns)()).collect();
    let mut steps = plain(&[&convert_to_dataflow::PASS, &canonicalize_bindings::PASS]);
    steps.push(Step { pass: &fuse_ops_by_pattern::PASS, options: fuse_ops_by_pattern::for_code_generators(&patterns) });
    steps.extend(plain(&[&run_codegen::PASS]));
    pipeline.steps.splice(at..at, steps);
    pipeline
}

/// Adds PrepareConstants to a pipeline, after the last constant folding: constants that were computed from much less
/// data are stored as that data.
pub fn with_prepared_constants(mut pipeline: Pipeline) -> Pipeline {
    let last = pipeline.steps.iter().rposition(|step| std::ptr::eq(step.pass, &fold_constant::PASS));
    if let Some(last) = last {
        pipeline.steps.insert(last + 1, Step::from(&prepare_constants::PASS));
    }
    pipeline
}

/// Simplifications of the graph. Batch normalization in training mode stays as it is.
fn simplify_graph() -> Vec<Step> {
    let for_inference = |pass| with(pass, KEEP_TRAINING.name, true.into());
    let mut steps = vec![for_inference(&fold_batchnorm_to_conv2d::PASS), for_inference(&decompose_ops::FOR_INFERENCE)];
    steps.extend(plain(&[&canonicalize_bindings::PASS]));
    steps.extend(plain(&[&conv_transpose_to_conv::PASS, &trim_conv_kernel::PASS]));
    let before_matmuls = reorder_permute_dims_after_concat::FOR_MATMULS.name;
    steps.push(with(&reorder_permute_dims_after_concat::PASS, before_matmuls, true.into()));
    steps.extend(plain(&[&remove_redundant_permute_dims::PASS]));
    steps.extend(plain(&[&remove_redundant_reshape::PASS, &optimize_layout_transform::PASS]));
    steps.push(with(&reorder_take_after_matmul::PASS, reorder_take_after_matmul::CHEAPER.name, true.into()));
    // Weights that are arguments would be multiplied at each call.
    steps.push(with(&adjust_matmul_order::PASS, adjust_matmul_order::KNOWN_WEIGHTS.name, false.into()));
    steps.push(Step { pass: &combine_parallel_matmul::PASS, options: combine_parallel_matmul::profitable() });
    steps
}

/// Passes that pack constant weights for their kernels.
fn pack_constant_weights() -> Vec<Step> {
    let constants = attach_attr_layout_free_buffers::CONSTANTS.name;
    let mut steps = vec![with(&attach_attr_layout_free_buffers::PASS, constants, true.into())];
    steps.extend(plain(&[&pack_weights::PASS, &split_layout_rewrite_preproc::PASS, &fold_constant::PASS]));
    steps.extend(plain(&[&dead_code_elimination::PASS]));
    steps
}

/// Passes with default options.
fn plain(passes: &[&'static Pass]) -> Vec<Step> {
    passes.iter().copied().map(Step::from).collect()
}

/// A pass with one option set.
fn with(pass: &'static Pass, option: &'static str, value: serde_json::Value) -> Step {
    Step { pass, options: Options::of(pass).with([(option, value)]) }
}
