//! Matmuls of narrow types, of random sizes and layouts, for targets with and without dot-product instructions,
//! compared with the reference interpreter.

use crate::support::{Kernel, check_kernel, floats, function, plan_edits::check_plan_edits, rng::Rng, seeds};
use hammock_ir::Tensor;
use hammock_kernels::{Options, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;

/// Sizes around packed groups, vectors, and tiles.
const SIZES: [i64; 17] = [0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 31, 33, 40, 64, 67, 130];
/// Maximum number of multiply-adds of a stage, so that the interpreter is fast enough.
const MAX_COMBINED: i64 = 60_000;

/// Targets of every vector width, with and without dot-product instructions, that this machine can run.
fn targets() -> Vec<Target> {
    let names = ["znver4", "x86-64-v4", "alderlake", "x86-64-v3", "x86-64"];
    let known = names.iter().filter_map(|name| Target::named(name));
    let host = Target::host();
    // Some CPUs have int8 dot products only in AVX-512 form.
    let dots = |target: &Target| match target.vector_bytes {
        64 => host.int8_dot,
        _ => host.attributes.contains("+avxvnni"),
    };
    let runs = |target: &Target| {
        target.vector_bytes <= host.vector_bytes
            && (!target.int8_dot || dots(target))
            && (!target.bfloat16_dot || host.bfloat16_dot)
    };
    // CPU names imply other features that do not matter here.
    let plain = |target: Target| {
        let level = match target.vector_bytes {
            64 => "x86-64-v4",
            32 => "x86-64-v3",
            _ => "x86-64",
        };
        let has = [
            (target.int8_dot && target.vector_bytes == 64, "+avx512vnni"),
            (target.int8_dot && target.vector_bytes == 32, "+avxvnni"),
            (target.bfloat16_dot, "+avx512bf16"),
        ];
        let more: Vec<&str> = has.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
        Target { cpu: level.into(), attributes: more.join(","), ..target }
    };
    known.filter(runs).map(plain).collect()
}

/// A matmul.
struct Matmul {
    rng: Rng,
    /// Extents of rows, columns and reduction; true if symbolic.
    sizes: [(i64, bool); 3],
    batch: Option<i64>,
    /// Index orders of the operands and of the result.
    indices: [Vec<usize>; 3],
    /// Number of trailing dimensions of size one in the operands, as the window of a 1 x 1 convolution.
    ones: usize,
    /// Block size and group size, if the RHS is packed.
    packed: Option<(i64, i64)>,
    /// True if the sign bits of the LHS are flipped.
    sign_flipped: bool,
}

const NAMES: [&str; 4] = ["i", "j", "k", "b"];

impl Matmul {
    fn random(seed: u64) -> Matmul {
        let mut rng = Rng::new(seed);
        let mut sizes = [0; 3].map(|_| (*rng.pick(&SIZES), rng.chance(20)));
        sizes[2].0 = sizes[2].0.max(1);
        while sizes.iter().map(|size| size.0.max(1)).product::<i64>() > MAX_COMBINED {
            let largest = sizes.iter_mut().max_by_key(|size| size.0).unwrap();
            largest.0 = largest.0 / 2 + 1;
        }
        let batch = rng.chance(25).then(|| rng.between(1, 3));
        let mut order = |own: [usize; 2]| {
            let own = if rng.chance(50) { own } else { [own[1], own[0]] };
            batch.map(|_| 3).into_iter().chain(own).collect::<Vec<usize>>()
        };
        let indices =
            [order([0, 2]), order([2, 1]), if seed.is_multiple_of(4) { order([0, 1]) } else { result(batch) }];
        let ones = if rng.chance(25) { 2 } else { 0 };
        Matmul { rng, sizes, batch, indices, ones, packed: None, sign_flipped: false }
    }

    /// Returns the same with a packed RHS, and possibly a sign-flipped LHS.
    fn packed(seed: u64, terms: i64) -> Matmul {
        let mut matmul = Matmul::random(seed);
        let block = *matmul.rng.pick(&[1, 3, 16, 24, 64]);
        matmul.sizes[1].1 = false;
        matmul.sizes[2].1 = false;
        Matmul { packed: Some((block, terms)), sign_flipped: terms == 4 && matmul.rng.chance(50), ..matmul }
    }

    /// Shape of the packed RHS.
    fn packed_shape(&self) -> Option<Vec<i64>> {
        let (block, terms) = self.packed?;
        let [_, (columns, _), (sums, _)] = self.sizes;
        let shape = [(columns + block - 1) / block, (sums + terms - 1) / terms, block, terms];
        Some(self.batch.into_iter().chain(shape).collect())
    }

    fn size(&self, axis: usize) -> (String, i64) {
        match self.batch.filter(|_| axis == 3) {
            Some(batch) => (batch.to_string(), batch),
            None => {
                let (size, symbolic) = self.sizes[axis];
                (if symbolic { format!("n_{}", NAMES[axis]) } else { size.to_string() }, size)
            }
        }
    }

    /// Returns the function for operand dtypes, an accumulator dtype and an initial value.
    fn text(&self, factors: [&str; 2], sum: &str, init: &str) -> String {
        let behind = |n: usize, mut own: Vec<String>, one: &str| {
            own.resize(own.len() + if n < 2 { self.ones } else { 0 }, one.to_owned());
            own.join(", ")
        };
        let shape = |n: usize| match self.packed_shape().filter(|_| n == 1) {
            Some(shape) => shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
            None => behind(n, self.indices[n].iter().map(|axis| self.size(*axis).0).collect(), "1"),
        };
        let place = |n: usize| match self.packed.filter(|_| n == 1) {
            Some((block, terms)) => {
                let batch = if self.batch.is_some() { "vb, " } else { "" };
                format!("{batch}vj // {block}, vk // {terms}, vj % {block}, vk % {terms}")
            }
            None => behind(n, self.indices[n].iter().map(|axis| format!("v{}", NAMES[*axis])).collect(), "0"),
        };
        let mut lines = vec![
            "# from tvm.script import tirx as T\n".to_owned(),
            "@T.prim_func(s_tir=True)\ndef f(a: T.handle, b: T.handle, c: T.handle):".to_owned(),
            "    T.func_attr({\"tirx.noalias\": True})".to_owned(),
        ];
        lines.extend((0..3).filter(|at| self.sizes[*at].1).map(|at| format!("    n_{} = T.int64()", NAMES[at])));
        for (n, (name, dtype)) in [("a", factors[0]), ("b", factors[1]), ("c", sum)].into_iter().enumerate() {
            let (upper, shape) = (name.to_uppercase(), shape(n));
            lines.push(format!("    {upper} = T.match_buffer({name}, ({shape},), \"{dtype}\")"));
        }
        let axes: Vec<usize> = self.batch.map(|_| 3).into_iter().chain(0..3).collect();
        let names: Vec<&str> = axes.iter().map(|axis| NAMES[*axis]).collect();
        let sizes: Vec<String> = axes.iter().map(|axis| self.size(*axis).0).collect();
        lines.push(format!("    for {} in T.grid({}):", names.join(", "), sizes.join(", ")));
        lines.push("        with T.sblock(\"matmul\"):".to_owned());
        for (axis, name) in axes.iter().zip(&names) {
            let kind = if *axis == 2 { "reduce" } else { "spatial" };
            lines.push(format!("            v{name} = T.axis.{kind}({}, {name})", self.size(*axis).0));
        }
        let [a, b, c] = [0, 1, 2].map(place);
        lines.push(format!("            with T.init():\n                C[{c}] = T.{sum}({init})"));
        let own = match (self.sign_flipped, factors[0]) {
            (false, _) => format!("A[{a}]"),
            (true, "int8") => format!("T.bitwise_xor(T.reinterpret(\"uint8\", A[{a}]), T.uint8(128))"),
            (true, _) => format!("T.bitwise_xor(T.reinterpret(\"int8\", A[{a}]), T.int8(-128))"),
        };
        lines.push(format!("            C[{c}] = C[{c}] + T.Cast(\"{sum}\", {own}) * T.Cast(\"{sum}\", B[{b}])\n"));
        lines.join("\n")
    }

    /// Returns an operand of small values, and of those at the ends of the range of its dtype.
    fn numbers(&mut self, factor: usize, dtype: &str) -> Any {
        let ones = std::iter::repeat_n(1, self.ones);
        let plain = || self.indices[factor].iter().map(|axis| self.size(*axis).1).chain(ones).collect();
        let shape: Vec<i64> = self.packed_shape().filter(|_| factor == 1).unwrap_or_else(plain);
        let range = match dtype {
            "int8" => (-128, 127),
            "uint8" => (0, 255),
            _ => (-3, 3),
        };
        let ends = self.rng.chance(40);
        let mut number = || match ends {
            true => *self.rng.pick(&[range.0, range.1]),
            false => self.rng.between(range.0, range.1),
        };
        let values: Vec<i64> = (0..shape.iter().product::<i64>()).map(|_| number()).collect();
        let tensor = match dtype {
            "int8" => Tensor::from_slice(&shape, &values.iter().map(|v| *v as i8).collect::<Vec<_>>()),
            "uint8" => Tensor::from_slice(&shape, &values.iter().map(|v| *v as u8).collect::<Vec<_>>()),
            _ => return floats(dtype, &shape, values),
        };
        tensor.unwrap().into()
    }

    /// Compares the function for every target, also with edited plans.
    fn check(&mut self, factors: [&str; 2], sum: &str, init: &str) -> usize {
        let text = self.text(factors, sum, init);
        let func = function(&text);
        let inputs = [self.numbers(0, factors[0]), self.numbers(1, factors[1])];
        let mut dots = 0;
        for target in targets() {
            let options = Options::new(&target);
            let plan = plan_text(&func, options).unwrap();
            println!("{}\n{text}{plan}", target.cpu);
            dots += usize::from(plan.contains(" dot"));
            check_kernel(&Kernel::for_options(&func, options), &inputs);
            if target.vector_bytes == Target::host().vector_bytes {
                check_plan_edits(&func, options, &inputs, &mut self.rng);
            }
        }
        dots
    }
}

/// Axes of the result, in order.
fn result(batch: Option<i64>) -> Vec<usize> {
    batch.map(|_| 3).into_iter().chain([0, 1]).collect()
}

/// Cases of each test, unless `CLASSES` asks for more.
const CASES: u64 = 7;

#[test]
fn bytes() {
    let mut dots = 0;
    for seed in seeds(CASES) {
        let mut matmul = Matmul::random(seed);
        let factors = [0; 2].map(|_| *matmul.rng.pick(&["int8", "int8", "uint8"]));
        // Sums that start there wrap soon.
        let init = *matmul.rng.pick(&["0", "0", "2147483000", "-2147483000"]);
        dots += matmul.check(factors, "int32", init);
    }
    assert!(dots > 0, "no matmul uses dot4");
}

#[test]
fn bfloats() {
    for seed in seeds(CASES) {
        Matmul::random(1000 + seed).check(["bfloat16"; 2], "float32", "0");
    }
}

/// Narrow floats that are upcast and packed for several rows.
#[test]
fn halves() {
    for seed in seeds(CASES) {
        Matmul::random(4000 + seed).check(["float16"; 2], "float32", "0");
    }
    let target = Target::named("x86-64-v3").unwrap();
    let matmul = Matmul {
        sizes: [(33, false), (40, false), (64, false)],
        batch: None,
        indices: [vec![0, 2], vec![2, 1], vec![0, 1]],
        ..Matmul::random(0)
    };
    let plan = plan_text(&function(&matmul.text(["float16"; 2], "float32", "0")), Options::new(&target)).unwrap();
    assert_eq!(plan.matches("copy of operand").count(), 2, "{plan}");
}

/// Packed operands are used directly, whatever the padding of the last group is.
#[test]
fn packed_bytes() {
    let mut dots = 0;
    for seed in seeds(CASES) {
        let mut matmul = Matmul::packed(2000 + seed, 4);
        let factors = [0; 2].map(|_| *matmul.rng.pick(&["int8", "int8", "uint8"]));
        dots += matmul.check(factors, "int32", "0");
    }
    assert!(dots > 0, "no matmul uses dot4");
}

#[test]
fn packed_bfloats() {
    for seed in seeds(CASES) {
        Matmul::packed(3000 + seed, 2).check(["bfloat16"; 2], "float32", "0");
    }
}

/// Match regions of a buffer have packed groups at their own offset.
#[test]
fn match_regions_are_read_in_place() {
    let text = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 32), \"int8\"), W: T.Buffer((40, 32), \"int8\"), C: T.Buffer((16, 24), \"int32\")):
    T.func_attr({\"tirx.noalias\": True})
    with T.sblock(\"root\"):
        B = T.match_buffer(W[16:40, 0:32], (24, 32), \"int8\")
        for i, j, k in T.grid(16, 24, 32):
            with T.sblock(\"matmul\"):
                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", B[vj, vk])
";
    let mut rng = Rng::new(7);
    let mut bytes = |rows: i64| -> Any {
        let values: Vec<i8> = (0..rows * 32).map(|_| rng.between(-128, 127) as i8).collect();
        Tensor::from_slice(&[rows, 32], &values).unwrap().into()
    };
    let (func, inputs) = (function(text), [bytes(16), bytes(40)]);
    for target in targets() {
        check_kernel(&Kernel::for_options(&func, Options::new(&target)), &inputs);
    }
}
