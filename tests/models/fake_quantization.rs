//! QDQ models computed in integer arithmetic, compared with the definition in integers and double precision. Scales are
//! powers of two, so floating point is exact as well, including ties of rounding.
#![cfg(feature = "llvm")]

use crate::support::{hammock, stdout};
use fastrand::Rng;
use hammock_runtime::Tensor;
use hammock_tools::{load_npz, save_npz, save_safetensors};
use std::{fmt::Write, path::Path};

/// Convolution of one image in NCHW.
struct Conv {
    channels: i64,
    results: i64,
    kernel: i64,
    stride: i64,
    pad: i64,
    groups: i64,
    size: i64,
    /// True if data and results are int8, and if weights are stored as uint8.
    signed: [bool; 2],
    unsigned_weights: bool,
    zeros: [i64; 2],
    /// Exponents of the power-of-two scale of each result.
    scales: Vec<i32>,
    x: Vec<i64>,
    w: Vec<i64>,
    bias: Vec<i64>,
    relu: bool,
    /// True if data are requantized, as models do between operators.
    again: bool,
}

const SCALE_X: f64 = 0.25;
const SCALE_Y: f64 = 8.0;

impl Conv {
    fn random(rng: &mut Rng) -> Conv {
        let groups = [1, 1, 1, 3][rng.usize(..4)];
        let (per_group, results) =
            if groups == 1 { (rng.i64(1..20), rng.i64(1..40)) } else { ([1, 2][rng.usize(..2)], 6) };
        let depthwise = groups > 1 && per_group == 1 && rng.bool();
        let (groups, results) = if depthwise { (20, 20) } else { (groups, results) };
        let (channels, kernel) = (per_group * groups, [1, 3, 3, 2][rng.usize(..4)]);
        let (stride, pad, size) = (rng.i64(1..3), rng.i64(0..2), rng.i64(5..12));
        let signed = [rng.bool(), rng.bool()];
        let zero = |rng: &mut Rng, signed: bool| {
            let (low, high) = bounds(signed);
            [0, rng.i64(low..=high)][rng.usize(..2)]
        };
        let zeros = [zero(rng, signed[0]), zero(rng, signed[1])];
        let (low, high) = bounds(signed[0]);
        let mut many = |count: i64, low: i64, high: i64| (0..count).map(|_| rng.i64(low..=high)).collect::<Vec<_>>();
        let x = many(channels * size * size, low, high);
        let w = many(results * per_group * kernel * kernel, -128, 127);
        let bias = many(results, -9000, 9000);
        let scales = many(results, -6, -2).into_iter().map(|v| v as i32).collect();
        let (unsigned_weights, relu, again) = (rng.bool(), rng.bool(), rng.bool());
        Conv {
            channels,
            results,
            kernel,
            stride,
            pad,
            groups,
            size,
            signed,
            unsigned_weights,
            zeros,
            scales,
            x,
            w,
            bias,
            relu,
            again,
        }
    }

    fn places(&self) -> i64 {
        (self.size + 2 * self.pad - self.kernel) / self.stride + 1
    }

    /// Returns the bindings that compute the convolution; the last one is `y{at}`.
    fn text(&self, at: usize) -> String {
        let dtype = |signed: bool| if signed { "int8" } else { "uint8" };
        let [x_dtype, y_dtype] = self.signed.map(dtype);
        let weight = if self.unsigned_weights { "uint8" } else { "int8" };
        let zero = if self.unsigned_weights { 128 } else { 0 };
        let [zx, zy] = self.zeros;
        let scales: Vec<String> = self.scales.iter().map(|e| f64::from(*e).exp2().to_string()).collect();
        let bias: Vec<String> = self.scales.iter().map(|e| (f64::from(*e).exp2() * SCALE_X).to_string()).collect();
        let none = vec!["0"; self.results as usize].join(", ");
        let none_of_weights = vec![zero.to_string(); self.results as usize].join(", ");
        let scaled = format!("R.const({SCALE_X}, \"float32\"), R.const({zx}, \"{x_dtype}\")");
        let data = match self.again {
            true => format!(
                "R.quantize(R.dequantize(x{at}, {scaled}, out_dtype=\"float32\"), {scaled}, out_dtype=\"{x_dtype}\")"
            ),
            false => format!("x{at}"),
        };
        let relu = if self.relu { format!("R.nn.relu(s{at})") } else { format!("s{at}") };
        format!(
            "            a{at} = R.dequantize({data}, {scaled}, out_dtype=\"float32\")
            k{at} = R.dequantize(w{at}, R.const([{}], \"float32\"), R.const([{none_of_weights}], \"{weight}\"), out_dtype=\"float32\", axis=0)
            b{at} = R.dequantize(c{at}, R.const([{}], \"float32\"), R.const([{none}], \"int32\"), out_dtype=\"float32\", axis=0)
            p{at} = R.nn.conv2d(a{at}, k{at}, strides={}, padding={}, groups={})
            s{at} = R.add(p{at}, R.reshape(b{at}, R.shape([1, {}, 1, 1])))
            y{at} = R.quantize({relu}, R.const({SCALE_Y}, \"float32\"), R.const({zy}, \"{y_dtype}\"), out_dtype=\"{y_dtype}\")\n",
            scales.join(", "),
            bias.join(", "),
            self.stride,
            self.pad,
            self.groups,
            self.results
        )
    }

    /// Returns the parameters: data, weights and the residual operand.
    fn parameters(&self, at: usize) -> [String; 3] {
        let (x, w) =
            (if self.signed[0] { "int8" } else { "uint8" }, if self.unsigned_weights { "uint8" } else { "int8" });
        let (size, kernel) = (self.size, self.kernel);
        [
            format!("x{at}: R.Tensor((1, {}, {size}, {size}), \"{x}\")", self.channels),
            format!(
                "w{at}: R.Tensor(({}, {}, {kernel}, {kernel}), \"{w}\")",
                self.results,
                self.channels / self.groups
            ),
            format!("c{at}: R.Tensor(({},), \"int32\")", self.results),
        ]
    }

    fn tensors(&self) -> [Tensor; 3] {
        let (size, kernel) = (self.size, self.kernel);
        let stored: Vec<i64> = self.w.iter().map(|w| w + if self.unsigned_weights { 128 } else { 0 }).collect();
        let bias: Vec<i32> = self.bias.iter().map(|b| *b as i32).collect();
        [
            bytes(&[1, self.channels, size, size], &self.x, self.signed[0]),
            bytes(&[self.results, self.channels / self.groups, kernel, kernel], &stored, !self.unsigned_weights),
            Tensor::from_slice(&[self.results], &bias).unwrap(),
        ]
    }

    /// Computes the result by the definition.
    fn expected(&self) -> Vec<i64> {
        let (places, per_group) = (self.places(), self.channels / self.groups);
        let (low, high) = bounds(self.signed[1]);
        let mut found = Vec::new();
        for o in 0..self.results {
            let first = o / (self.results / self.groups) * per_group;
            for (i, j) in (0..places).flat_map(|i| (0..places).map(move |j| (i, j))) {
                let mut sum = self.bias[o as usize];
                for c in 0..per_group {
                    for (u, v) in (0..self.kernel).flat_map(|u| (0..self.kernel).map(move |v| (u, v))) {
                        let (row, column) = (i * self.stride + u - self.pad, j * self.stride + v - self.pad);
                        if (0..self.size).contains(&row) && (0..self.size).contains(&column) {
                            let x = self.x[(((first + c) * self.size + row) * self.size + column) as usize];
                            let w = self.w[(((o * per_group + c) * self.kernel + u) * self.kernel + v) as usize];
                            sum += (x - self.zeros[0]) * w;
                        }
                    }
                }
                let real = sum as f64 * f64::from(self.scales[o as usize]).exp2() * SCALE_X;
                let real = if self.relu { real.max(0.0) } else { real };
                found.push(((real / SCALE_Y).round_ties_even() as i64 + self.zeros[1]).clamp(low, high));
            }
        }
        found
    }
}

fn bounds(signed: bool) -> (i64, i64) {
    if signed { (-128, 127) } else { (0, 255) }
}

fn bytes(shape: &[i64], values: &[i64], signed: bool) -> Tensor {
    match signed {
        true => Tensor::from_slice(shape, &values.iter().map(|v| *v as i8).collect::<Vec<_>>()).unwrap(),
        false => Tensor::from_slice(shape, &values.iter().map(|v| *v as u8).collect::<Vec<_>>()).unwrap(),
    }
}

/// Writes the model, its weights and its data; returns an `--arg` for each.
fn write(folder: &Path, convs: &[Conv]) -> Vec<String> {
    let (mut body, mut params, mut weights, mut data) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, conv) in convs.iter().enumerate() {
        body += &conv.text(at);
        let [x, w, c] = conv.tensors();
        params.push(conv.parameters(at));
        data.push((format!("x{at}"), x));
        weights.extend([(format!("w{at}"), w), (format!("c{at}"), c)]);
    }
    let by_kind = |kind: usize| params.iter().map(move |all| all[kind].clone());
    let params: Vec<String> = by_kind(0).chain(by_kind(1)).chain(by_kind(2)).collect();
    let results: Vec<String> = (0..convs.len()).map(|at| format!("y{at}")).collect();
    let mut text = "@I.ir_module\nclass Module:\n    @R.function\n".to_owned();
    writeln!(text, "    def main({}):", params.join(", ")).unwrap();
    writeln!(text, "        R.func_attr({{\"num_input\": {}}})\n        with R.dataflow():\n{body}", convs.len())
        .unwrap();
    writeln!(text, "            out = ({},)\n            R.output(out)\n        return out", results.join(", "))
        .unwrap();
    std::fs::write(folder.join("model.py"), text).unwrap();
    save_safetensors(&folder.join("w.safetensors"), &weights).unwrap();
    save_npz(&folder.join("x.npz"), &data).unwrap();
    (0..convs.len()).flat_map(|at| ["--arg".to_owned(), format!("@x.npz#x{at}")]).collect()
}

#[test]
fn convolutions_match_the_definition() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::with_seed(11);
    let convs: Vec<Conv> = (0..10).map(|_| Conv::random(&mut rng)).collect();
    let args = write(folder.path(), &convs);
    let text = stdout(hammock(
        folder.path(),
        &["opt", "model.py", "--params", "w.safetensors", "--passes", "FakeQuantizationToInteger"],
    ));
    assert_eq!(text.matches("out_dtype=\"int32\"").count(), convs.len());
    let given: Vec<&str> = args.iter().map(String::as_str).collect();
    // Wide vectors, and a CPU without int8 dot products.
    for flags in [&[][..], &["--target-cpu", "x86-64-v3"], &["-O0"]] {
        let run = ["run", "model.py", "--params", "w.safetensors", "--output", "y.npz"];
        stdout(hammock(folder.path(), &[&run[..], flags, &given].concat()));
        for (at, conv) in convs.iter().enumerate() {
            let found = load_npz(&folder.path().join("y.npz"), &at.to_string()).unwrap();
            let found: Vec<i64> = match conv.signed[1] {
                true => found.as_slice::<i8>().unwrap().iter().map(|v| (*v).into()).collect(),
                false => found.as_slice::<u8>().unwrap().iter().map(|v| (*v).into()).collect(),
            };
            assert_eq!(found, conv.expected(), "{flags:?}: {}", conv.text(at));
        }
    }
}
