//! Precomputed tables of floating-point values that depend only on loop indices, compared with the reference
//! interpreter.

use crate::support::{Kernel, check_kernel, function, rng::Rng};
use hammock_ir::Tensor;
use hammock_kernels::{Options, plan_text};
use hammock_target::Target;

/// Rows that are resampled with weights: sums of three elements.
const TEXT: &str = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x_: T.handle, y_: T.handle):
    n = T.int64()
    x = T.match_buffer(x_, ({rows}, 3, {from}))
    y = T.match_buffer(y_, ({rows}, {to}))
    T.func_attr({\"tirx.noalias\": True})
    for i, j, k in T.grid({rows}, {to}, 3):
        with T.sblock(\"resampled\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                y[vi, vj] = T.float32(0)
            y[vi, vj] = y[vi, vj] + x[vi, vk, T.max(T.min(T.Cast(\"int64\", T.floor((T.Cast(\"float32\", vj) + T.float32(0.5)) * T.float32(0.37) - T.float32(0.5))), {from} - 1), 0)] * (T.Cast(\"float32\", vj) * T.float32(0.25) - T.floor(T.Cast(\"float32\", vj) * T.float32(0.25)))
";

#[test]
fn tables_match_the_interpreter() {
    for (rows, symbolic, to, is_kept) in [(40, false, 33, true), (40, true, 33, true), (2, false, 50, false)] {
        let text = TEXT.replace("{rows}", if symbolic { "n" } else { "{number}" });
        let text = text.replace("{number}", &rows.to_string()).replace("{from}", "13").replace("{to}", &to.to_string());
        let func = function(&text);
        let mut rng = Rng::new(rows as u64);
        let values: Vec<f32> = (0..rows * 3 * 13).map(|_| rng.between(-9, 9) as f32).collect();
        let inputs = [Tensor::from_slice(&[rows, 3, 13], &values).unwrap().into()];
        for target in [Target::host(), Target::baseline()] {
            let options = Options::new(&target);
            check_kernel(&Kernel::planned(&func, options), &inputs);
            let plan = plan_text(&func, options).unwrap();
            assert_eq!(plan.contains("resampled_table: vj"), is_kept, "{plan}");
        }
    }
}
