//! `--quantize`: matmuls with low-bit weights, compared with the definition of quantization, and the report.
#![cfg(feature = "llvm")]

use hammock_runtime::Tensor;
use hammock_tools::{load_npz, save_npz, save_safetensors};
use std::process::{Command, Output};

/// Matrix sizes that exceed the cache, so the weights are packed for a single row.
const INNER: usize = 516;
const COLUMNS: usize = 1100;

/// `DTYPE` is the dtype of the operands, `ROWS` a number or `n`.
const MODEL: &str = r#"
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((ROWS, 516), "DTYPE"), w: R.Tensor((516, 1100), "DTYPE")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="float32")
            R.output(y)
        return y
"#;

fn random(count: usize) -> Vec<f32> {
    (0..count).map(|_| fastrand::f32() * 2.0 - 1.0).collect()
}

/// Quantized weights: the nearest multiples of each group's scale.
fn rounded(weights: &[f32], most: f32, group: usize) -> Vec<f32> {
    let mut kept = weights.to_vec();
    for column in 0..COLUMNS {
        for first in (0..INNER).step_by(group) {
            let rows = first..(first + group).min(INNER);
            let largest = rows.clone().map(|row| weights[row * COLUMNS + column].abs()).fold(0.0, f32::max);
            for row in rows {
                let at = row * COLUMNS + column;
                kept[at] = (weights[at] / (largest / most)).round_ties_even() * (largest / most);
            }
        }
    }
    kept
}

#[test]
fn matmuls_match_the_definition_of_quantization() {
    fastrand::seed(5);
    let (x, w) = (random(20 * INNER), random(INNER * COLUMNS));
    let shape_w = [INNER as i64, COLUMNS as i64];
    let folder = tempfile::tempdir().unwrap();
    let hammock = |args: &[&str]| -> Output {
        let output =
            Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    };
    let write = |dtype: &str, x: Tensor, w: Tensor| {
        let rows = if x.shape()[0] == 3 { "n".to_owned() } else { x.shape()[0].to_string() };
        std::fs::write(folder.path().join("model.py"), MODEL.replace("DTYPE", dtype).replace("ROWS", &rows)).unwrap();
        save_npz(&folder.path().join("x.npz"), &[("x".to_owned(), x)]).unwrap();
        save_safetensors(&folder.path().join("w.safetensors"), &[("w".to_owned(), w)]).unwrap();
    };
    let halves =
        |values: &[f32]| -> Vec<half::f16> { values.iter().map(|value| half::f16::from_f32(*value)).collect() };
    for (rows, dtype, flags, most, group, said) in [
        (
            1,
            "float32",
            &["--quantize", "int8"][..],
            127.0,
            INNER,
            "2.270 MB become 0.572 MB, with a relative error of 0.39 %",
        ),
        (3, "float32", &["--quantize", "int8"], 127.0, INNER, "1 matrix in int8"),
        (1, "float32", &["--quantize", "int8", "--quantize-group", "64"], 127.0, 64, "become 0.607 MB"),
        (1, "float32", &["--quantize", "int4"], 7.0, 32, "become 0.361 MB, with a relative error of 6.8"),
        (3, "float32", &["--quantize", "int4"], 7.0, 32, "1 matrix in int4"),
        (20, "float32", &["--quantize", "int4"], 7.0, 32, "1 matrix in int4"),
        (20, "float32", &["--quantize", "int8"], 127.0, INNER, "1 matrix in int8"),
        (3, "float32", &["--quantize", "int4", "--quantize-group", "7", "-O0"], 7.0, 7, "1 matrix in int4"),
        (3, "float16", &["--quantize", "int4", "--quantize-group", "1000"], 7.0, INNER, "1.135 MB become 0.290 MB"),
    ] {
        // float16 values are exact in float32.
        let exact = |values: &[f32]| -> Vec<f32> { halves(values).iter().map(|value| value.to_f32()).collect() };
        let x = &x[..rows * INNER];
        let (x, w) = if dtype == "float16" { (exact(x), exact(&w)) } else { (x.to_vec(), w.clone()) };
        let shape_x = [rows as i64, INNER as i64];
        match dtype {
            "float16" => write(
                dtype,
                Tensor::from_slice(&shape_x, &halves(&x)).unwrap(),
                Tensor::from_slice(&shape_w, &halves(&w)).unwrap(),
            ),
            _ => write(dtype, Tensor::from_slice(&shape_x, &x).unwrap(), Tensor::from_slice(&shape_w, &w).unwrap()),
        }
        let run = ["run", "model.py", "--params", "w.safetensors", "--arg", "@x.npz#x", "--output", "y.npz"];
        let output = hammock(&[&run, flags].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        let tolerance = if dtype == "float16" { 1e-2 } else { 1e-4 };
        assert!(stderr.contains(said), "{flags:?}: {stderr}");
        let kept = rounded(&w, most, group);
        let found = load_npz(&folder.path().join("y.npz"), "0").unwrap();
        let found = found.as_slice::<f32>().unwrap();
        for (at, got) in found.iter().enumerate() {
            let (row, column) = (at / COLUMNS, at % COLUMNS);
            let terms = (0..INNER).map(|i| f64::from(x[row * INNER + i]) * f64::from(kept[i * COLUMNS + column]));
            let expected: f64 = terms.sum();
            assert!((f64::from(*got) - expected).abs() < tolerance, "{flags:?} at {at}: {got}, not {expected}");
        }
    }
}

/// Activations are the nearest multiples of the scale of each group, of rows of any number, and results those of exact
/// sums.
#[test]
fn activations_match_the_definition_of_quantization() {
    fastrand::seed(6);
    let (inner, columns) = (320, 70);
    let folder = tempfile::tempdir().unwrap();
    let w: Vec<f32> = random(inner * columns);
    let tensor = Tensor::from_slice(&[inner as i64, columns as i64], &w).unwrap();
    save_safetensors(&folder.path().join("w.safetensors"), &[("w".to_owned(), tensor)]).unwrap();
    for (rows, dtype, most, group, of_rows) in
        [(1, "int4", 7.0, 32, 32), (20, "int4", 7.0, 32, 32), (5, "int8", 127.0, inner, 64), (3, "int4", 7.0, 160, 40)]
    {
        let model = MODEL.replace("516", &inner.to_string()).replace("1100", &columns.to_string());
        let model = model.replace("DTYPE", "float32").replace("ROWS", if rows == 5 { "n" } else { "ROW" });
        std::fs::write(folder.path().join("model.py"), model.replace("ROW", &rows.to_string())).unwrap();
        let mut x = random(rows * inner);
        x[..of_rows].fill(0.0);
        let tensor = Tensor::from_slice(&[rows as i64, inner as i64], &x).unwrap();
        save_npz(&folder.path().join("x.npz"), &[("x".to_owned(), tensor)]).unwrap();
        let group_text = group.to_string();
        let flags = ["--quantize", dtype, "--quantize-group", &group_text, "--quantize-activations"];
        let run = ["run", "model.py", "--params", "w.safetensors", "--arg", "@x.npz#x", "--output", "y.npz"];
        let output = Command::new(env!("CARGO_BIN_EXE_hammock"))
            .args(run)
            .args(flags)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && stderr.contains("1 matmul with int8 activations"), "{stderr}");
        let step = |values: &dyn Fn(usize) -> f32, most: f32, first: usize, count: usize| {
            (first..first + count).map(|at| values(at).abs()).fold(0.0, f32::max) / most
        };
        let nearest = |values: &dyn Fn(usize) -> f32, most: f32, at: usize, group: usize| {
            let step = step(values, most, at / group * group, group);
            if step > 0.0 { (values(at) / step).round_ties_even() * step } else { 0.0 }
        };
        let found = load_npz(&folder.path().join("y.npz"), "0").unwrap();
        for (at, got) in found.as_slice::<f32>().unwrap().iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let (of_row, of_column) = (|k: usize| x[row * inner + k], |k: usize| w[k * columns + column]);
            let product = |k: usize| {
                f64::from(nearest(&of_row, 127.0, k, of_rows)) * f64::from(nearest(&of_column, most, k, group))
            };
            let expected: f64 = (0..inner).map(product).sum();
            // A tie may be rounded either way.
            assert!((f64::from(*got) - expected).abs() < 0.02, "{flags:?} at {at}: {got}, not {expected}");
        }
    }
}

/// Unsupported cases are reported.
#[test]
fn quantization_without_effect_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), MODEL.replace("DTYPE", "float32").replace("ROWS", "n")).unwrap();
    let said = |args: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder.path()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (fine, stderr) = said(&["compile", "model.py", "-o", "model.so", "--quantize", "int8"]);
    assert!(fine && stderr.contains("nothing quantized"), "{stderr}");
    let (fine, stderr) = said(&["run", "model.so", "--quantize", "int8", "--arg", "zeros(1,516):float32"]);
    assert!(!fine && stderr.contains("--quantize"), "{stderr}");
    let (fine, stderr) = said(&["compile", "model.py", "-o", "model.so", "--quantize-group", "8"]);
    assert!(!fine && stderr.contains("--quantize <DTYPE>"), "{stderr}");
}

/// Weights that exceed the cache are packed in the order in which a matmul reads them, for static and dynamic rows.
#[test]
fn quantized_weights_are_packed() {
    let folder = tempfile::tempdir().unwrap();
    let ones = Tensor::from_slice(&[INNER as i64, COLUMNS as i64], &vec![1f32; INNER * COLUMNS]).unwrap();
    save_safetensors(&folder.path().join("w.safetensors"), &[("w".to_owned(), ones)]).unwrap();
    for (rows, bits) in [("1", "int8"), ("1", "int4"), ("n", "int8"), ("n", "int4"), ("20", "int8"), ("20", "int4")] {
        std::fs::write(folder.path().join("model.py"), MODEL.replace("DTYPE", "float32").replace("ROWS", rows))
            .unwrap();
        let flags = ["--quantize", bits, "--print-plans", "--target-cpu", "x86-64-v4"];
        let mut opt = Command::new(env!("CARGO_BIN_EXE_hammock"));
        opt.args(["opt", "model.py", "--params", "w.safetensors"]).args(flags).current_dir(folder.path());
        let plans = String::from_utf8(opt.output().unwrap().stdout).unwrap();
        assert!(plans.contains("_prepacked:"), "{rows} rows in {bits}: {plans}");
    }
}
