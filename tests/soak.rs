//! Load test: threads that share one executable get the same results, and memory does not grow.
//!
//! A million calls: `cargo test --release --test soak -- --ignored --nocapture`.
#![cfg(all(feature = "cranelift", feature = "llvm"))]

use hammock_runtime::{Any, Library, Tensor, Vm, vm::Options};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const THREADS: usize = 4;
/// Batch sizes, which threads cycle through.
const BATCHES: [i64; 4] = [1, 2, 3, 7];
/// Tolerated growth of memory in KiB, for thread stacks.
const SLACK: u64 = 1024;

/// Returns the digits model in the given mode.
fn digits(mode: &str) -> Vm {
    let (root, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
    let library = folder.path().join("digits.so");
    let hammock = &mut Command::new(env!("CARGO_BIN_EXE_hammock"));
    hammock.current_dir(root).args(["compile", "ir-examples/digits/model.py", "--exec-mode", mode]);
    hammock.args(["--params", "ir-examples/digits/weights.safetensors", "-o"]).arg(&library);
    assert!(hammock.status().unwrap().success());
    Vm::from_library(&Arc::new(Library::open(&library).unwrap()), Options::default()).unwrap()
}

fn input(rows: i64) -> [Any; 1] {
    let values: Vec<f32> = (0..rows * 64).map(|i| (i * 37 % 17) as f32).collect();
    [Tensor::from_slice(&[rows, 64], &values).unwrap().into()]
}

fn classify(vm: &Vm, input: &[Any]) -> Vec<u8> {
    vm.call("main", input).unwrap().get::<&Tensor>().unwrap().as_bytes().unwrap().to_vec()
}

/// Returns the resident memory of the process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Calls the model `calls` times on several threads; returns the memory at the start, in the middle and at the end.
fn soak(mode: &str, calls: usize) -> [u64; 3] {
    let vm = digits(mode);
    let inputs = BATCHES.map(input);
    let expected = inputs.each_ref().map(|input| classify(&vm, input));
    let turn = |thread: usize, count: usize| {
        for i in thread..thread + count {
            let which = i % inputs.len();
            assert!(classify(&vm, &inputs[which]) == expected[which], "call {i} differs");
        }
    };
    // The first round warms up caches.
    [1000, calls / 2, calls / 2].map(|calls| {
        std::thread::scope(|scope| {
            (0..THREADS).for_each(|thread| {
                scope.spawn(move || turn(thread, calls / THREADS));
            });
        });
        resident()
    })
}

fn check(mode: &str, calls: usize) {
    let [start, middle, end] = soak(mode, calls);
    println!(
        "{mode}: {calls} calls on {THREADS} threads, {start} KiB at the start, {middle} in the middle, {end} at the end"
    );
    assert!(middle <= start + SLACK && end <= start + SLACK, "memory grows");
}

#[test]
fn threads_share_a_model() {
    check("bytecode", 20_000);
    check("compiled", 20_000);
}

#[test]
#[ignore = "for release builds"]
fn a_million_calls() {
    check("bytecode", 1_000_000);
    check("compiled", 1_000_000);
}
