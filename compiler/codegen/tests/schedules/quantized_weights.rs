//! Matmuls with weight-only quantization, of random sizes, layouts and groups, compared with the reference interpreter.
//! Values are chosen so that sums are exact in any order.

use crate::support::{Kernel, check_kernel, function, plan_edits::check_plan_edits, rng::Rng, seeds, targets};
use hammock_ir::Tensor;
use hammock_kernels::{Options, plan_text};
use hammock_runtime::Any;

const ROWS: [i64; 8] = [1, 1, 2, 3, 5, 17, 33, 64];
const SIZES: [i64; 11] = [1, 7, 8, 16, 24, 31, 40, 64, 67, 96, 130];
/// Maximum number of multiply-adds of a case, so that the interpreter is fast enough.
const MAX_COMBINED: i64 = 40_000;

/// Storage formats: dtype, number of weights per element, and zero point.
const FORMATS: [(&str, i64, i64); 4] = [("int8", 1, 3), ("uint8", 1, 128), ("uint8", 2, 7), ("uint32", 8, 7)];

struct Weights {
    rows: i64,
    columns: i64,
    terms: i64,
    format: (&'static str, i64, i64),
    /// Group size along the reduction axis, per scale.
    group: i64,
    /// True if the reduction axis is contiguous, rather than the columns.
    terms_last: bool,
    /// True if elements of several weights have these along the reduction axis, even if it is not contiguous: first those
    /// in the low bits of all bytes.
    packs_terms: bool,
}

impl Weights {
    fn random(rng: &mut Rng) -> Weights {
        let mut own = Weights {
            rows: *rng.pick(&ROWS),
            columns: *rng.pick(&SIZES),
            terms: *rng.pick(&SIZES),
            format: *rng.pick(&FORMATS),
            group: *rng.pick(&[1000, 32, 16, 8]),
            terms_last: rng.chance(60),
            packs_terms: rng.chance(50),
        };
        own.packs_terms &= !own.terms_last;
        while own.rows * own.columns * own.terms > MAX_COMBINED {
            own.terms = own.terms / 2 + 1;
            own.columns = own.columns / 2 + 1;
        }
        own
    }

    /// True if weights with their scales take at most two thirds of the memory of float32.
    fn is_narrow(&self) -> bool {
        let bits = |shape: &[i64], bits: i64| shape.iter().product::<i64>() * bits;
        let [weights, scales] = self.shapes();
        let stored = if self.format.0 == "uint32" { 32 } else { 8 };
        3 * (bits(&weights, stored) + bits(&scales, 32)) <= 2 * bits(&[self.terms, self.columns], 32)
    }

    /// Shapes of the weights, and of their scales.
    fn shapes(&self) -> [Vec<i64>; 2] {
        let up = |n: i64, by: i64| (n + by - 1) / by;
        match self.terms_last {
            true => [vec![self.columns, up(self.terms, self.format.1)], vec![self.columns, up(self.terms, self.group)]],
            false => {
                let [terms, columns] = if self.packs_terms { [self.format.1, 1] } else { [1, self.format.1] };
                let weights = vec![up(self.terms, terms), up(self.columns, columns)];
                [weights, vec![up(self.terms, self.group), self.columns]]
            }
        }
    }

    fn text(&self) -> String {
        let Weights { rows, columns, terms, format: (dtype, several, zero), group, .. } = self;
        let [w, s] = self.shapes();
        let (last, first) = if self.terms_last { ("vk", "vj") } else { ("vj", "vk") };
        let at = if self.terms_last { "vj, vk" } else { "vk, vj" };
        let scale = if self.terms_last { format!("vj, vk // {group}") } else { format!("vk // {group}, vj") };
        let number = match several {
            1 => format!("T.Cast(\"float32\", W[{first}, {last}])"),
            _ if self.packs_terms => {
                let bytes = several / 2;
                format!(
                    "T.Cast(\"float32\", T.Cast(\"int32\", T.bitwise_and(T.shift_right(W[vk // {several}, vj], \
                     T.Cast(\"{dtype}\", vk % {bytes} * 8 + vk % {several} // {bytes} * 4)), T.{dtype}(15))))"
                )
            }
            _ => format!(
                "T.Cast(\"float32\", T.bitwise_and(T.shift_right(W[{first}, {last} // {several}], \
                 T.Cast(\"{dtype}\", {last} % {several}) * T.{dtype}(4)), T.{dtype}(15)))"
            ),
        };
        let d = if self.terms_last { format!("{columns}, {terms}") } else { format!("{terms}, {columns}") };
        format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.handle, w: T.handle, s: T.handle, y: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    X = T.match_buffer(x, ({rows}, {terms}), \"float32\")
    W = T.match_buffer(w, ({}, {}), \"{dtype}\")
    S = T.match_buffer(s, ({}, {}), \"float32\")
    Y = T.match_buffer(y, ({rows}, {columns}), \"float32\")
    D = T.sblock_alloc_buffer(({d}))
    for j, k in T.grid({columns}, {terms}):
        with T.sblock(\"weights\"):
            vj, vk = T.axis.remap(\"SS\", [j, k])
            D[{at}] = ({number} - T.float32({zero})) * S[{scale}]
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.sblock(\"matmul\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * D[{at}]
",
            w[0], w[1], s[0], s[1]
        )
    }

    fn inputs(&self, rng: &mut Rng) -> [Any; 3] {
        let count = |shape: &[i64]| shape.iter().product::<i64>();
        let [w, s] = self.shapes();
        let x: Vec<f32> = (0..self.rows * self.terms).map(|_| rng.between(-3, 3) as f32).collect();
        let scales: Vec<f32> = (0..count(&s)).map(|_| *rng.pick(&[0.5, 1.0, 2.0])).collect();
        let mut bits = || rng.below(1 << 32);
        let weights = match self.format.0 {
            "int8" => Tensor::from_slice(&w, &(0..count(&w)).map(|_| bits() as i8).collect::<Vec<_>>()),
            "uint8" => Tensor::from_slice(&w, &(0..count(&w)).map(|_| bits() as u8).collect::<Vec<_>>()),
            _ => Tensor::from_slice(&w, &(0..count(&w)).map(|_| bits() as u32).collect::<Vec<_>>()),
        };
        let x = Tensor::from_slice(&[self.rows, self.terms], &x);
        [x, weights, Tensor::from_slice(&s, &scales)].map(|tensor| tensor.unwrap().into())
    }
}

/// A matmul of int8 activations by weights of 8, 4 or 2 bits, with scales of groups for both, and a zero point.
fn int8_activations(rng: &mut Rng) -> (String, [Any; 5]) {
    let (bits, rows, columns) =
        (*rng.pick(&[8, 4, 2]), *rng.pick(&[1, 1, 3, 4, 9, 20]), *rng.pick(&[1, 7, 16, 40, 67, 96]));
    let (group, of_rows) = (*rng.pick(&[16, 32, 64]), *rng.pick(&[1, 2]));
    let terms = group * of_rows * rng.between(1, 3);
    let per_word = 32 / bits;
    let packed = bits == 8 && rng.chance(50);
    let (dtype, shape, number) = match bits {
        8 if packed => ("uint8", vec![terms / 4, columns, 4], "W[vk // 4, vj, vk % 4]".to_owned()),
        8 => ("uint8", vec![terms, columns], "W[vk, vj]".to_owned()),
        _ => {
            let shift = format!("vk % 4 * 8 + vk % {per_word} // 4 * {bits}");
            let bits = format!(
                "T.shift_right(W[vk // {per_word}, vj], T.Cast(\"uint32\", {shift})), T.uint32({})",
                (1 << bits) - 1
            );
            (
                "uint32",
                vec![(terms + per_word - 1) / per_word, columns],
                format!("T.Cast(\"uint8\", T.bitwise_and({bits}))"),
            )
        }
    };
    let zeros = [terms / (group * of_rows), columns];
    let zero = if rng.chance(50) { "T.Cast(\"int32\", Z[vk // GROUP, vj])" } else { "8" };
    let wide = (group * of_rows).to_string();
    let dims = |shape: &[i64]| shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let text = format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.handle, xs: T.handle, w: T.handle, s: T.handle, z: T.handle, y: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    X = T.match_buffer(x, ({rows}, {terms}), \"int8\")
    XS = T.match_buffer(xs, ({rows}, {}), \"float32\")
    W = T.match_buffer(w, ({}), \"{dtype}\")
    S = T.match_buffer(s, ({}), \"float32\")
    Z = T.match_buffer(z, ({}), \"uint8\")
    Y = T.match_buffer(y, ({rows}, {columns}), \"float32\")
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.sblock(\"matmul\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + T.Cast(\"float32\", T.Cast(\"int32\", X[vi, vk]) * (T.Cast(\"int32\", {number}) - {})) \
         * (XS[vi, vk // {group}] * S[vk // {wide}, vj])
",
        terms / group,
        dims(&shape),
        dims(&zeros),
        dims(&zeros),
        zero.replace("GROUP", &wide),
    );
    let count = |shape: &[i64]| shape.iter().product::<i64>();
    let scales = |shape: &[i64], rng: &mut Rng| {
        let values: Vec<f32> = (0..count(shape)).map(|_| *rng.pick(&[0.5, 1.0, 2.0])).collect();
        Tensor::from_slice(shape, &values)
    };
    let bytes = |count: i64, rng: &mut Rng| (0..count).map(|_| rng.below(256) as u8).collect::<Vec<_>>();
    let x: Vec<i8> = (0..rows * terms).map(|_| rng.between(-7, 7) as i8).collect();
    let weights = bytes(count(&shape) * if bits == 8 { 1 } else { 4 }, rng);
    let small: Vec<u8> = bytes(count(&zeros), rng).iter().map(|byte| byte % 16).collect();
    let inputs = [
        Tensor::from_slice(&[rows, terms], &x),
        scales(&[rows, terms / group], rng),
        Tensor::from_bytes(dtype.parse().unwrap(), &shape, &weights),
        scales(&zeros, rng),
        Tensor::from_slice(&zeros, &small),
    ];
    (text, inputs.map(|tensor| tensor.unwrap().into()))
}

#[test]
fn int8_activations_match_the_interpreter() {
    let mut dots = 0;
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let (text, inputs) = int8_activations(&mut rng);
        let func = function(&text);
        for target in targets() {
            let options = Options::new(&target);
            let plan = plan_text(&func, options).unwrap();
            println!("vectors of {} bytes\n{text}{plan}", target.vector_bytes);
            dots += usize::from(plan.contains("dot-product"));
            check_kernel(&Kernel::planned(&func, options), &inputs);
            check_plan_edits(&func, options, &inputs, &mut rng);
        }
    }
    assert!(dots >= 10, "{dots} kernels use dot products");
}

#[test]
fn quantized_weights_match_the_interpreter() {
    let mut near = 0;
    for seed in seeds(10) {
        let mut rng = Rng::new(seed);
        let weights = Weights::random(&mut rng);
        let (text, inputs) = (weights.text(), weights.inputs(&mut rng));
        let func = function(&text);
        for target in targets() {
            let options = Options::new(&target);
            let plan = plan_text(&func, options).unwrap();
            println!("vectors of {} bytes\n{text}{plan}", target.vector_bytes);
            let parts = plan.lines().filter(|line| !line.starts_with('#')).count();
            assert!(parts == 1 || !weights.is_narrow(), "wide weights are in memory");
            check_kernel(&Kernel::planned(&func, options), &inputs);
            near += check_plan_edits(&func, options, &inputs, &mut rng);
        }
    }
    assert!(near > 0, "no edited plan can be used");
}
