//! The language model of `ir-examples/tiny-lm`: its logits match the trained network, do not depend on the use of the
//! cache, and generated text is streamed.
#![cfg(feature = "llvm")]

use hammock_runtime::{Any, Library, Tensor, Tuple, Vm, vm::Options};
use hammock_tools::load_npz;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, LazyLock},
};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ir-examples/tiny-lm")
}

fn hammock(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Compiles the model to a library.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("model.so");
        hammock(&["compile", "model.py", "--params", "weights.safetensors", "-o", library.to_str().unwrap()]);
        (folder, library)
    });
    &LIBRARY.1
}

fn machine() -> Vm {
    Vm::from_library(&Arc::new(Library::open(library()).unwrap()), Options::default()).unwrap()
}

fn recorded(name: &str) -> Tensor {
    load_npz(&folder().join("expected.npz"), name).unwrap()
}

fn tokens(bytes: &[i64]) -> Any {
    Tensor::from_slice(&[bytes.len() as i64], bytes).unwrap().into()
}

/// Returns the logits for each byte of a prompt, and the caches after it.
fn prefill(vm: &Vm, bytes: &[i64]) -> (Vec<f32>, Any) {
    let result = vm.call("prefill", &[tokens(bytes)]).unwrap();
    let [logits, caches] = &result.get::<&Tuple>().unwrap()[..] else { panic!("{result}") };
    (floats(logits), caches.clone())
}

fn floats(tensor: &Any) -> Vec<f32> {
    tensor.get::<&Tensor>().unwrap().as_slice::<f32>().unwrap().to_vec()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Logits match those of the trained network in float64.
#[test]
fn logits_match_the_trained_network() {
    let (prompt, expected) = (recorded("prompt"), recorded("logits"));
    let (logits, _) = prefill(&machine(), prompt.as_slice().unwrap());
    let difference = largest_difference(&logits, expected.as_slice().unwrap());
    assert!(difference < 1e-3, "{difference}");
}

/// Logits do not depend on the chunk size, for prompts longer than the attention window and the initial cache capacity.
#[test]
fn logits_do_not_depend_on_the_cache() {
    let vm = machine();
    let text = std::fs::read(folder().join("text.txt")).unwrap();
    let bytes: Vec<i64> = text[5000..5300].iter().map(|byte| i64::from(*byte)).collect();
    let (whole, _) = prefill(&vm, &bytes);
    let (mut logits, caches) = prefill(&vm, &bytes[..40]);
    for count in [1, 1, 30, 64, 1, 100, 3, 1].into_iter().cycle() {
        let start = logits.len() / 256;
        let next = &bytes[start..(start + count).min(bytes.len())];
        if next.is_empty() {
            break;
        }
        let more = vm.call("decode", &[tokens(next), (start as i64).into(), caches.clone()]).unwrap();
        logits.extend(floats(&more));
    }
    let difference = largest_difference(&logits, &whole);
    assert!(difference < 1e-4, "{difference}");
}

fn written(prompt: &str, settings: [&str; 5]) -> String {
    let prompt = format!("{prompt:?}");
    let args = [prompt.as_str()].into_iter().chain(settings).flat_map(|value| ["--arg", value]);
    let run = ["run", library().to_str().unwrap(), "--func", "generate"];
    let output = hammock(&run.into_iter().chain(args).collect::<Vec<_>>());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_follows_from_prompt_and_seed() {
    let text = |name: &str| -> String {
        recorded(name).as_slice::<i64>().unwrap().iter().map(|byte| char::from(*byte as u8)).collect()
    };
    let prompt = text("prompt");
    assert_eq!(written(&prompt, ["150", "0.0", "0", "1.0", "0"]), format!("{prompt}{}\n", text("greedy")));
    let drawn = |seed: &str| written("Alice", ["60", "0.8", "20", "0.9", seed]);
    assert_eq!(drawn("1"), drawn("1"));
    assert_ne!(drawn("1"), drawn("2"));
    assert_eq!(written("Alice", ["0", "0.8", "20", "0.9", "1"]), "Alice\n");
    // With top-k of 1, sampling equals temperature 0.
    assert_eq!(written(&prompt, ["20", "1.0", "1", "1.0", "5"]), written(&prompt, ["20", "0.0", "0", "1.0", "0"]));
}
