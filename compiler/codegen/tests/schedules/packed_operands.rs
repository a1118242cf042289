//! Matmuls with padded packed operands, at every vector width, compared with the reference interpreter. Values are
//! small integers, so that sums are exact in any order.

use crate::support::{Kernel, check_kernel, function, rng::Rng, targets};
use hammock_ir::{DType, Tensor};
use hammock_kernels::{Options, schedule::Plans};
use hammock_runtime::Any;
use hammock_target::Target;

/// Sizes around vectors and tiles.
const SIZES: [i64; 9] = [2, 5, 7, 8, 15, 17, 31, 33, 50];

/// Plans with operands padded to full vectors of results, of the reduction axis, and of both; with longer rows; with
/// packed computed values; with split reductions, outside of the tile and in it.
const PLANS: [&str; 8] = [
    "outer-product: vj by 32 parallel 1, copy of x1 as [vk, vj padded 16] (elementwise: vk, vj), vi by 3, vk, vi unrolled, \
     vj vector",
    "outer-product: vi, copy of x1 as [vk padded 3, vj padded 32] (elementwise: vk, vj), vk by 7, vj by 16, vk, vj vector",
    "inner-product: copy of x1 as [vj, vk padded 16] (elementwise: vj, vk), vi by 2, copy of x0 as [vi, vk padded 8] \
     (elementwise: vi, vk), vj by 3, vk by 8, vi unrolled, vj unrolled, vk vector",
    "inner-product: copy of x1 as [vj padded 2, vk padded 16] (elementwise: vj, vk), copy of x0 as [vi, vk padded 16] \
     (elementwise: vi, vk), vk by 16, vi, vj, vk by 16, vk vector",
    "inner-product: copy of x1 as [vj padded 5, vk padded 9] (elementwise: vj, vk), vi, vj, vk by 8, vk vector",
    "inner-product: vi, copy of operand as [vk padded 8] (elementwise: vk), vj, copy of x1 as [vk padded 8] (elementwise: \
     vk), vk by 8, vk vector",
    "outer-product: vj by 16, copy of x1 as [vk, vj padded 16] (elementwise: vk, vj), vi, vk by 6, vk, vj vector",
    "inner-product: copy of x1 as [vj, vk padded 8] (elementwise: vj, vk), copy of x0 as [vi, vk padded 8] (elementwise: vi, \
     vk), vi, vj, vk by 16, vk by 8, vk vector",
];

/// `y = f(x0) x1^T` with sizes in the order `i`, `j`, `k`; true marks symbolic sizes.
fn product(sizes: [(i64, bool); 3], dtype: &str, factor: &str) -> String {
    let names = ["i", "j", "k"];
    let size = |at: usize| if sizes[at].1 { format!("n_{}", names[at]) } else { sizes[at].0.to_string() };
    let symbols = (0..3).filter(|at| sizes[*at].1).map(|at| format!("    n_{} = T.int64()\n", names[at]));
    let [i, j, k] = [0, 1, 2].map(size);
    let symbols: String = symbols.collect();
    format!(
        "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n\
         def f(x0_: T.handle, x1_: T.handle, y_: T.handle):\n    T.func_attr({{\"tirx.noalias\": True}})\n{symbols}    \
         x0 = T.match_buffer(x0_, ({i}, {k}), \"{dtype}\")\n    x1 = T.match_buffer(x1_, ({j}, {k}), \"{dtype}\")\n    \
         y = T.match_buffer(y_, ({i}, {j}), \"{dtype}\")\n    for i, j, k in T.grid({i}, {j}, {k}):\n        \
         with T.sblock(\"stage\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            \
         with T.init():\n                y[vi, vj] = T.{dtype}(0)\n            \
         y[vi, vj] = y[vi, vj] + {factor} * x1[vj, vk]\n"
    )
}

fn numbers(shape: [i64; 2], dtype: &str, rng: &mut Rng) -> Any {
    let values: Vec<i64> = (0..shape[0] * shape[1]).map(|_| rng.between(1, 5)).collect();
    let bytes: Vec<u8> = match dtype {
        "float64" => values.iter().flat_map(|v| (*v as f64).to_le_bytes()).collect(),
        "int32" => values.iter().flat_map(|v| (*v as i32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
    };
    Tensor::from_bytes(dtype.parse::<DType>().unwrap(), &shape, &bytes).unwrap().into()
}

#[test]
fn matmuls_with_padded_copies() {
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        for plan in PLANS {
            // Packing pays only if the copy is reused, and split reductions need a constant part size.
            let of_one = !plan.contains("copy of x0") && !plan.contains("copy of operand");
            let in_parts = plan.matches("vk by").count() > usize::from(plan.contains("vk vector"));
            let symbolic = [false, of_one && rng.chance(30), !in_parts && rng.chance(30)];
            let sizes = symbolic.map(|symbolic| (*rng.pick(&SIZES), symbolic));
            let dtype = *rng.pick(&["float32", "float64", "int32"]);
            let factor = if plan.contains("operand") { "(x0[vi, vk] + x0[vi, vk])" } else { "x0[vi, vk]" };
            let func = function(&product(sizes, dtype, factor));
            let [i, j, k] = sizes.map(|size| size.0);
            let inputs = [numbers([i, k], dtype, &mut rng), numbers([j, k], dtype, &mut rng)];
            let plans = Plans::read(&format!("f:\n    {plan}\n")).unwrap();
            for target in targets() {
                println!("{sizes:?} {dtype}, vectors of {} bytes\n{plan}", target.vector_bytes);
                let options = Options { plan: plans.of("f"), ..Options::new(&target) };
                check_kernel(&Kernel::planned(&func, options), &inputs);
            }
        }
    }
}

/// Packed int8 groups, padded along the results.
#[test]
fn packed_groups_padded_to_full_vectors() {
    let text = "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n\
        def f(x0: T.Buffer((5, 11), \"uint8\"), x1: T.Buffer((11, 21), \"int8\"), y: T.Buffer((5, 21), \"int32\")):\n    \
        T.func_attr({\"tirx.noalias\": True})\n    for i, j, k in T.grid(5, 21, 11):\n        with T.sblock(\"stage\"):\n            \
        vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                y[vi, vj] = 3\n            \
        y[vi, vj] = y[vi, vj] + T.Cast(\"int32\", x0[vi, vk]) * T.Cast(\"int32\", x1[vk, vj])\n";
    let plan = "f:\n    dot-product: copy of x1 as [vk by 4, vj padded 16] (elementwise: vk, vj), vi by 2, vk by 4, vi \
                unrolled, vj vector, vk dot\n";
    let func = function(text);
    let plans = Plans::read(plan).unwrap();
    let bytes = |dtype, shape: &[i64]| {
        let values: Vec<u8> = (0..shape.iter().product::<i64>()).map(|n| (n * 37 % 251) as u8).collect();
        Any::from(Tensor::from_bytes(dtype, shape, &values).unwrap())
    };
    let inputs = [bytes(DType::uint(8), &[5, 11]), bytes(DType::int(8), &[11, 21])];
    for target in [Target::host(), Target::avx2(), Target::baseline()] {
        if target.vector_bytes <= Target::host().vector_bytes {
            let options = Options { plan: plans.of("f"), ..Options::new(&target) };
            check_kernel(&Kernel::planned(&func, options), &inputs);
        }
    }
}

/// Tiles of rows that prefetch from an operand in packed layout: parts of the reduction, whole blocks, and several lines
/// for each tile. The last prefetches are after the end of the operand.
#[test]
fn tiles_prefetch_packed_operands() {
    let text = |rows: &str| {
        let symbol = if rows == "n" { "    n = T.int64()\n" } else { "" };
        format!(
            "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n\
             def f(x0_: T.handle, x1_: T.handle, y_: T.handle):\n    T.func_attr({{\"tirx.noalias\": True}})\n{symbol}    \
             x0 = T.match_buffer(x0_, ({rows}, 21), \"float32\")\n    x1 = T.match_buffer(x1_, (3, 21, 64), \"float32\")\n    \
             y = T.match_buffer(y_, ({rows}, 150), \"float32\")\n    for i, j, k in T.grid({rows}, 150, 21):\n        \
             with T.sblock(\"stage\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            \
             with T.init():\n                y[vi, vj] = T.float32(0)\n            \
             y[vi, vj] = y[vi, vj] + x0[vi, vk] * x1[vj // 64, vk, vj % 64]\n"
        )
    };
    let plans = [
        "outer-product: vj by 64, vk by 8, vi by 3 prefetch, vk, vi unrolled, vj vector",
        "outer-product: vj by 64, vi by 2 prefetch, vk, vi unrolled, vj vector",
        "outer-product: vj by 32, vk by 7, vi by 6 prefetch, vk, vi unrolled, vj vector",
    ];
    let mut rng = Rng::new(1);
    for (plan, rows) in plans.iter().flat_map(|plan| ["7", "n"].map(|rows| (plan, rows))) {
        let func = function(&text(rows));
        let x1: Vec<f32> = (0..3 * 21 * 64).map(|_| rng.between(1, 5) as f32).collect();
        let inputs = [numbers([7, 21], "float32", &mut rng), Tensor::from_slice(&[3, 21, 64], &x1).unwrap().into()];
        let plans = Plans::read(&format!("f:\n    {plan}\n")).unwrap();
        for target in targets() {
            let options = Options { plan: plans.of("f"), ..Options::new(&target) };
            check_kernel(&Kernel::planned(&func, options), &inputs);
        }
    }
}
