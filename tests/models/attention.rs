//! Attention over long keys, which runs as an online softmax, compared with its definition in float64.
#![cfg(feature = "llvm")]

use hammock_runtime::Tensor;
use hammock_tools::{load_npz, save_npz};
use std::{
    path::Path,
    process::{Command, Output},
};

/// Head size: keys of a few hundred rows exceed half of the cache.
const SIZE: usize = 128;
const HEADS: usize = 2;

/// `ROWS` and `KEYS` are numbers, or `n` for the keys.
const MODEL: &str = r#"
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((2, ROWS, 128), "float32"), k: R.Tensor((2, KEYS, 128), "float32"), v: R.Tensor((2, KEYS, 128), "float32"), m: R.Tensor((ROWS, KEYS), "float32")):
        with R.dataflow():
            s = R.matmul(q, R.permute_dims(k, axes=[0, 2, 1]))
            b = R.add(s, m)
            p = R.nn.softmax(b, axis=-1)
            y = R.matmul(p, v)
            R.output(y)
        return y
"#;

struct Case {
    rows: usize,
    keys: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    mask: Vec<f32>,
}

impl Case {
    fn new(rows: usize, keys: usize) -> Case {
        let random = |count: usize| (0..count).map(|_| fastrand::f32() - 0.5).collect();
        let (q, k, v) = (random(HEADS * rows * SIZE), random(HEADS * keys * SIZE), random(HEADS * keys * SIZE));
        Case { rows, keys, q, k, v, mask: vec![0.0; rows * keys] }
    }

    /// Returns the results by the definition.
    fn expected(&self) -> Vec<f64> {
        let mut results = Vec::new();
        for head in 0..HEADS {
            for row in 0..self.rows {
                let q = &self.q[(head * self.rows + row) * SIZE..][..SIZE];
                let dot = |key: usize| {
                    let k = &self.k[(head * self.keys + key) * SIZE..][..SIZE];
                    q.iter().zip(k).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>()
                };
                let score = |key: usize| dot(key) + f64::from(self.mask[row * self.keys + key]);
                let scores: Vec<f64> = (0..self.keys).map(score).collect();
                let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, larger);
                let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
                let sum: f64 = weights.iter().sum();
                let value = |key: usize, at: usize| f64::from(self.v[(head * self.keys + key) * SIZE + at]);
                let result = |at| weights.iter().enumerate().map(|(key, weight)| weight / sum * value(key, at)).sum();
                results.extend((0..SIZE).map(result).collect::<Vec<f64>>());
            }
        }
        results
    }

    /// Compares the results of a compiled model with the definition.
    fn check(&self, folder: &Path, library: &str, threads: &str) {
        let tensor = |shape: &[usize], values: &[f32]| {
            Tensor::from_slice(&shape.iter().map(|size| *size as i64).collect::<Vec<_>>(), values).unwrap()
        };
        let (rows, keys) = (self.rows, self.keys);
        let inputs = [
            ("q", tensor(&[HEADS, rows, SIZE], &self.q)),
            ("k", tensor(&[HEADS, keys, SIZE], &self.k)),
            ("v", tensor(&[HEADS, keys, SIZE], &self.v)),
            ("m", tensor(&[rows, keys], &self.mask)),
        ];
        save_npz(&folder.join("in.npz"), &inputs.map(|(name, tensor)| (name.to_owned(), tensor))).unwrap();
        let arguments = ["q", "k", "v", "m"].map(|name| format!("@in.npz#{name}"));
        let mut command = vec!["run", library, "--output", "out.npz", "--threads", threads];
        arguments.iter().for_each(|argument| command.extend(["--arg", argument.as_str()]));
        hammock(folder, &command);
        let results = load_npz(&folder.join("out.npz"), "0").unwrap();
        let results = results.as_slice::<f32>().unwrap();
        let expected = self.expected();
        assert_eq!(results.len(), expected.len());
        for (at, (result, expected)) in results.iter().zip(&expected).enumerate() {
            let is_close = (f64::from(*result) - expected).abs() < 2e-6;
            assert!(is_close || result.is_nan() && expected.is_nan(), "{rows} x {keys}, {at}: {result} {expected}");
        }
    }
}

fn hammock(folder: &Path, args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Compiles a model, whose plan is an online softmax.
fn compile(folder: &Path, rows: usize, keys: &str) {
    let model = MODEL.replace("ROWS", &rows.to_string()).replace("KEYS", keys);
    std::fs::write(folder.join("model.py"), model).unwrap();
    let plans = hammock(folder, &["opt", "model.py", "--print-plans"]);
    let plans = String::from_utf8(plans.stdout).unwrap();
    assert!(plans.contains(", online "), "{plans}");
    hammock(folder, &["compile", "model.py", "-o", "model.so"]);
}

#[test]
fn tiles_of_keys_match_the_definition() {
    fastrand::seed(3);
    let folder = tempfile::tempdir().unwrap();
    for (rows, keys) in [(17, 700), (64, 1024), (81, 777)] {
        compile(folder.path(), rows, &keys.to_string());
        ["1", "2"].iter().for_each(|threads| Case::new(rows, keys).check(folder.path(), "model.so", threads));
    }
}

#[test]
fn any_number_of_keys_matches_the_definition() {
    fastrand::seed(4);
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), 20, "n");
    for keys in [0, 1, 5, 255, 256, 257, 640] {
        Case::new(20, keys).check(folder.path(), "model.so", "2");
    }
}

#[test]
fn masks_nan_and_infinities_match_the_definition() {
    fastrand::seed(5);
    let folder = tempfile::tempdir().unwrap();
    let (rows, keys) = (32, 600);
    compile(folder.path(), rows, &keys.to_string());
    let hidden = f32::NEG_INFINITY;
    let mut case = Case::new(rows, keys);
    for row in 0..rows {
        // A causal mask, of which the first row sees the last keys only, and one row that sees none.
        (0..keys).filter(|key| row > 0 && *key > row * 15).for_each(|key| case.mask[row * keys + key] = hidden);
    }
    (0..keys - 3).for_each(|key| case.mask[key] = hidden);
    (0..keys).for_each(|key| case.mask[7 * keys + key] = hidden);
    case.check(folder.path(), "model.so", "1");
    // Large scores in late tiles rescale all before.
    (0..keys).for_each(|key| case.mask[9 * keys + key] = if key == 500 { 300.0 } else { 0.0 });
    case.mask[10 * keys + 100] = f32::NAN;
    case.mask[11 * keys + 599] = f32::NAN;
    case.mask[12 * keys + 300] = f32::INFINITY;
    case.v[keys * SIZE + 5] = f32::NAN;
    case.check(folder.path(), "model.so", "2");
}
