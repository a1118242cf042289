//! Attention on a GPU: an online softmax, and what it does not match.

use super::{compare_on, lowered, tensor_of};
use hammock_diagnostics::SourceFile;
use hammock_interp::Arg;
use hammock_ir::{DType, Function, Tensor, tir::PrimFunc};
use hammock_kernels::{lower_gpu, plan_text};
use hammock_target::{Gpu, Target};

const CAUSAL: &str = "q, k, v, causal_mask=\"BottomRight\"";

/// Returns the kernel of an attention: queries, keys and values of these shapes, with arguments as a call has them.
fn attention(q: &str, kv: &str, args: &str, dtype: &str) -> PrimFunc {
    let text = format!(
        "from tvm.script import ir as I, relax as R\n\
         @I.ir_module\n\
         class Module:\n    \
             @R.function\n    \
             def main(q: R.Tensor(({q}), \"{dtype}\"), k: R.Tensor(({kv}), \"{dtype}\"), v: R.Tensor(({kv}), \"{dtype}\")):\n        \
                 with R.dataflow():\n            \
                     y = R.nn.attention({args})\n            \
                     R.output(y)\n        \
                 return y\n"
    );
    let module = lowered(&SourceFile::new("attention.py", text).unwrap());
    let kernel = module.functions.values().find_map(|function| match function {
        Function::Tir(func) if func.buffers().count() == 4 => Some(func.clone()),
        _ => None,
    });
    kernel.unwrap()
}

/// Compares the kernel with itself as it was written, for queries and keys of these sequence lengths.
fn check(func: &PrimFunc, heads: [i64; 3], lengths: &[(i64, i64)], strict_order: bool) {
    check_on(&Gpu::DEFAULT, func, heads, lengths, strict_order);
}

/// The same on a GPU.
fn check_on(gpu: &Gpu, func: &PrimFunc, [heads, shared, size]: [i64; 3], lengths: &[(i64, i64)], strict_order: bool) {
    let target = Target::baseline();
    let options = hammock_kernels::Options { strict_order, ..hammock_kernels::Options::new(&target) };
    let kernel = lower_gpu(func, options, gpu).unwrap();
    for (n, m) in lengths {
        let shapes = [[1, *n, heads, size], [1, *m, shared, size], [1, *m, shared, size], [1, *n, heads, size]];
        let args: Option<Vec<Arg>> =
            func.buffers().zip(shapes).enumerate().map(|(i, (b, shape))| tensor_of(b.dtype, &shape, i)).collect();
        let mut reports = Vec::new();
        compare_on(func, &kernel, args.unwrap(), &format!("{n} queries, {m} keys"), &mut reports);
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}

fn plan(func: &PrimFunc) -> String {
    let target = Target::baseline();
    plan_text(func, hammock_kernels::Options { gpu: Some(&Gpu::DEFAULT), ..hammock_kernels::Options::new(&target) })
        .unwrap()
}

const LENGTHS: &[(i64, i64)] = &[(1, 1), (33, 65), (0, 3)];

#[test]
fn sequences_of_any_length() {
    for args in [CAUSAL, "q, k, v, causal_mask=\"TopLeft\", window_size=3"] {
        let func = attention("1, \"n\", 1, 16", "1, \"m\", 1, 16", args, "float32");
        assert!(plan(&func).contains("rows, 32 at a time, online 64"), "{}", plan(&func));
        check(&func, [1, 1, 16], LENGTHS, false);
    }
}

#[test]
fn constant_lengths() {
    let func = attention("1, 16, 1, 8", "1, 100, 1, 8", CAUSAL, "float32");
    assert!(plan(&func).contains("online 64"), "{}", plan(&func));
    check(&func, [1, 1, 8], &[(16, 100)], false);
}

/// The elements of a tile outside of a row read the last one, whose value counts once.
#[test]
fn infinite_values_of_the_last_key() {
    for (dtype, name) in [(DType::FLOAT32, "float32"), (DType::FLOAT16, "float16")] {
        let func = attention("1, 16, 1, 16", "1, 65, 1, 16", "q, k, v", name);
        let target = Target::baseline();
        let kernel = lower_gpu(&func, hammock_kernels::Options::new(&target), &Gpu::DEFAULT).unwrap();
        let tensor = |(i, n): (usize, i64)| tensor_of(dtype, &[1, n, 1, 16], i).unwrap();
        let mut args: Vec<Arg> = [16, 65, 65, 16].into_iter().enumerate().map(tensor).collect();
        let mut values: Vec<f32> = vec![1.0; 65 * 16];
        values[64 * 16..].fill(f32::INFINITY);
        let bytes: Vec<u8> = match dtype {
            DType::FLOAT16 => values.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        args[2] = Arg::Tensor(Tensor::from_bytes(dtype, &[1, 65, 1, 16], &bytes).unwrap());
        let mut reports = Vec::new();
        compare_on(&func, &kernel, args, "infinite values", &mut reports);
        assert!(reports.is_empty(), "{}", reports.join("\n"));
    }
}

/// A block for each query and each split of the keys; a second kernel combines the splits.
#[test]
fn few_queries() {
    for (dtype, size, args, keys) in [
        ("float32", 8, "q, k, v", &[0, 1, 530][..]),
        ("float16", 64, CAUSAL, &[70]),
        ("bfloat16", 24, "q, k, v, causal_mask=\"BottomRight\", window_size=60", &[100]),
        ("float32", 17, "q, k, v, scale=0.5", &[70]),
    ] {
        let func = attention(&format!("1, 1, 2, {size}"), &format!("1, \"m\", 2, {size}"), args, dtype);
        assert!(plan(&func).contains("rows, 1 at a time, online 256 in 64 splits:"), "{}", plan(&func));
        let lengths: Vec<(i64, i64)> = keys.iter().map(|m| (1, *m)).collect();
        check(&func, [2, 2, size], &lengths, false);
    }
    let func = attention("1, 3, 1, 16", "1, 100, 1, 16", CAUSAL, "float32");
    assert!(plan(&func).contains("rows, 1 at a time, online 256:"), "{}", plan(&func));
    check(&func, [1, 1, 16], &[(3, 100)], false);
}

/// All heads of the query share the keys: the rows of a tile are queries, or heads if there are few queries.
#[test]
fn one_head_of_keys() {
    let func = attention("1, \"n\", 4, 16", "1, \"m\", 1, 16", CAUSAL, "float32");
    assert!(plan(&func).contains("rows, 32 at a time, online 64"), "{}", plan(&func));
    check(&func, [4, 1, 16], &[(17, 5)], false);
    let func = attention("1, 1, 20, 16", "1, \"m\", 1, 16", CAUSAL, "float32");
    assert!(plan(&func).contains("rows, 16 at a time, online 64 in 64 splits:"), "{}", plan(&func));
    check(&func, [20, 1, 16], &[(1, 130)], false);
    let func = attention("1, 1, 4, 16", "1, \"m\", 2, 16", "q, k, v", "float32");
    assert!(plan(&func).contains("rows, 1 at a time, online 256 in 54 splits:"), "{}", plan(&func));
    check(&func, [4, 2, 16], &[(1, 9)], false);
}

/// Tensor cores multiply tiles of 64, 32 or 16 queries; scores and sums are in registers.
#[test]
fn tensor_cores() {
    const WINDOW: &str = "q, k, v, causal_mask=\"TopLeft\", window_size=20";
    for (q, kv, args, dtype, rows, lengths) in [
        (
            "1, \"n\", 2, 16",
            "1, \"m\", 2, 16",
            "q, k, v",
            "float16",
            "64 at a time, online 64 in 64 splits on",
            &[(1, 0), (3, 70)][..],
        ),
        (
            "1, \"n\", 2, 32",
            "1, \"m\", 1, 32",
            CAUSAL,
            "bfloat16",
            "64 at a time, online 64 in 64 splits on",
            &[(70, 65)],
        ),
        (
            "1, \"n\", 1, 16",
            "1, \"m\", 1, 16",
            WINDOW,
            "float16",
            "64 at a time, online 64 in 64 splits on",
            &[(150, 200)],
        ),
        ("1, 40, 2, 16", "1, 300, 2, 16", WINDOW, "float16", "32 at a time, online 64 in 2 splits on", &[(40, 300)]),
        (
            "1, 1, 16, 64",
            "1, \"m\", 1, 64",
            "q, k, v",
            "float16",
            "16 at a time, online 64 in 64 splits on",
            &[(1, 200)],
        ),
    ] {
        let func = attention(q, kv, args, dtype);
        assert!(plan(&func).contains(&format!("rows, {rows} tensor cores:")), "{}", plan(&func));
        let last = |dims: &str, at: usize| dims.rsplit(", ").nth(at).unwrap().parse::<i64>().unwrap();
        check(&func, [last(q, 1), last(kv, 1), last(q, 0)], lengths, false);
    }
}

/// A dynamic number of queries: the host chooses whether keys are split.
#[test]
fn splits_by_the_number_of_queries() {
    let small = Gpu { sm_count: 4, ..Gpu::DEFAULT };
    for (dtype, args, lengths) in [
        ("float32", CAUSAL, [(1, 140), (65, 20)]),
        ("float16", "q, k, v, causal_mask=\"BottomRight\", window_size=20", [(1, 270), (130, 130)]),
    ] {
        let func = attention("1, \"n\", 1, 16", "1, \"m\", 1, 16", args, dtype);
        check_on(&small, &func, [1, 1, 16], &lengths, false);
    }
}

#[test]
fn heads_that_share_keys() {
    let func = attention("1, \"n\", 4, 16", "1, \"m\", 2, 16", "q, k, v", "float16");
    assert!(plan(&func).contains("online 64"), "{}", plan(&func));
    check(&func, [4, 2, 16], &[(2, 70)], false);
}

#[test]
fn large_heads_and_strict_order_take_other_rules() {
    let func = attention("1, \"n\", 1, 10000", "1, \"m\", 1, 10000", "q, k, v", "float32");
    assert!(!plan(&func).contains("online"), "{}", plan(&func));
    let func = attention("1, \"n\", 1, 16", "1, \"m\", 1, 16", CAUSAL, "float32");
    check(&func, [1, 1, 16], &[(2, 9)], true);
}
