//! Printed plans of a module with every class of kernels, for CPUs with wide and narrow vectors.
#![cfg(feature = "llvm")]

mod files;

#[path = "../networks/mod.rs"]
mod networks;

#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;

use networks::Network;
use std::{fs, process::Output};
use support::{hammock, snapshot, stdout};
use tempfile::TempDir;

const CLASSES: &str = include_str!("classes.py");
const CACHE: &str = include_str!("cache.py");
const TOKENS: &str = include_str!("tokens.py");
const NARROW: &str = include_str!("narrow.py");
const WEIGHTS: &str = include_str!("weights.py");
const ATTENTION: &str = include_str!("attention.py");
const UPSAMPLING: &str = include_str!("upsampling.py");

/// Module `model.py` in a temporary folder.
struct Model(TempDir);

impl Model {
    fn new(text: &str) -> Model {
        let model = Model(tempfile::tempdir().unwrap());
        model.write("model.py", text);
        model
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn hammock(&self, args: &[&[&str]]) -> Output {
        hammock(&self.0, &args.concat())
    }

    /// Returns the plans that the rules choose for a CPU.
    fn plans(&self, target: &str) -> String {
        stdout(self.hammock(&[&["opt", "model.py", "--print-plans", "--target-cpu", target]]))
    }

    /// Returns the plans with those of a file applied.
    fn planned(&self, plan: &str, flags: &[&str]) -> Output {
        self.write("plan.txt", plan);
        self.hammock(&[&["opt", "model.py", "--plan", "plan.txt"], flags])
    }

    /// Returns the messages for a file of rejected plans.
    fn refused(&self, plan: &str, flags: &[&str]) -> String {
        let output = self.planned(plan, flags);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{plan}\n{said}");
        assert!(said.contains("error[E0311]") && said.contains("plan.txt:"), "{plan}\n{said}");
        said
    }
}

#[test]
fn plans_of_every_class_are_printed() {
    let model = Model::new(CLASSES);
    snapshot("plans", "wide", &model.plans("x86-64-v4"));
    snapshot("plans", "narrow", &model.plans("x86-64-v2"));
}

#[test]
fn printed_plans_parse_to_the_same_plans() {
    let model = Model::new(CLASSES);
    for flags in [&["--target-cpu", "x86-64-v4"][..], &["--target-cpu", "x86-64"], &["-O0"], &["-O3", "--strict-order"]]
    {
        let printed = stdout(model.hammock(&[&["opt", "model.py", "--print-plans"], flags]));
        assert_eq!(stdout(model.planned(&printed, flags)), printed);
    }
}

#[test]
fn kernels_over_a_cache_have_plans() {
    let model = Model::new(CACHE);
    snapshot("plans", "cache", &model.plans("x86-64-v4"));
}

/// The cache may be empty, and there may be a single row.
#[test]
fn kernels_over_a_cache_match_the_reference() {
    let model = Model::new(CACHE);
    stdout(model.hammock(&[&["compile", "model.py", "-o", "model.so"]]));
    for (b, s, p) in [(1, 1, 0), (1, 1, 7), (2, 5, 3), (1, 0, 3)] {
        let tensor = |heads: i64, rows: i64| format!("random({b},{heads},{rows},16):float32");
        let [q, old, new] = [tensor(4, s), tensor(2, p), tensor(2, s)];
        let args = ["--arg", &q, "--arg", &old, "--arg", &new, "--arg", "random(16,40):float32"];
        let run = |start: &[&str]| stdout(model.hammock(&[&["run"], start, &args]));
        run(&["model.py", "--exec-mode", "reference", "--output", "expected.npz"]);
        run(&["model.so", "--expect", "expected.npz"]);
    }
}

/// Matmuls of narrow types, for CPUs with and without dot-product instructions.
#[test]
fn narrow_matmuls_use_dot_instructions() {
    let model = Model::new(NARROW);
    snapshot("plans", "dots_wide", &model.plans("znver4"));
    snapshot("plans", "dots_narrow", &model.plans("x86-64-v3"));
    let printed = model.plans("znver4");
    let target = ["--target-cpu", "znver4"];
    assert_eq!(stdout(model.planned(&printed, &target)), printed);
    let mut all = String::new();
    for (what, by, flags) in [
        ("as [v_k by 4, v_ax1]", "as [v_k, v_ax1]", &[][..]),
        ("as [v_k by 4, v_ax1]", "as [v_k by 2, v_ax1]", &[]),
        ("v_k by 4, v_ax0 unrolled", "v_k by 2, v_ax0 unrolled", &[]),
        ("v_k dot", "v_ax1 dot", &[]),
        (", v_k dot", "", &[]),
        ("dot-product: v_ax1 by 64", "dot-product: v_k by 32, v_ax1 by 64", &[]),
        ("copy of x2 as [v_k by 4, v_ax1] (elementwise: v_k, v_ax1 by 32, v_ax1 vector), ", "", &[]),
        ("copy of x2 as", "copy of operand as", &[]),
        ("dot-product", "dot-product", &["--strict-order"]),
    ] {
        assert!(printed.contains(what), "{what}\n{printed}");
        all += &model.refused(&printed.replacen(what, by, 1), &[&target, flags].concat());
    }
    snapshot("plans", "dots_refused", &all);
}

/// Low-bit weights of matmuls are not upcast by constant folding, since kernels read them directly; others are.
#[test]
fn matmuls_read_low_bit_weights_directly() {
    let model = Model::new(WEIGHTS);
    snapshot("plans", "weights", &model.plans("x86-64-v4"));
}

#[test]
fn attention_over_long_keys_is_an_online_softmax() {
    let model = Model::new(ATTENTION);
    let printed = model.plans("x86-64-v4");
    snapshot("plans", "attention", &printed);
    let read = stdout(model.planned(&printed, &["--target-cpu", "x86-64-v4"]));
    assert_eq!(read, printed);
    let splits =
        model.refused(&printed.replace("online 256", "online 256 in 2 splits"), &["--target-cpu", "x86-64-v4"]);
    assert!(splits.contains("splits and tensor cores are for GPUs"), "{splits}");
    let strict = model.refused(&printed, &["--target-cpu", "x86-64-v4", "--strict-order"]);
    assert!(strict.contains("these rows cannot run as an online softmax"), "{strict}");
}

#[test]
fn rows_of_pointwise_transposed_convolutions_are_collapsed() {
    let model = Model::new(UPSAMPLING);
    snapshot("plans", "upsampling", &model.plans("x86-64-v4"));
}

#[test]
fn interleaved_heads_are_read_with_strides() {
    let model = Model::new(TOKENS);
    snapshot("plans", "tokens", &model.plans("x86-64-v4"));
}

#[test]
fn plans_of_networks_are_printed() {
    let plans = |network: Network| {
        let model = Model::new(&network.text());
        model.write("w.safetensors", network.weights());
        let flags = ["--params", "w.safetensors", "--print-plans", "--target-cpu", "znver5", "--threads", "2"];
        stdout(model.hammock(&[&["opt", "model.py"], &flags]))
    };
    snapshot("plans", "resnet18", &plans(networks::resnet18()));
    snapshot("plans", "minilm", &plans(networks::minilm()));
}
