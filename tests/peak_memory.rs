//! Peak memory of compilation: weights are not copied on the way from their file to the compiled one.

use hammock_compiler::{Emit, Evaluator, Named, Options, ReadOptions, bind, compile, lower, read_text, read_weights};
use hammock_diagnostics::SourceFile;
use hammock_passes::{NamedTensors, pipeline};
use hammock_runtime::Tensor;
use hammock_tools::save_safetensors;
use std::path::Path;

/// Number of square weights of the first model.
const COUNT: usize = 6;

/// A chain of matmuls with transposed weights; the operators between them prevent constant folding of their products.
fn model(size: usize, count: usize) -> String {
    let params: Vec<String> = (0..count).map(|i| format!("w{i}: R.Tensor(({size}, {size}), \"float32\")")).collect();
    let steps =
        (0..count).map(|i| format!("            y{} = R.nn.relu(R.matmul(y{i}, R.permute_dims(w{i})))\n", i + 1));
    format!(
        "@I.ir_module\nclass Module:\n    @R.function\n    def main(y0: R.Tensor((1, {size}), \"float32\"), {}):\n        \
         with R.dataflow():\n{}            R.output(y{count})\n        return y{count}\n",
        params.join(", "),
        steps.collect::<String>()
    )
}

/// Compiles the model like the command line; returns the size of the file.
fn compile_model(folder: &Path, size: usize, count: usize) -> usize {
    let path = folder.join(format!("{size}.safetensors"));
    let weight = |i| {
        let values = vec![i as f32; size * size];
        (format!("w{i}"), Tensor::from_slice(&[size as i64, size as i64], &values).unwrap())
    };
    save_safetensors(&path, &(0..count).map(weight).collect::<Vec<_>>()).unwrap();
    reset_peak();
    let source = SourceFile::new("model.py".to_owned(), model(size, count)).unwrap();
    let mut module = read_text(&source, &ReadOptions::default()).unwrap();
    let weights = read_weights(&path).unwrap();
    assert!(Named(&weights).named("w0").is_some());
    bind(&mut module, &weights).unwrap();
    drop(weights);
    let (options, evaluator) = (Options { threads: 1, ..Options::default() }, Evaluator::new());
    lower(&mut module, &source, &pipeline(options.level), &options.environment(&evaluator), &mut Default::default())
        .unwrap();
    let artifact = compile(&module, &source, &options, Emit::Lib).unwrap();
    let mut written = std::fs::File::create(folder.join("model.so")).unwrap();
    artifact.file.write(&mut written).unwrap();
    written.metadata().unwrap().len() as usize
}

/// Returns a line of `/proc/self/status`, in bytes.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Resets the peak.
fn reset_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

#[test]
fn weights_are_in_memory_once() {
    let folder = tempfile::tempdir().unwrap();
    // Memory of the compiler itself.
    compile_model(folder.path(), 64, COUNT);
    let before = status("VmRSS:");
    let size = 2048;
    let weights = COUNT * size * size * 4;
    assert!(compile_model(folder.path(), size, COUNT) > weights);
    let more = status("VmHWM:") - before;
    assert!(more < weights + weights / 4 + (20 << 20), "{more} bytes for weights of {weights}");
    // In the same test, since peak memory is per process.
    less_than_two_copies_of_a_single_weight(folder.path());
}

/// A large weight and its transformed copy are not in memory at the same time.
fn less_than_two_copies_of_a_single_weight(folder: &Path) {
    let before = status("VmRSS:");
    let size = 6144;
    let weight = size * size * 4;
    assert!(compile_model(folder, size, 1) > weight);
    let more = status("VmHWM:") - before;
    assert!(more < weight + weight / 2 + (20 << 20), "{more} bytes for a weight of {weight}");
}
