//! Programs on a CUDA device, which the emulator of the driver runs: their results are those of the CPU.

#[path = "cuda/cublas.rs"]
mod cublas;
#[allow(dead_code)]
mod support;

use std::{
    path::Path,
    process::{Command, Output},
};
use support::{emulated, emulated_with, hammock, root, stdout};

const CUDA: [&str; 4] = ["--target", "cuda", "--device", "cuda:0"];

/// Runs a program on the CPU and on the device, and compares the results.
fn compare(folder: &Path, run: &[&str]) {
    let results = tempfile::tempdir().unwrap();
    let results = results.path().join("cpu.npz").display().to_string();
    stdout(hammock(folder, &[run, &["--output", &results]].concat()));
    stdout(emulated(folder, &[run, &CUDA, &["--expect", &results]].concat()));
}

#[test]
fn digits_are_those_of_the_cpu() {
    let folder = root().join("ir-examples/digits");
    let weights = ["--params", "weights.safetensors"];
    compare(&folder, &[&["run", "model.py", "--arg", "random(4,64):float32"][..], &weights].concat());
}

#[test]
fn text_is_generated_as_on_the_cpu() {
    let folder = root().join("ir-examples/tiny-lm");
    let run = ["run", "model.py", "--params", "weights.safetensors", "--func", "generate"];
    let sizes = ["--arg", "prompt=\"Alice was\"", "--arg", "count=8", "--arg", "temperature=0.0"];
    let choice = ["--arg", "top_k=1", "--arg", "top_p=1.0", "--arg", "seed=1"];
    let run = [&run[..], &sizes, &choice].concat();
    assert_eq!(stdout(emulated(&folder, &[&run[..], &CUDA].concat())), stdout(hammock(&folder, &run)));
}

#[test]
fn models_match_onnx_runtime() {
    let folder = root().join("tests/onnx");
    for name in ["cnn", "encoder", "attention", "recurrent", "quantized", "positions", "rearranged", "windows"] {
        let inputs = hammock_tools::Weights::open(&folder.join(format!("{name}.inputs.npz"))).unwrap();
        let inputs = (0..inputs.iter().count()).map(|input| format!("--arg=@{name}.inputs.npz#{input}"));
        let files = [format!("{name}.onnx"), "--expect".to_owned(), format!("{name}.expected.npz")];
        let args: Vec<String> = ["run".to_owned()].into_iter().chain(files).chain(inputs).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).chain(CUDA).collect();
        stdout(emulated(&folder, &args));
    }
}

#[test]
fn examples_of_operators_match_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let examples = hammock_ops::ops().filter_map(|op| Some((op.example_module()?, op.example?.values())));
    for (module, values) in examples.step_by(10) {
        std::fs::write(folder.path().join("example.py"), module).unwrap();
        let args = values.iter().flat_map(|value| ["--arg", value.as_str()]);
        compare(folder.path(), &["run", "example.py"].into_iter().chain(args).collect::<Vec<_>>());
    }
}

#[test]
fn language_examples_print_the_same() {
    let folder = root().join("ir-examples/language");
    let mut count = 0;
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let commands = text.lines().filter_map(|line| line.strip_prefix("# $ hammock run "));
        for command in commands.filter(|command| !command.contains("--device")) {
            let args = shell_words(command);
            let run: Vec<&str> = ["run"].into_iter().chain(args.iter().map(String::as_str)).collect();
            let output = emulated(&folder, &[&run[..], &CUDA].concat());
            assert_eq!(text_of(&output), text_of(&hammock(&folder, &run)), "{command}");
            count += 1;
        }
    }
    assert!(count >= 15, "only {count} commands were found");
}

fn text_of(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Splits a command into words; single quotes group.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut quoted, mut word) = (Vec::new(), false, String::new());
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn failed_checks_are_reported_as_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), \"float32\"), i: R.Tensor((2,), \"int64\")) -> R.Tensor((2,), \"float32\"):
        y = R.take(x, i, axis=0)
        return y
";
    std::fs::write(folder.path().join("model.py"), text).unwrap();
    let run = ["run", "model.py", "--arg", "[1, 2, 3, 4]:float32", "--arg", "[1, 7]:int64"];
    let cpu = hammock(&folder, &run);
    let device = emulated(&folder, &[&run[..], &CUDA].concat());
    assert!(!device.status.success());
    assert_eq!(text_of(&device), text_of(&cpu));
}

/// Kernels that only check that nothing is divided by zero, at the level at which LLVM optimizes most.
#[test]
fn tensors_without_elements_are_divided() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 0), \"int32\")):
        return R.floor_divide(x, x)
";
    std::fs::write(folder.path().join("model.py"), text).unwrap();
    for level in ["-O0", "-O2", "-O3"] {
        compare(folder.path(), &["run", "model.py", level, "--arg", "zeros(4,0):int32"]);
    }
}

#[test]
fn runs_name_their_device() {
    let folder = root().join("ir-examples/language");
    let args = ["run", "01_module.py", "--arg", "[1, 2, 3]:float32", "-v"];
    let output = emulated(&folder, &[&args[..], &CUDA].concat());
    let device = "cuda:0 (CUDA emulator 0 (sm_80)): compute capability 8.0, 4.0 GiB of memory, driver for CUDA 12.9";
    let said = text_of(&output);
    assert!(said.contains(&format!("loading\n  {device}\n")), "{said}");
    let output = hammock(&folder, &args);
    assert!(!text_of(&output).contains("cpu"), "{}", text_of(&output));
}

/// A step that appends to a cache of keys and one of values, and attends to them, as often as `left` says.
const DECODER: &str = "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 8), \"float32\"), w: R.Tensor((8, 8), \"float32\"), keys: R.Tensor((16, 8), \"float32\"), values: R.Tensor((16, 8), \"float32\"), left: R.Prim(value=\"left\")) -> R.Tensor((1, 8), \"float32\"):
        cls = Module
        return cls.step(x, w, keys, values, R.prim_value(0), left)

    @R.function(private=True)
    def step(x: R.Tensor((1, 8), \"float32\"), w: R.Tensor((8, 8), \"float32\"), keys: R.Tensor((16, 8), \"float32\"), values: R.Tensor((16, 8), \"float32\"), position: R.Prim(value=\"position\"), left: R.Prim(value=\"left\")) -> R.Tensor((1, 8), \"float32\"):
        cls = Module
        at = R.broadcast_to(R.reshape(R.arange(position, position + 1, dtype=\"int64\"), R.shape([1, 1])), R.shape([1, 8]))
        k = R.matmul(x, w)
        new_keys = R.scatter_elements(keys, at, k, axis=0)
        new_values = R.scatter_elements(values, at, R.tanh(k), axis=0)
        scores = R.nn.softmax(R.matmul(x, R.permute_dims(new_keys)))
        y = R.add(x, R.matmul(scores, new_values))
        done = R.prim_value(left <= 1)
        if done:
            result = y
        else:
            result = cls.step(y, w, new_keys, new_values, position + 1, left - 1)
        return result
";

#[test]
fn a_decode_step_is_one_launch_of_a_graph() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("decoder.py"), DECODER).unwrap();
    let random = ["--arg", "random(1,8):float32", "--arg", "random(8,8):float32"];
    let run = [&["run", "decoder.py"], &random[..], &["--arg", "zeros", "--arg", "zeros", "--arg", "5"]].concat();
    stdout(hammock(folder.path(), &[&run[..], &["--output", "cpu.npz"]].concat()));
    let counters = folder.path().join("counters").display().to_string();
    let on_device = [&run[..], &CUDA, &["--expect", "cpu.npz"]].concat();
    stdout(emulated_with(&[("COUNTERS", &counters)], folder.path(), &on_device));
    let text = std::fs::read_to_string(counters).unwrap();
    let number = |line: &str| line.split("\"launch\":").nth(1).unwrap().trim_end_matches('}').to_owned();
    let launches: std::collections::BTreeSet<String> = text.lines().map(number).collect();
    let kernels = text.lines().count() / 5;
    // The first step launches its kernels one by one.
    assert!(kernels >= 5 && launches.len() == kernels + 4, "{kernels} kernels, {} launches", launches.len());
}

/// Returns the error text of a failing run of a model in the folder.
fn failure(variables: &[(&str, &str)], folder: &Path, args: &[&str]) -> String {
    let output = emulated_with(variables, folder, args);
    assert!(!output.status.success());
    text_of(&output)
}

#[test]
fn failures_of_drivers_and_devices_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((\"n\",), \"float32\")) -> R.Tensor((\"n\",), \"float32\"):
        return R.exp(x)
";
    std::fs::write(folder.path().join("model.py"), text).unwrap();
    let run = ["run", "model.py", "--device", "cuda:0", "--arg", "zeros(8):float32", "--target"];
    let said = |variables: &[(&str, &str)], target| failure(variables, folder.path(), &[&run[..], &[target]].concat());
    let large = ["run", "model.py", "--target", "cuda", "--arg", "zeros(1000000):float32"];
    support::snapshot("cuda", "no_device", &said(&[("NO_DEVICE", "1")], "cuda"));
    support::snapshot("cuda", "old_driver", &said(&[("DRIVER_VERSION", "10020")], "cuda"));
    support::snapshot("cuda", "older_device", &said(&[], "cuda:sm_90"));
    support::snapshot("cuda", "out_of_memory", &failure(&[("MEMORY", "4194304")], folder.path(), &large));
    support::snapshot("cuda", "refused_launch", &said(&[("FAIL_LAUNCH", "1")], "cuda"));
    support::snapshot("cuda", "fault", &said(&[("STICKY_AT", "1")], "cuda"));
    if !Path::new("/dev/nvidiactl").exists() {
        let output = hammock(folder.path(), &[&run[..], &["cuda"]].concat());
        assert!(!output.status.success());
        support::snapshot("cuda", "no_driver", &text_of(&output));
    }
}

#[test]
fn targets_are_checked() {
    let folder = root().join("ir-examples/language");
    let said = |args: &[&str]| {
        let output = hammock(&folder, args);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let compile = ["compile", "01_module.py", "-o", "/dev/null", "--target"];
    let unknown = said(&[&compile[..], &["cuda:sm_52"]].concat());
    assert!(unknown.contains("there is no GPU architecture `sm_52`") && unknown.contains("`cuda:sm_90`"), "{unknown}");
    let spelling = said(&[&compile[..], &["sm_80"]].concat());
    assert!(spelling.contains("did you mean `cuda:sm_80`?"), "{spelling}");
    let tvm = said(&[&compile[..], &["cuda", "--emit", "tvm"]].concat());
    assert!(tvm.contains("for CPUs only"), "{tvm}");
    let cpu = said(&["compile", "01_module.py", "-o", "/dev/null", "--emit", "ptx"]);
    assert!(cpu.contains("add `--target cuda`"), "{cpu}");
}

#[test]
fn device_code_can_be_written_and_listed() {
    let folder = root().join("ir-examples/language");
    let results = tempfile::tempdir().unwrap();
    let path = |name: &str| results.path().join(name).display().to_string();
    let compile = |emit: &str, output: &str| {
        let args = ["compile", "01_module.py", "--target", "cuda:sm_90", "--emit", emit, "-o", output];
        stdout(hammock(&folder, &args));
    };
    let ptx = path("model.ptx");
    compile("ptx", &ptx);
    let text = std::fs::read_to_string(&ptx).unwrap();
    assert!(text.contains(".target sm_90") && text.contains(".visible .entry add_kernel("), "{text}");
    let library = path("model.so");
    compile("lib", &library);
    let listed = stdout(hammock(&folder, &["inspect", &library, "--stats"]));
    assert!(listed.contains("Device functions for sm_90:\n  add_kernel of add:"), "{listed}");
    // Instead of NVIDIA's assembler.
    let ptxas = "#!/bin/sh\ngrep -q 'target sm_90' /dev/stdin && echo \"Compiling entry function 'add_kernel' for $3
Used 12 registers\"\n";
    let assembler = results.path().join("ptxas");
    std::fs::write(&assembler, ptxas).unwrap();
    std::fs::set_permissions(&assembler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", results.path().display(), std::env::var("PATH").unwrap());
    let inspect = ["inspect", &library, "--stats"];
    let listed = Command::new(env!("CARGO_BIN_EXE_hammock")).args(inspect).env("PATH", path).output().unwrap();
    let listed = stdout(listed);
    assert!(listed.contains(" bytes of shared memory, 12 registers\n"), "{listed}");
}

/// A dense layer. Sizes are rows, columns and the reduction; `weight` is its weight's shape, and `product` multiplies.
fn layer(dtype: &str, [m, n, k]: [&str; 3], transposed: bool) -> String {
    let (weight, product) = match transposed {
        true => (format!("{n}, {k}"), "R.matmul(x, R.permute_dims(w)"),
        false => (format!("{k}, {n}"), "R.matmul(x, w"),
    };
    let sums = if dtype == "int8" { "int32" } else { dtype };
    let out = if dtype == "int8" { ", out_dtype=\"int32\")" } else { ")" };
    format!(
        "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({m}, {k}), \"{dtype}\"), w: R.Tensor(({weight}), \"{dtype}\"), b: R.Tensor(({n},), \"{sums}\")):
        with R.dataflow():
            a = {product}{out}
            y = R.nn.relu(R.add(a, b))
            R.output(y)
        return y
"
    )
}

/// Runs a program of a folder on the CPU and on the device, and compares the results; returns the kernels' counters.
fn counters(folder: &Path, run: &[&str]) -> String {
    let driver = hammock_cuda_emulator::library::folder().unwrap();
    let [results, counters] = ["cpu.npz", "counters"].map(|name| folder.join(name).display().to_string());
    stdout(hammock(folder, &[run, &["--output", &results]].concat()));
    let _ = std::fs::remove_file(&counters);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    // Sums are in another order, so narrow floats may round to a neighbour.
    command.args(run).args(CUDA).args(["--expect", &results, "--rtol", "0.01", "--atol", "0.02"]);
    command.current_dir(folder).env("LD_LIBRARY_PATH", driver).env("CUDA_EMULATOR_COUNTERS", &counters);
    stdout(command.output().unwrap());
    std::fs::read_to_string(&counters).unwrap()
}

/// Sums the counters of this name of all kernels.
fn counted(counters: &str, name: &str) -> u64 {
    let key = format!("\"{name}\":");
    let values =
        counters.lines().filter_map(|line| line.split_once(&key)?.1.split([',', '}']).next()?.parse::<u64>().ok());
    values.sum()
}

#[test]
fn contractions_run_on_tensor_cores() {
    let folder = tempfile::tempdir().unwrap();
    let run = |dtype: &str, sizes: [i64; 3], is_dynamic: bool, transposed: bool| {
        let constants = sizes.map(|size| size.to_string());
        let names = if is_dynamic { ["\"m\"", "\"n\"", "\"k\""] } else { constants.each_ref().map(String::as_str) };
        std::fs::write(folder.path().join("layer.py"), layer(dtype, names, transposed)).unwrap();
        let [m, n, k] = sizes;
        let weight = if transposed { format!("{n},{k}") } else { format!("{k},{n}") };
        let sums = if dtype == "int8" { "int32" } else { dtype };
        let shapes = [(format!("{m},{k}"), dtype), (weight, dtype), (n.to_string(), sums)];
        let args = shapes.iter().flat_map(|(shape, dtype)| ["--arg".to_owned(), format!("random({shape}):{dtype}")]);
        let args: Vec<String> = ["run".to_owned(), "layer.py".to_owned()].into_iter().chain(args).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        counters(folder.path(), &args)
    };
    // One, primes, less than a tile, several tiles; with aligned rows and without.
    let shapes = [[1, 1, 1], [2, 3, 5], [17, 31, 47], [64, 72, 128], [33, 65, 129], [67, 8, 16], [129, 40, 200]];
    for (number, sizes) in shapes.into_iter().enumerate() {
        for dtype in ["float16", "bfloat16", "int8"] {
            let is_dynamic = number % 2 == 0;
            let counters = run(dtype, sizes, is_dynamic, number % 3 == 0);
            let expected = is_dynamic || sizes.iter().all(|size| *size >= 8);
            assert_eq!(counted(&counters, "mma") > 0, expected, "{dtype} {sizes:?} {is_dynamic}: {counters}");
        }
    }
    for dtype in ["float16", "bfloat16"] {
        let counters = run(dtype, [96, 128, 256], false, false);
        let layer: String = counters.lines().filter(|line| counted(line, "mma") > 0).collect();
        assert_eq!(counted(&layer, "bank_conflicts"), 0, "{counters}");
    }
}

#[test]
fn convolutions_run_on_tensor_cores() {
    let folder = tempfile::tempdir().unwrap();
    // Channels last, and channels first with strides; an odd number of channels is no multiple of a tile.
    let cases = [
        ("1, 9, 10, 64", "3, 3, 64, 40", "padding=[1, 1], data_layout=\"NHWC\", kernel_layout=\"HWIO\""),
        ("2, 13, 17, 18", "24, 13, 3, 3", "padding=[1, 1], strides=[2, 2]"),
    ];
    for (input, weight, attributes) in cases {
        let module = format!(
            "\
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({input}), \"float16\"), w: R.Tensor(({weight}), \"float16\")):
        with R.dataflow():
            y = R.nn.relu(R.nn.conv2d(x, w, {attributes}))
            R.output(y)
        return y
"
        );
        std::fs::write(folder.path().join("conv.py"), module).unwrap();
        let args = [input, weight].map(|shape| format!("random({shape}):float16").replace(' ', ""));
        let run = ["run", "conv.py", "--arg", &args[0], "--arg", &args[1]];
        let counters = counters(folder.path(), &run);
        assert!(counted(&counters, "mma") > 0, "{counters}");
    }
}
