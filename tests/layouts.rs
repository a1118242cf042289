//! Passes that permute axes or change dtypes preserve results: random programs around convolutions are run before and
//! after, with interpreted kernels. `PROGRAMS=5000` runs more of them, `PROGRAM=17` one, with its text.

use hammock_compiler::{Dump, Evaluator, Options, ReadOptions, lower, read_text, reference};
use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, tir::Buffer};
use hammock_passes::{Pipeline, pipeline};
use hammock_runtime::{Any, DType, Tensor, Tuple, vm};
use std::fmt::Write;

/// Pseudorandom numbers.
struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Program: parameters and bindings, with the shape of every value.
struct Program {
    random: Random,
    params: Vec<(String, Vec<i64>)>,
    lines: String,
    values: Vec<(String, Vec<i64>)>,
}

impl Program {
    /// Generates a program around convolutions with `spatial` dimensions.
    fn new(seed: u64, spatial: usize) -> Self {
        let mut random = Random(fastrand::Rng::with_seed(seed));
        for _ in 0..8 {
            random.below(2);
        }
        let mut program = Program { random, params: Vec::new(), lines: String::new(), values: Vec::new() };
        let mut shape = vec![program.random.of(&[1, 2]), program.random.of(&[3, 4, 8])];
        shape.resize(1 + spatial, 4);
        shape.push(program.random.of(&[4, 5]));
        let x = program.param(shape.clone());
        program.values.push((x, shape));
        program.convolution();
        for _ in 0..6 + program.random.below(6) {
            program.step();
        }
        program
    }

    fn param(&mut self, shape: Vec<i64>) -> String {
        let name = format!("p{}", self.params.len());
        self.params.push((name.clone(), shape));
        name
    }

    fn bind(&mut self, shape: Vec<i64>, value: &str) {
        let name = format!("v{}", self.values.len());
        writeln!(self.lines, "            {name} = {value}").unwrap();
        self.values.push((name, shape));
    }

    /// Returns one of the latest values.
    fn pick(&mut self) -> (String, Vec<i64>) {
        let from = self.values.len().saturating_sub(3);
        let at = from + self.random.below(self.values.len() - from);
        self.values[at].clone()
    }

    fn convolution(&mut self) {
        let (x, shape) = self.pick();
        let [n, c, sizes @ ..] = &shape[..] else { return };
        let dims = sizes.len();
        if !(2..=3).contains(&dims) || *c > 16 {
            return;
        }
        let (out, kernel, pad) = (self.random.of(&[4, 6, 8]), self.random.of(&[1, 3]), self.random.of(&[0, 1]));
        let results: Vec<i64> = sizes.iter().map(|size| size + 2 * pad - kernel + 1).collect();
        if results.iter().any(|size| *size < 2) {
            return;
        }
        let weight = self.param([vec![out, *c], vec![kernel; dims]].concat());
        self.bind([vec![*n, out], results].concat(), &format!("R.nn.conv{dims}d({x}, {weight}, padding={pad})"));
    }

    fn step(&mut self) {
        let (x, shape) = self.pick();
        let rank = shape.len() as i64;
        if rank == 0 || shape.iter().product::<i64>() > 3000 {
            return;
        }
        let channels = rank == 4 && self.random.below(3) == 0;
        let axis = if channels { 1 } else { self.random.below(shape.len()) };
        let negative = self.random.of(&[axis as i64, axis as i64 - rank]);
        let size = shape[axis];
        match self.random.below(26) {
            0..2 => self.convolution(),
            2..4 => {
                let f = self.random.of(&["R.nn.relu", "R.tanh", "R.negative", "R.nn.leakyrelu", "R.nn.silu"]);
                self.bind(shape, &format!("{f}({x})"));
            }
            4..6 => self.broadcast(x, shape),
            6..9 => {
                let (y, other) = self.pick();
                let fits = other.len() == shape.len() && (0..shape.len()).all(|a| a == axis || other[a] == shape[a]);
                if fits {
                    let joined = with(&shape, axis, size + other[axis]);
                    self.bind(joined, &format!("R.concat(({x}, {y}), axis={negative})"));
                }
            }
            9 if size % 2 == 0 => {
                let half = with(&shape, axis, size / 2);
                let tuple = format!("t{}", self.values.len());
                let at = format!("[{}]", size / 2);
                let cut = self.random.of(&["2", &at]);
                writeln!(self.lines, "            {tuple} = R.split({x}, {cut}, axis={negative})").unwrap();
                self.bind(half, &format!("{tuple}[1]"));
            }
            10 if rank == 4 && shape[2] > 3 && shape[3] > 3 => {
                let pool = self.random.of(&["max", "avg"]);
                let out = vec![shape[0], shape[1], shape[2] / 2, shape[3] / 2];
                self.bind(out, &format!("R.nn.{pool}_pool2d({x}, pool_size=2, strides=2)"));
            }
            11 if rank == 4 => {
                let out = vec![shape[0], shape[1], 2, 2];
                self.bind(out, &format!("R.nn.adaptive_avg_pool2d({x}, output_size=2)"));
            }
            12 => self.bind(shape, &format!("R.nn.softmax({x}, axis={negative})")),
            13 => self.normalization(x, shape, axis, negative),
            14 | 15 => {
                let keep = self.random.below(2) == 0;
                let out = if keep { with(&shape, axis, 1) } else { without(&shape, axis) };
                let keep = if keep { "True" } else { "False" };
                let f = self.random.of(&["sum", "mean", "max", "variance"]);
                self.bind(out, &format!("R.{f}({x}, axis=[{negative}], keepdims={keep})"));
            }
            16 => {
                let mut out = shape;
                out.insert(axis, 1);
                self.bind(out, &format!("R.expand_dims({x}, axis={axis})"));
            }
            17 if size == 1 => self.bind(without(&shape, axis), &format!("R.squeeze({x}, axis=[{negative}])")),
            18 => {
                let (mut axes, shift) = ((0..shape.len()).collect::<Vec<_>>(), self.random.below(shape.len()));
                axes.rotate_left(shift);
                let out = axes.iter().map(|a| shape[*a]).collect();
                self.bind(out, &format!("R.permute_dims({x}, axes={axes:?})"));
            }
            19 if size > 2 => {
                let end = size - 1;
                let slice = format!("R.strided_slice({x}, axes=[{negative}], begin=[1], end=[{end}])");
                self.bind(with(&shape, axis, size - 2), &slice);
            }
            20 => self.bind(shape, &format!("R.flip({x}, axis={negative})")),
            21 => match self.random.below(3) {
                0 => self.bind(vec![shape.iter().product::<i64>() * 2], &format!("R.repeat({x}, repeats=2)")),
                1 => self.bind(with(&shape, axis, size * 2), &format!("R.repeat({x}, repeats=2, axis={negative})")),
                _ => self.bind(with(&shape, shape.len() - 1, 2 * shape[shape.len() - 1]), &format!("R.tile({x}, [2])")),
            },
            22 if rank == 4 => {
                let out = vec![shape[0], shape[1], 6, 4];
                self.bind(out, &format!("R.image.resize2d({x}, size=(6, 4), method=\"linear\")"));
            }
            23 => {
                let mut out = shape;
                out.insert(axis, 2);
                self.bind(out, &format!("R.stack(({x}, R.tanh({x})), axis={axis})"));
            }
            24 => {
                let dims = shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                self.bind(shape, &format!("R.match_cast({x}, R.Tensor(({dims},), \"float32\"))"));
            }
            25 => {
                let dims = shape.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
                let flat = shape.iter().product();
                self.bind(vec![flat], &format!("R.reshape({x}, ({flat},))"));
                self.bind(shape, &format!("R.reshape(v{}, ({dims},))", self.values.len() - 1));
            }
            _ => {}
        }
    }

    fn broadcast(&mut self, x: String, shape: Vec<i64>) {
        let f = self.random.of(&["R.add", "R.multiply", "R.subtract", "R.maximum"]);
        let keep = self.random.below(16);
        let other = match self.random.below(4) {
            0 => shape.clone(),
            1 => shape[self.random.below(shape.len())..].to_vec(),
            _ => shape.iter().enumerate().map(|(i, size)| if keep >> i & 1 == 1 { *size } else { 1 }).collect(),
        };
        let same = self.values.iter().rev().find(|(_, own)| *own == other).map(|(name, _)| name.clone());
        let y = match self.random.below(5) {
            0 => "R.const(0.5, \"float32\")".to_owned(),
            1..3 => same.unwrap_or_else(|| self.param(other)),
            _ => self.param(other),
        };
        let call = if self.random.below(2) == 0 { format!("{f}({x}, {y})") } else { format!("{f}({y}, {x})") };
        self.bind(shape, &call);
    }

    fn normalization(&mut self, x: String, shape: Vec<i64>, axis: usize, negative: i64) {
        let vector = vec![shape[axis]];
        let (gamma, beta) = (self.param(vector.clone()), self.param(vector));
        let others: Vec<usize> = (0..shape.len()).filter(|a| *a != axis).collect();
        let call = match self.random.below(4) {
            0 => format!("R.nn.batch_norm({x}, {gamma}, {beta}, {beta}, {gamma}, axis={negative})[0]"),
            1 => format!("R.nn.layer_norm({x}, {gamma}, {beta}, axes=[{negative}])"),
            2 => format!("R.nn.rms_norm({x}, {gamma}, axes=[{negative}])"),
            _ => format!("R.nn.group_norm({x}, {gamma}, {beta}, num_groups=1, channel_axis={axis}, axes={others:?})"),
        };
        self.bind(shape, &call);
    }

    fn text(&self) -> String {
        let param = |(name, shape): &(String, Vec<i64>)| {
            let dims = shape.iter().map(|d| format!("{d}, ")).collect::<String>();
            format!("{name}: R.Tensor(({dims}), \"float32\")")
        };
        let params = self.params.iter().map(param).collect::<Vec<_>>().join(", ");
        // Returns a tuple of all values: each is compared, and only the tuple is visible outside of the block.
        let outputs = self.values.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        format!(
            "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n    def \
             main({params}):\n        with R.dataflow():\n{}            out = ({outputs},)\n            R.output(out)\n\
             \x20       return out\n",
            self.lines
        )
    }

    /// Returns arguments: variances are positive, sums stay small.
    fn arguments(&mut self) -> Vec<Any> {
        self.params.iter().map(|(_, shape)| tensor(&mut self.random, shape)).collect()
    }
}

fn tensor(random: &mut Random, shape: &[i64]) -> Any {
    let positive = shape.len() == 1;
    let scale = if shape.len() >= 4 { 1.0 / (1 + shape[1..].iter().product::<i64>()) as f32 } else { 1.0 };
    let mut number = || {
        let unit = random.below(1000) as f32 / 500.0 - 1.0;
        if positive { 1.5 + unit } else { unit * scale.max(0.05) * 4.0 }
    };
    let data: Vec<f32> = (0..shape.iter().product::<i64>()).map(|_| number()).collect();
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    Any::from(Tensor::from_bytes(DType::FLOAT32, shape, &bytes).unwrap())
}

fn with(shape: &[i64], axis: usize, size: i64) -> Vec<i64> {
    shape.iter().enumerate().map(|(i, d)| if i == axis { size } else { *d }).collect()
}

fn without(shape: &[i64], axis: usize) -> Vec<i64> {
    shape.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d).collect()
}

/// Returns the results of the program after these passes and the pipeline.
fn run(text: &str, passes: &str, args: &[Any]) -> Result<Vec<Vec<f32>>, String> {
    let first = Pipeline::parse(passes).map_err(|e| e.message)?;
    run_at(1, text, &first, &Options::default(), args).map(|(results, _)| results)
}

/// Returns the results of a program after passes and lowering, and its module.
fn run_at(
    level: u8,
    text: &str,
    passes: &Pipeline,
    options: &Options,
    args: &[Any],
) -> Result<(Vec<Vec<f32>>, Module), String> {
    let source = SourceFile::new("program.py".to_owned(), text.to_owned()).unwrap();
    let mut module = read_text(&source, &ReadOptions::default()).map_err(|e| e.render(false))?;
    let evaluator = Evaluator::interpreting();
    let environment = options.environment(&evaluator);
    let silent = &mut hammock_passes::Silent;
    passes.run(&mut module, &environment, silent).map_err(|e| e.message)?;
    let found = hammock_ir::verify::errors(&module, &hammock_ops::Table);
    if let Some(found) = found.first() {
        return Err(format!("not well formed: {}", found.message));
    }
    lower(&mut module, &source, &pipeline(level), &environment, &mut Dump::default()).map_err(|e| e.render(false))?;
    let vm = reference(&module, &source, None, vm::Options::default()).map_err(|e| e.render(false))?;
    let result = vm.call("main", args).map_err(|e| e.to_string())?;
    let floats = |leaf: &Any| leaf.get::<Tensor>().and_then(|t| t.as_slice::<f32>().ok().map(<[f32]>::to_vec));
    let leaves = match result.get::<Tuple>() {
        Some(leaves) => leaves.iter().map(floats).collect(),
        None => floats(&result).map(|only| vec![only]),
    };
    Ok((leaves.ok_or("no tensors of floats")?, module))
}

/// Runs random programs around convolutions with `spatial` dimensions before and after a pass.
fn agree(spatial: usize, count: u64, tolerance: f32, passes: impl Fn(&mut Random) -> String) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = number("PROGRAM").map_or(0..number("PROGRAMS").unwrap_or(count), |one| one..one + 1);
    for seed in seeds {
        let mut program = Program::new(seed, spatial);
        let (text, args) = (program.text(), program.arguments());
        let passes = passes(&mut program.random);
        if number("PROGRAM").is_some() {
            println!("{text}\n{passes}");
        }
        let expected = run(&text, "", &args).unwrap_or_else(|e| panic!("PROGRAM={seed} is no program: {e}\n{text}"));
        let found = run(&text, &passes, &args).unwrap_or_else(|e| panic!("PROGRAM={seed} {passes}: {e}"));
        for (a, b) in expected.iter().zip(&found) {
            let largest = a.iter().fold(1.0f32, |m, v| m.max(v.abs()));
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= tolerance * largest || a.is_nan() && b.is_nan();
            assert!(a.len() == b.len() && a.iter().zip(b).all(close), "PROGRAM={seed} differs after {passes}");
        }
    }
}

const LAYOUTS: [&str; 8] = [
    r#""NHWC","OHWI""#,
    r#""NCHW4c","OIHW4o""#,
    r#""NHWC4c","OHWI4o""#,
    r#""N4cHWC","O4oHWI""#,
    r#""NCHW4c","OIHW4i4o","NCHW2c""#,
    r#""HWNC","HWIO","NHWC""#,
    r#""NWHC","IOHW""#,
    r#""CNHW","OIHW2o","NCHW2c""#,
];

#[test]
fn programs_in_other_layouts_compute_the_same() {
    agree(2, 30, 1e-4, |random| {
        let resize = random.of(&["", r#","relax.image.resize2d":["NHWC"]"#]);
        format!(r#"ConvertLayout{{desired_layouts={{"relax.nn.conv2d":[{}]{resize}}}}}"#, random.of(&LAYOUTS))
    });
}

#[test]
fn programs_over_volumes_in_other_layouts_compute_the_same() {
    agree(3, 10, 1e-4, |random| {
        let layouts = random.of(&[r#""NDHWC","DHWIO""#, r#""NCDHW4c","OIDHW4o""#, r#""DNWHC","ODHWI","NDHWC""#]);
        format!(r#"ConvertLayout{{desired_layouts={{"relax.nn.conv3d":[{layouts}]}}}}"#)
    });
}

#[test]
fn mixed_precision_programs_compute_nearly_the_same() {
    agree(2, 12, 6e-2, |random| {
        let out = random.of(&["", r#"{out_dtype="float16"}"#, r#"{dtype="bfloat16"}"#]);
        format!("ToMixedPrecision{out}")
    });
}

/// Sizes that are not multiples of tiles, padding on all sides, windows of all sizes, dilation, layouts, dynamic batch.
#[test]
fn winograd_convolutions_compute_the_same() {
    for (shape, channels, out, window, more) in [
        ([1, 16, 5, 7], 16, 17, [3, 3], "padding=(1, 1)"),
        ([2, 17, 3, 9], 17, 16, [3, 3], "padding=(0, 1, 2, 0)"),
        ([1, 3, 4, 4], 3, 64, [3, 3], r#"padding=(2, 2), out_layout="NHWC""#),
        ([2, 6, 11, 5], 5, 4, [3, 3], r#"padding=(0, 0), data_layout="NHWC""#),
        ([2, 4, 6, 5], 5, 8, [3, 3], r#"padding=(3, 0, 1, 1), data_layout="HNWC", out_layout="NWHC""#),
        ([1, 16, 15, 22], 16, 7, [3, 3], "padding=(2, 6), dilation=(2, 6)"),
        ([2, 5, 9, 40], 5, 16, [3, 3], "padding=(0, 1, 2, 13), dilation=(1, 13)"),
        ([1, 7, 9, 12], 12, 9, [5, 5], r#"padding=2, data_layout="NHWC""#),
        ([1, 8, 13, 10], 8, 9, [4, 5], "padding=(0, 5, 3, 1), dilation=(2, 3)"),
        ([1, 8, 9, 13], 8, 16, [2, 4], "padding=(1, 0, 0, 2), dilation=(3, 1)"),
        ([2, 8, 6, 14], 8, 16, [1, 3], "padding=(0, 1)"),
        ([1, 8, 14, 5], 8, 16, [5, 1], "padding=(4, 1), dilation=(2, 2)"),
        ([1, 12, 9, 7], 4, 18, [3, 3], "padding=1, groups=3"),
        ([2, 8, 9, 10], 4, 32, [3, 5], "padding=(2, 2), dilation=(2, 1), groups=2"),
    ] {
        let batch = if more.contains("HNWC") { 1 } else { 0 };
        let dims: Vec<String> =
            (0..4).map(|axis| if axis == batch { "n".to_owned() } else { shape[axis].to_string() }).collect();
        let [high, wide] = window;
        let (dims, weights) = (dims.join(", "), out * channels * high * wide);
        let text = format!(
            r#"
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({dims}), "float32")):
        with R.dataflow():
            w = R.reshape(R.sin(R.arange(0, {weights}, 1, dtype="float32")), R.shape([{out}, {channels}, {high}, {wide}]))
            y = R.nn.relu(R.nn.conv2d(x, w, {more}))
            R.output(y)
        return y
"#
        );
        let mut random = Random(fastrand::Rng::with_seed(7));
        let args = [tensor(&mut random, &shape)];
        let [direct, transformed] =
            ["", "Winograd"].map(|passes| run(&text, passes, &args).unwrap_or_else(|e| panic!("{text}{e}")));
        let largest = direct[0].iter().copied().fold(0f32, f32::max);
        assert_eq!(direct[0].len(), transformed[0].len(), "{text}");
        assert!(largest > 0.1, "{largest} {text}");
        assert!(direct != transformed, "{text}");
        let error = direct[0].iter().zip(&transformed[0]).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / largest;
        assert!(error < 3e-6, "{error} {text}");
    }
}

/// Convolutions with elements of the kernel that are never, sometimes or always in the padding: strides, layouts,
/// dynamic batch, one to three spatial axes.
#[test]
fn convolutions_without_padding_compute_the_same() {
    for (op, shape, weights, more) in [
        ("conv2d", &[2i64, 3, 7, 5] as &[i64], &[4i64, 3, 3, 3] as &[i64], "padding=6, dilation=6"),
        ("conv2d", &[1, 3, 7, 5], &[4, 3, 3, 3], "padding=(4, 3, 1, 5), dilation=(4, 3)"),
        ("conv2d", &[2, 3, 9, 8], &[4, 3, 3, 4], "padding=(5, 9, 4, 2), dilation=(4, 3), strides=(2, 3)"),
        ("conv2d", &[2, 4, 6, 3], &[4, 3, 2, 2], r#"padding=(7, 0, 0, 9), dilation=(7, 5), data_layout="NHWC""#),
        ("conv2d", &[2, 3, 4, 6], &[5, 3, 3, 1], r#"padding=(20, 0), dilation=(11, 1), out_layout="HNWC""#),
        ("conv1d", &[2, 3, 10], &[4, 3, 2], "padding=(8, 0), dilation=8"),
        ("conv1d", &[2, 3, 10], &[4, 3, 3], "padding=(3, 30), dilation=15, strides=4"),
        ("conv3d", &[1, 2, 4, 5, 6], &[3, 2, 3, 3, 2], "padding=(4, 2, 1, 4, 0, 9), dilation=(4, 2, 7)"),
    ] {
        let text = convolution_text(shape, weights, &format!("R.nn.relu(R.nn.{op}(x, w, {more}))"));
        let args = [tensor(&mut Random(fastrand::Rng::with_seed(7)), shape)];
        let run = |passes: &str| run(&text, passes, &args).unwrap_or_else(|e| panic!("{passes} {text}{e}"));
        let direct = run("");
        let largest = direct[0].iter().copied().fold(0f32, f32::max);
        assert!(largest > 0.1, "{largest} {text}");
        for passes in ["TrimConvKernel", "Kn2row", "TrimConvKernel,Kn2row"] {
            let result = run(passes);
            assert_eq!(direct[0].len(), result[0].len(), "{text}");
            let error = direct[0].iter().zip(&result[0]).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max) / largest;
            assert!(error < 1e-6, "{error} {passes} {text}");
        }
    }
}

/// A function of `x`, of this shape but a dynamic batch, and constant weights `w`, that returns a value.
fn convolution_text(shape: &[i64], weights: &[i64], value: &str) -> String {
    let list = |sizes: &[i64]| sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let (dims, kernel, count) = (list(&shape[1..]), list(weights), weights.iter().product::<i64>());
    format!(
        r#"
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, {dims}), "float32")):
        with R.dataflow():
            w = R.reshape(R.sin(R.arange(0, {count}, 1, dtype="float32")), R.shape([{kernel}]))
            y = {value}
            R.output(y)
        return y
"#
    )
}

/// Convolutions that become others with the same summands: reversed kernels along one to three axes, asymmetric padding,
/// dilation, layouts; strides along axes with windows of one element; a dynamic batch.
#[test]
fn rewritten_convolutions_compute_exactly_the_same() {
    for (pass, op, shape, weights, more) in [
        (
            "ConvTransposeToConv",
            "conv1d_transpose",
            &[2i64, 3, 10] as &[i64],
            &[3i64, 4, 4] as &[i64],
            "padding=(1, 2)",
        ),
        (
            "ConvTransposeToConv",
            "conv2d_transpose",
            &[1, 3, 7, 5],
            &[3, 4, 3, 2],
            "padding=(4, 0, 1, 3), dilation=(2, 3)",
        ),
        (
            "ConvTransposeToConv",
            "conv2d_transpose",
            &[2, 6, 5, 3],
            &[3, 1, 3, 7],
            r#"data_layout="NHWC", kernel_layout="HWIO", out_layout="NCHW""#,
        ),
        ("ConvTransposeToConv", "conv3d_transpose", &[1, 2, 4, 3, 5], &[2, 5, 2, 1, 3], "padding=(1, 0, 2, 0, 0, 1)"),
        ("SliceStridedConv", "conv1d", &[2, 3, 11], &[9, 3, 1], "strides=3"),
        ("SliceStridedConv", "conv2d", &[2, 3, 7, 8], &[9, 3, 1, 1], "strides=(2, 3)"),
        (
            "SliceStridedConv",
            "conv2d",
            &[1, 3, 8, 9],
            &[8, 3, 3, 1],
            r#"strides=(2, 4), padding=(1, 0), out_layout="NHWC""#,
        ),
        ("SliceStridedConv", "conv3d", &[2, 3, 5, 4, 7], &[8, 3, 1, 2, 1], "strides=(2, 1, 2), padding=(0, 1, 0)"),
    ] {
        let text = convolution_text(shape, weights, &format!("R.nn.{op}(x, w, {more})"));
        let args = [tensor(&mut Random(fastrand::Rng::with_seed(7)), shape)];
        let run = |passes: &str| {
            let passes = Pipeline::parse(passes).unwrap_or_else(|e| panic!("{}", e.message));
            run_at(1, &text, &passes, &Options::default(), &args).unwrap_or_else(|e| panic!("{text}{e}"))
        };
        let ((direct, before), (result, after)) = (run(""), run(pass));
        assert!(direct[0].iter().any(|element| element.abs() > 0.1), "{text}");
        assert_eq!(direct, result, "{pass} {text}");
        let kernels = |module: &Module| module.tir_functions().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_ne!(kernels(&before), kernels(&after), "{pass} {text}");
    }
}

/// 16-bit floats are computed in float32: results are as accurate as their dtype allows.
#[test]
fn winograd_convolutions_of_16_bit_floats_compute_nearly_the_same() {
    for (dtype, step) in [("float16", 1.0 / 1024.0), ("bfloat16", 1.0 / 128.0)] {
        let text = format!(
            r#"
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8, 9, 6), "float32")):
        with R.dataflow():
            w = R.reshape(R.astype(R.sin(R.arange(0, 648, 1, dtype="float32")), "{dtype}"), R.shape([9, 8, 3, 3]))
            y = R.astype(R.nn.conv2d(R.astype(x, "{dtype}"), w, padding=(1, 1)), "float32")
            R.output(y)
        return y
"#
        );
        let args = [tensor(&mut Random(fastrand::Rng::with_seed(7)), &[1, 8, 9, 6])];
        let [direct, transformed] =
            ["", "Winograd"].map(|passes| run(&text, passes, &args).unwrap_or_else(|e| panic!("{text}{e}")));
        let differs = |(a, b): (&f32, &f32)| (a - b).abs() > a.abs() * step + 1e-5;
        assert_eq!(direct[0].len(), 9 * 9 * 6);
        assert!(!direct[0].iter().zip(&transformed[0]).any(differs), "{text}");
    }
}

/// Passes over kernels and constants, on their own file tests.
#[test]
fn file_tests_compute_the_same() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    for (file, shapes) in [
        ("split_layout_rewrite_preproc/weights.py", &[&[3i64, 8] as &[i64], &[8, 8], &[8, 8]] as &[&[i64]]),
        ("pack_weights/weights.py", &[&[33, 96], &[96, 220]]),
        ("pack_weights/given.py", &[&[33, 96], &[96, 220]]),
        ("pack_weights/one_row.py", &[&[300], &[300, 2000]]),
        ("attach_attr_layout_free_buffers/weights.py", &[&[8, 8], &[8, 8], &[8, 8]]),
        ("convert_layout/cheaper_mixed.py", &[&[1, 32, 14, 14]]),
        ("optimize_layout_transform/there_and_back.py", &[&[2, 8, 5]]),
        ("optimize_layout_transform/symbolic.py", &[&[3, 8]]),
        ("optimize_layout_transform/nothing.py", &[&[4, 4]]),
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let passes = text.lines().next().and_then(|line| line.strip_prefix("# opt: ")).unwrap();
        let mut random = Random(fastrand::Rng::with_seed(7));
        let args: Vec<Any> = shapes.iter().map(|shape| tensor(&mut random, shape)).collect();
        let computed = |passes| run(&text, passes, &args).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(computed(""), computed(passes), "{file}");
    }
}

/// Constants in packed groups, with partial blocks and groups, and a dynamic number of rows.
#[test]
fn matmuls_with_packed_constants_compute_the_same() {
    let params = |module: &Module| {
        let kernels = module.tir_functions().filter(|(name, _)| name.as_str().ends_with("_prepacked"));
        kernels.flat_map(|(_, kernel)| kernel.buffers().cloned()).collect::<Vec<Buffer>>()
    };
    let mut random = Random(fastrand::Rng::with_seed(7));
    for (rows, terms, columns) in [("n", 30, 17), ("n", 7, 130), ("1", 13, 70), ("5", 8, 100)] {
        let args = [tensor(&mut random, &[rows.parse().unwrap_or(9), terms])];
        for (own, other, sum, words) in [
            ("int8", "int8", "int32", 4),
            ("uint8", "int8", "int32", 4),
            ("uint8", "uint8", "int32", 4),
            ("bfloat16", "bfloat16", "float32", 2),
        ] {
            let text = |matrix: &str, product: &str| {
                format!(
                    r#"
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({rows}, {terms}), "float32")):
        with R.dataflow():
            a = R.astype(R.multiply(x, R.const(50.0, "float32")), "{own}")
            v = R.sin(R.arange(0, {}, 1, dtype="float32"))
            w = R.reshape(R.astype(R.multiply(v, R.const(100.0, "float32")), "{other}"), R.shape([{matrix}]))
            y = R.astype(R.matmul(a, {product}, out_dtype="{sum}"), "float32")
            R.output(y)
        return y
"#,
                    terms * columns
                )
            };
            for text in
                [text(&format!("{terms}, {columns}"), "w"), text(&format!("{columns}, {terms}"), "R.permute_dims(w)")]
            {
                let run = |level, target: &str| {
                    let options = Options { target: target.into(), ..Options::default() };
                    run_at(level, &text, &Pipeline { steps: Vec::new() }, &options, &args)
                        .unwrap_or_else(|e| panic!("{text}{e}"))
                };
                let (plain, _) = run(1, "x86-64-v4");
                for target in ["znver4", "alderlake", "x86-64-v3"] {
                    let (packed, module) = run(2, target);
                    assert_eq!(plain, packed, "{target}{text}");
                    let params = params(&module);
                    let in_words = params.iter().any(|b| b.ndim() == 4 && b.shape[3].as_int() == Some(words));
                    assert_eq!(in_words, words == 4 || target == "znver4", "{target}{text}");
                    let sums = params.iter().any(|b| b.name.as_str().ends_with("_sums"));
                    assert_eq!(sums, words == 4 && own == other && target != "x86-64-v3", "{target}{text}");
                }
            }
        }
    }
}
