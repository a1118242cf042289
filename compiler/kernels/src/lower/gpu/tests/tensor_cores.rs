//! Contractions on tensor cores.

use super::{check_kernel, int, lowered_with, noalias, plan, plan_error, text};
use hammock_interp::samples::{buffer, function, sblock};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{PrimFunc, Stmt},
};

/// Layout of the second operand: rows along the reduction, or along its results (a dense layer's weight).
#[derive(Clone, Copy, PartialEq)]
enum Weight {
    Plain,
    Transposed,
}

/// `D[b, i, j] = max(sum over k of A[b, i, k] * B[b, k, j] + bias[j], 0)`, with sums of float32,
/// or of int32, which are the results then.
fn layer([batch, m, n, k]: [PrimExpr; 4], dtype: DType, weight: Weight) -> PrimFunc {
    let a = buffer("A", &[batch.clone(), m.clone(), k.clone()], dtype);
    let shape = match weight {
        Weight::Plain => [batch.clone(), k.clone(), n.clone()],
        Weight::Transposed => [batch.clone(), n.clone(), k.clone()],
    };
    let (sum, result) = if dtype.is_floating() { (DType::FLOAT32, dtype) } else { (DType::INT32, DType::INT32) };
    let (b, bias) = (buffer("B", &shape, dtype), buffer("bias", std::slice::from_ref(&n), result));
    let results = [batch.clone(), m.clone(), n.clone()];
    let (c, d) = (buffer("C", &results, sum), buffer("D", &results, result));
    let axes = [('S', batch), ('S', m), ('S', n), ('R', k)];
    let product = sblock("matmul", &axes, |v| {
        let at = v[..3].to_vec();
        let right = match weight {
            Weight::Plain => vec![v[0].clone(), v[3].clone(), v[2].clone()],
            Weight::Transposed => vec![v[0].clone(), v[2].clone(), v[3].clone()],
        };
        let left = PrimExpr::load(&a, vec![v[0].clone(), v[1].clone(), v[3].clone()]);
        let term = left.cast(sum) * PrimExpr::load(&b, right).cast(sum);
        let zero = PrimExpr::constant(0.0, sum);
        (Some(Stmt::store(&c, at.clone(), zero)), Stmt::store(&c, at.clone(), PrimExpr::load(&c, at) + term))
    });
    let epilogue = sblock("relu", &axes[..3], |v| {
        let value = PrimExpr::load(&c, v.to_vec()).cast(result) + PrimExpr::load(&bias, vec![v[2].clone()]);
        (None, Stmt::store(&d, v.to_vec(), value.max(PrimExpr::constant(0.0, result))))
    });
    noalias(function(&[&a, &b, &bias, &d], &[&c], vec![product, epilogue]))
}

/// Plan for blocks of two warps, without vectors in copies.
fn small_plan(weight: Weight) -> String {
    let copy = match weight {
        Weight::Plain => "copy of B as [v3, v2 padded 24] (cooperative_copy: v3 thread, v2 thread)",
        Weight::Transposed => "copy of B as [v2, v3 padded 24] (cooperative_copy: v2 thread, v3 thread)",
    };
    format!(
        "tensor_core_contraction: v0 block, v1 by 32 block, v2 by 16 block, v3 by 16, copy of A as [v1, v3 padded 24] \
         (cooperative_copy: v1 thread, v3 thread), {copy}, v1 by 16 warp, v2 by 16 warp, v3 by 16 unrolled, v1 by 16 \
         unrolled, v2 by 8 unrolled, v1 mma, v2 mma, v3 mma"
    )
}

fn shapes([batch, m, n, k]: [i64; 4], weight: Weight) -> [Vec<i64>; 4] {
    let right = if weight == Weight::Plain { vec![batch, k, n] } else { vec![batch, n, k] };
    [vec![batch, m, k], right, vec![n], vec![batch, m, n]]
}

#[test]
fn dynamic_sizes_have_tails() {
    let sizes = ["b", "m", "n", "k"].map(Var::int64);
    for dtype in [DType::FLOAT16, DType::BFLOAT16] {
        for weight in [Weight::Plain, Weight::Transposed] {
            let func = layer(sizes.each_ref().map(Var::expr), dtype, weight);
            let kernel = lowered_with(&func, Some(&small_plan(weight)));
            for size in [[1, 1, 1, 1], [2, 33, 9, 19], [1, 16, 16, 32], [0, 3, 3, 3], [1, 3, 5, 0]] {
                let shapes = shapes(size, weight);
                check_kernel(&func, &kernel, &shapes.each_ref().map(Vec::as_slice));
            }
        }
    }
}

#[test]
fn constant_sizes_are_copied_in_vectors() {
    let cases =
        [([1, 40, 24, 72], Weight::Plain), ([2, 9, 16, 40], Weight::Transposed), ([1, 70, 33, 20], Weight::Plain)];
    for (size, weight) in cases {
        let func = layer(size.map(int), DType::FLOAT16, weight);
        assert!(plan(&func).contains("tensor_core_contraction"), "{}", plan(&func));
        let kernel = lowered_with(&func, None);
        let shapes = shapes(size, weight);
        check_kernel(&func, &kernel, &shapes.each_ref().map(Vec::as_slice));
    }
}

#[test]
fn plans_have_tiles_of_warps() {
    let func = layer([1, 1024, 1024, 512].map(int), DType::FLOAT16, Weight::Plain);
    assert_eq!(
        plan(&func),
        "tensor_core_contraction: v1 by 128 block, v2 by 64 block, v3 by 64, copy of A as [v1, v3 padded 72] in 3 stages \
         (cooperative_copy: v1 thread, v3 by 8 thread, v3 vector), copy of B as [v3, v2 padded 72] in 3 stages \
         (cooperative_copy: v3 thread, v2 by 8 thread, v2 vector), v1 by 32 warp, v2 by 32 warp, v3 by 16 unrolled, v1 by 16 \
         unrolled, v2 by 8 unrolled, v1 mma, v2 mma, v3 mma\n"
    );
    let kernel = text(&lowered_with(&func, None));
    assert_eq!(kernel.matches("T.ptx_mma(").count(), 4 * 8, "{kernel}");
    assert_eq!(kernel.matches("T.ptx_ldmatrix(").count(), 4 * 4, "{kernel}");
}

#[test]
fn plans_of_warps_are_checked() {
    let n = Var::int64("n");
    let func = layer([int(2), n.expr(), int(64), int(64)], DType::FLOAT16, Weight::Plain);
    let good = small_plan(Weight::Plain);
    let errors = [
        ("v3 by 16, ", "", "tiles of a warp are not whole along `v3`"),
        ("v2 by 16 warp, ", "v2 by 8 warp, ", "tiles of a warp are not whole along `v2`"),
        ("v3 by 16 unrolled, ", "", "`mma` loops are the innermost ones of a warp"),
        ("v1 mma, v2 mma", "v2 mma, v1 mma", "`mma` loops are the innermost ones of a warp"),
        (
            "v2 padded 24",
            "v2 padded 17",
            "tensor cores read this operand from tiles whose rows are multiples of 16 bytes",
        ),
        (
            "copy of A as [v1, v3 padded 24] (cooperative_copy: v1 thread, v3 thread), ",
            "",
            "tensor cores read operands from shared memory",
        ),
        (
            "v1 thread, v3 thread",
            "v1 thread, v3 by 3 thread, v3 vector",
            "vectors of a copy are aligned accesses of up to 16 bytes along its last axis",
        ),
    ];
    for (from, to, error) in errors {
        assert!(good.contains(from), "{from}");
        assert_eq!(plan_error(&func, &good.replace(from, to)), error, "{to}");
    }
    let single = noalias(hammock_interp::samples::matmul(int(64), int(64), int(64), DType::FLOAT32));
    let plan = "tensor_core_contraction: v0 by 16 warp, v1 by 16 warp, v2 by 16 unrolled, v0 by 16 unrolled, v1 by 8 unrolled, v0 mma, v1 mma, v2 mma";
    let error = plan_error(&single, plan);
    assert!(error.starts_with("tensor cores do not compute this stage"), "{error}");
}

#[test]
fn bytes_have_sums_of_int32() {
    for dtype in [DType::INT8, DType::UINT8] {
        for (size, weight) in [([1, 9, 24, 72], Weight::Plain), ([1, 9, 17, 160], Weight::Transposed)] {
            let func = layer(size.map(int), dtype, weight);
            assert!(plan(&func).contains("v3 by 32 unrolled"), "{}", plan(&func));
            let kernel = lowered_with(&func, None);
            let shapes = shapes(size, weight);
            check_kernel(&func, &kernel, &shapes.each_ref().map(Vec::as_slice));
        }
    }
}

#[test]
fn float32_is_multiplied_as_tf32() {
    let sizes = ["b", "m", "n", "k"].map(Var::int64);
    for weight in [Weight::Plain, Weight::Transposed] {
        let func = layer(sizes.each_ref().map(Var::expr), DType::FLOAT32, weight);
        let plan = small_plan(weight).replace("v3 by 16 unrolled", "v3 by 8 unrolled").replace("v3 by 16,", "v3 by 8,");
        let kernel = lowered_with(&func, Some(&plan));
        assert!(text(&kernel).contains("tf32"));
        for size in [[1, 1, 1, 1], [2, 33, 9, 19], [1, 16, 16, 8], [0, 3, 3, 3], [1, 3, 5, 0]] {
            let shapes = shapes(size, weight);
            check_kernel(&func, &kernel, &shapes.each_ref().map(Vec::as_slice));
        }
    }
}
