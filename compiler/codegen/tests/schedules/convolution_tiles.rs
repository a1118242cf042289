//! Register tiles of convolutions over contiguous channels, whose weights exceed the L1 cache: tails of rows and channels,
//! strides and dilation at every vector width, compared with the reference interpreter. Values are small integers, so
//! that sums are exact in any order.

use crate::support::{Kernel, check_kernel, floats, function, rng::Rng, targets};
use hammock_kernels::{Options, plan_text};
use hammock_target::{Caches, Target};

/// Sizes along an axis of the window.
struct Axis {
    results: i64,
    taps: i64,
    step: i64,
    dilation: i64,
}

impl Axis {
    fn new(results: i64, taps: i64, step: i64, dilation: i64) -> Axis {
        Axis { results, taps, step, dilation }
    }

    fn size(&self) -> i64 {
        (self.results - 1) * self.step + (self.taps - 1) * self.dilation + 1
    }

    fn index(&self, at: &str, tap: &str) -> String {
        format!("{at} * {} + {tap} * {}", self.step, self.dilation)
    }
}

fn convolution([h, w]: &[Axis; 2], from: i64, to: i64) -> String {
    let (row, column) = (h.index("vi", "vr"), w.index("vj", "vs"));
    format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, weight: T.handle, result: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    x0 = T.match_buffer(data, ({}, {}, {from}))
    x1 = T.match_buffer(weight, ({}, {}, {from}, {to}))
    y = T.match_buffer(result, ({}, {}, {to}))
    for i, j, o, c, r, s in T.grid({}, {}, {to}, {from}, {}, {}):
        with T.sblock(\"conv\"):
            vi, vj, vo, vc, vr, vs = T.axis.remap(\"SSSRRR\", [i, j, o, c, r, s])
            with T.init():
                y[vi, vj, vo] = T.float32(0)
            y[vi, vj, vo] = y[vi, vj, vo] + x0[{row}, {column}, vc] * x1[vr, vs, vc, vo]
",
        h.size(),
        w.size(),
        h.taps,
        w.taps,
        h.results,
        w.results,
        h.results,
        w.results,
        h.taps,
        w.taps,
    )
}

#[test]
fn convolutions_of_many_rows_match_the_interpreter() {
    let caches = Caches { l1: 1 << 10, l2: 16 << 10, l3: 1 << 20 };
    let (mut in_order, mut tall) = (0, 0);
    let mut rng = Rng::new(0);
    for (axes, from, to, strict_order) in [
        ([Axis::new(34, 3, 1, 1), Axis::new(21, 3, 1, 1)], 5, 37, false),
        ([Axis::new(2, 1, 1, 1), Axis::new(40, 3, 2, 2)], 9, 64, false),
        ([Axis::new(4, 3, 1, 2), Axis::new(14, 2, 1, 1)], 8, 96, false),
        ([Axis::new(33, 2, 2, 1), Axis::new(17, 3, 2, 1)], 9, 16, false),
        ([Axis::new(33, 2, 1, 1), Axis::new(9, 3, 1, 1)], 6, 15, true),
    ] {
        let text = convolution(&axes, from, to);
        let [h, w] = &axes;
        let mut numbers = |shape: &[i64]| {
            let values = (0..shape.iter().product()).map(|_| rng.between(-3, 3));
            floats("float32", shape, values)
        };
        let inputs = [numbers(&[h.size(), w.size(), from]), numbers(&[h.taps, w.taps, from, to])];
        let func = function(&text);
        for target in targets() {
            let target = Target { caches, ..target };
            let options = Options { strict_order, ..Options::new(&target) };
            println!("vectors of {} bytes\n{text}", target.vector_bytes);
            let plan = plan_text(&func, options).unwrap();
            check_kernel(&Kernel::planned(&func, options), &inputs);
            let is_in_order = plan.contains("vs, vc,");
            assert!(!(strict_order && is_in_order), "strict order is that of the program:\n{plan}");
            in_order += usize::from(is_in_order);
            tall += usize::from((9..=16).any(|rows| plan.contains(&format!("vj by {rows},"))));
        }
    }
    println!("{in_order} in memory order, {tall} with tiles of more than 8 rows");
    assert!(in_order > 0 && (tall > 0 || Target::host().vector_bytes < 64));
}
