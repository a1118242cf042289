//! Strided convolutions over padded data in polyphase layout: random windows, strides, dilations and paddings at every
//! vector width, compared with the reference interpreter. Values are small integers, so that sums are exact in any
//! order.

use crate::support::{Kernel, check_kernel, floats, function, plan_edits::check_plan_edits, rng::Rng, seeds, targets};
use hammock_ir::tir::StmtKind;
use hammock_kernels::{Options, lower_with, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;

/// A sliding window along an axis.
struct Window {
    size: i64,
    taps: i64,
    step: i64,
    dilation: i64,
    before: i64,
    padded: i64,
}

impl Window {
    fn new(rng: &mut Rng) -> Window {
        let (taps, dilation) = (rng.between(1, 8), *rng.pick(&[1, 1, 2, 3]));
        let (step, before) = (rng.between(1, 5), rng.between(0, 4));
        let reach = (taps - 1) * dilation + 1;
        let size = *rng.pick(&[1, 5, 8, 14, 19, 33, 40]);
        let padded = (size + before + rng.between(0, 4)).max(reach);
        Window { size, taps, step, dilation, before, padded }
    }

    fn results(&self) -> i64 {
        (self.padded - (self.taps - 1) * self.dilation - 1) / self.step + 1
    }

    fn index(&self, at: &str, tap: &str) -> String {
        format!("{at} * {} + {tap} * {}", self.step, self.dilation)
    }

    fn inside(&self, at: &str) -> String {
        format!("{} <= {at} and {at} < {}", self.before, self.before + self.size)
    }
}

/// A depthwise convolution of `c` channels, or three sums over them. Results are float32.
fn convolution([h, w]: &[Window; 2], c: &str, sums: bool, dtype: &str) -> String {
    let (taps, results) = (format!("{}, {}", h.taps, w.taps), format!("{}, {}", h.results(), w.results()));
    let (size, padded) = (format!("{}, {}", h.size, w.size), format!("{}, {}", h.padded, w.padded));
    let (o, many, more) = if sums { ("o", "3", ["c, ", "vc, ", "R", &format!("{c}, ")]) } else { ("c", c, [""; 4]) };
    let [own, axis, kind, count] = more;
    let symbol = if c == "n" { "    n = T.int64()\n" } else { "" };
    let inside = format!("{} and {}", h.inside("vi"), w.inside("vj"));
    let (row, column) = (h.index("vi", "vr"), w.index("vj", "vs"));
    let wide = |load: String| if dtype == "float32" { load } else { format!("T.Cast(\"float32\", {load})") };
    let [x, k] = [format!("pad[vc, {row}, {column}]"), format!("x1[v{o}, {axis}vr, vs]")].map(wide);
    format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, weight: T.handle, result: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
{symbol}    x0 = T.match_buffer(data, ({c}, {size}), \"{dtype}\")
    x1 = T.match_buffer(weight, ({many}, {count}{taps}), \"{dtype}\")
    y = T.match_buffer(result, ({many}, {results}))
    pad = T.sblock_alloc_buffer(({c}, {padded}), \"{dtype}\")
    for c, i, j in T.grid({c}, {padded}):
        with T.sblock(\"pad\"):
            vc, vi, vj = T.axis.remap(\"SSS\", [c, i, j])
            pad[vc, vi, vj] = T.if_then_else({inside}, x0[vc, vi - {}, vj - {}], T.{dtype}(0))
    for {o}, i, j, {own}r, s in T.grid({many}, {results}, {count}{taps}):
        with T.sblock(\"conv\"):
            v{o}, vi, vj, {axis}vr, vs = T.axis.remap(\"SSS{kind}RR\", [{o}, i, j, {own}r, s])
            with T.init():
                y[v{o}, vi, vj] = T.float32(0)
            y[v{o}, vi, vj] = y[v{o}, vi, vj] + {x} * {k}
",
        h.before, w.before,
    )
}

fn numbers(shape: &[i64], dtype: &str, rng: &mut Rng) -> Any {
    floats(dtype, shape, (0..shape.iter().product()).map(|_| rng.between(-3, 3)))
}

#[test]
fn strided_convolutions_match_the_interpreter() {
    let mut polyphase = 0;
    for seed in seeds(8) {
        let mut rng = Rng::new(seed);
        let windows = [Window::new(&mut rng), Window::new(&mut rng)];
        let (channels, symbolic, sums) = (rng.between(1, 4), rng.chance(20), rng.chance(30));
        let dtype = *rng.pick(&["float32", "float32", "float16", "bfloat16"]);
        let c = if symbolic { "n".to_owned() } else { channels.to_string() };
        let text = convolution(&windows, &c, sums, dtype);
        let [h, w] = &windows;
        let weights = [&[3, channels][usize::from(!sums)..], &[h.taps, w.taps]].concat();
        let inputs = [numbers(&[channels, h.size, w.size], dtype, &mut rng), numbers(&weights, dtype, &mut rng)];
        let func = function(&text);
        for target in targets() {
            let options = Options { strict_order: rng.chance(30), ..Options::new(&target) };
            println!("case {seed}, vectors of {} bytes\n{text}", target.vector_bytes);
            check_kernel(&Kernel::planned(&func, options), &inputs);
            check_plan_edits(&func, options, &inputs, &mut rng);
            // The polyphase layout has one more axis.
            polyphase += usize::from(plan_text(&func, options).unwrap().contains("#2"));
        }
    }
    assert!(polyphase > 0, "some data has a polyphase layout");
}

/// Three channels of a symbolic number of images, with stride two.
const IMAGES: &str = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, weight: T.handle, result: T.handle):
    T.func_attr({\"tirx.noalias\": True})
    n = T.int64()
    x0 = T.match_buffer(data, (n, 3, 19, 23))
    x1 = T.match_buffer(weight, (5, 3, 3, 3))
    y = T.match_buffer(result, (n, 5, 10, 12))
    pad = T.sblock_alloc_buffer((n, 3, 21, 25))
    for b, c, i, j in T.grid(n, 3, 21, 25):
        with T.sblock(\"pad\"):
            vb, vc, vi, vj = T.axis.remap(\"SSSS\", [b, c, i, j])
            pad[vb, vc, vi, vj] = T.if_then_else(1 <= vi and vi < 20 and 1 <= vj and vj < 24, x0[vb, vc, vi - 1, vj - 1], T.float32(0))
    for b, o, i, j, c, r, s in T.grid(n, 5, 10, 12, 3, 3, 3):
        with T.sblock(\"conv\"):
            vb, vo, vi, vj, vc, vr, vs = T.axis.remap(\"SSSSRRR\", [b, o, i, j, c, r, s])
            with T.init():
                y[vb, vo, vi, vj] = T.float32(0)
            y[vb, vo, vi, vj] = y[vb, vo, vi, vj] + pad[vb, vc, vi * 2 + vr, vj * 2 + vs] * x1[vo, vc, vr, vs]
";

#[test]
fn symbolic_batches_have_a_polyphase_layout() {
    let mut rng = Rng::new(0);
    let func = function(IMAGES);
    for target in targets() {
        let options = Options::new(&target);
        assert!(plan_text(&func, options).unwrap().contains("#2"), "its layout is polyphase");
        let kernel = Kernel::planned(&func, options);
        for images in [0, 1, 4] {
            check_kernel(
                &kernel,
                &[numbers(&[images, 3, 19, 23], "float32", &mut rng), numbers(&[5, 3, 3, 3], "float32", &mut rng)],
            );
        }
    }
}

/// Padding upcasts float16 that is loaded often, but not bfloat16, which has dot products.
#[test]
fn padding_upcasts_once() {
    let padded_bits = |dtype| {
        let window = || Window { size: 14, taps: 3, step: 1, dilation: 1, before: 1, padded: 16 };
        let text = convolution(&[window(), window()], "16", true, dtype);
        let flat = lower_with(&function(&text), Options::new(&Target::avx512())).unwrap();
        let mut buffers = Vec::new();
        flat.func.body.walk(&mut |stmt| {
            if let StmtKind::Alloc(buffer, _) = &stmt.kind {
                buffers.push((buffer.name.to_string(), buffer.dtype.bits));
            }
        });
        buffers.into_iter().find(|(name, _)| name.starts_with("pad")).unwrap().1
    };
    assert_eq!(padded_bits("float16"), 32);
    assert_eq!(padded_bits("bfloat16"), 16);
}
