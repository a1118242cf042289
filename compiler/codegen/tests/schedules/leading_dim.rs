//! Channels-last convolutions with leading-dimension padding against cache-set conflicts, at every vector width,
//! compared with the reference interpreter. Values are small integers, so that sums are exact in any order.

use crate::support::{Kernel, check_kernel, function, rng::Rng, targets};
use hammock_ir::{Tensor, tir::StmtKind};
use hammock_kernels::{Options, lower_with};
use hammock_runtime::Any;
use hammock_target::Target;

struct Convolution {
    size: i64,
    channels: i64,
    results: i64,
    taps: i64,
    step: i64,
    dtype: &'static str,
}

impl Convolution {
    fn padded(&self) -> i64 {
        self.size + self.taps - 1
    }

    fn text(&self) -> String {
        let Convolution { size, channels, results, taps, step, dtype } = self;
        let (padded, before, many) = (self.padded(), taps / 2, (size - 1) / step + 1);
        format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, weight: T.handle, result: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    x = T.match_buffer(data, ({size}, {size}, {channels}), \"{dtype}\")
    w = T.match_buffer(weight, ({taps}, {taps}, {channels}, {results}), \"{dtype}\")
    y = T.match_buffer(result, ({many}, {many}, {results}), \"{dtype}\")
    pad = T.sblock_alloc_buffer(({padded}, {padded}, {channels}), \"{dtype}\")
    for i, j, c in T.grid({padded}, {padded}, {channels}):
        with T.sblock(\"pad\"):
            vi, vj, vc = T.axis.remap(\"SSS\", [i, j, c])
            pad[vi, vj, vc] = T.if_then_else({before} <= vi and vi < {before} + {size} and {before} <= vj and vj < {before} + {size}, x[vi - {before}, vj - {before}, vc], T.{dtype}(0))
    for i, j, o, c, r, s in T.grid({many}, {many}, {results}, {channels}, {taps}, {taps}):
        with T.sblock(\"conv\"):
            vi, vj, vo, vc, vr, vs = T.axis.remap(\"SSSRRR\", [i, j, o, c, r, s])
            with T.init():
                y[vi, vj, vo] = T.{dtype}(0)
            y[vi, vj, vo] = y[vi, vj, vo] + pad[vi * {step} + vr, vj * {step} + vs, vc] * w[vr, vs, vc, vo]
"
        )
    }
}

fn numbers(shape: &[i64], dtype: &str, rng: &mut Rng) -> Any {
    let values = (0..shape.iter().product::<i64>()).map(|_| rng.between(-3, 3) as f32);
    let tensor = match dtype {
        "float32" => Tensor::from_slice(shape, &values.collect::<Vec<f32>>()),
        _ => Tensor::from_slice(shape, &values.map(f64::from).collect::<Vec<f64>>()),
    };
    tensor.unwrap().into()
}

/// Returns the number of elements of the largest buffer of a kernel.
fn max_elements(text: &str, target: &Target) -> i64 {
    let flat = lower_with(&function(text), Options::new(target)).unwrap();
    let mut most = 0;
    flat.func.body.walk(&mut |stmt| {
        if let StmtKind::Alloc(buffer, _) = &stmt.kind {
            most = most.max(buffer.shape.iter().map(|size| size.as_int().unwrap()).product());
        }
    });
    most
}

#[test]
fn padded_rows_match_the_interpreter() {
    let mut rng = Rng::new(0);
    let mut parted = 0;
    for (dtype, bytes, whole) in [("float32", 4, 512), ("float64", 8, 256)] {
        for channels in [whole / 2, whole - 1, whole, whole + 1] {
            let (size, results, taps) = (rng.between(3, 4), *rng.pick(&[2, 9]), rng.between(2, 3));
            let convolution = Convolution { size, channels, results, taps, step: rng.between(1, 2), dtype };
            let text = convolution.text();
            let shapes: [&[i64]; 2] = [&[size, size, channels], &[taps, taps, channels, results]];
            let inputs = shapes.map(|shape| numbers(shape, dtype, &mut rng));
            let crowded = channels * bytes * convolution.step % 2048 == 0;
            let rows = convolution.padded() * convolution.padded();
            let (func, room) = (function(&text), if crowded { 64 / bytes } else { 0 });
            parted += usize::from(crowded);
            for target in targets() {
                println!("vectors of {} bytes\n{text}", target.vector_bytes);
                assert_eq!(max_elements(&text, &target), rows * (channels + room));
                check_kernel(&Kernel::planned(&func, Options::new(&target)), &inputs);
            }
        }
    }
    assert!((2..8).contains(&parted), "some rows get room");
}

/// Text of a matmul with a residual connection around it: the epilogue of the sums loads the padded data too.
const RESIDUAL: &str = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, weight: T.handle, result: T.handle):
    T.func_attr({\"tirx.noalias\": True})
    x = T.match_buffer(data, (16, 512), \"float32\")
    w = T.match_buffer(weight, (512, 512), \"float32\")
    y = T.match_buffer(result, (16, 512), \"float32\")
    t = T.sblock_alloc_buffer((16, 512), \"float32\")
    c = T.sblock_alloc_buffer((16, 512), \"float32\")
    for i, j in T.grid(16, 512):
        with T.sblock(\"t\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            t[vi, vj] = T.max(x[vi, vj], T.float32(-1)) * T.max(x[vi, vj], T.float32(-2)) + T.floor(x[vi, vj] * T.float32(0.5))
    for i, j, k in T.grid(16, 512, 512):
        with T.sblock(\"c\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                c[vi, vj] = T.float32(0)
            c[vi, vj] = c[vi, vj] + t[vi, vk] * w[vk, vj]
    for i, j in T.grid(16, 512):
        with T.sblock(\"y\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            y[vi, vj] = c[vi, vj] + t[vi, vj]
";

#[test]
fn epilogues_load_padded_rows() {
    let mut rng = Rng::new(1);
    let inputs = [[16, 512], [512, 512]].map(|shape| numbers(&shape, "float32", &mut rng));
    let target = Target::host();
    assert_eq!(max_elements(RESIDUAL, &target), 16 * (512 + 16), "the rows of the data are padded");
    check_kernel(&Kernel::planned(&function(RESIDUAL), Options::new(&target)), &inputs);
}
