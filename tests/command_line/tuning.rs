//! Autotuning: `--tune` and `--tune-file`.
#![cfg(feature = "llvm")]

use std::{
    fs,
    process::{Command, Output},
};
use tempfile::TempDir;

const MODEL: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((33, 70), \"float32\"), w: R.Tensor((70, 45), \"float32\"), s: R.Tensor((\"n\", 40), \"float32\")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.sum(s, axis=[1])
            t = R.permute_dims(x)
            R.output(y, z, t)
        return (y, z, t)
";

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write("model.py", MODEL);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    fn hammock(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(self.0.path()).output().unwrap()
    }

    /// Returns standard output and standard error of a command that succeeds.
    fn said(&self, args: &[&str]) -> (String, String) {
        let output = self.hammock(args);
        let [result, rest] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{args:?}: {rest}");
        (result, rest)
    }

    fn refusal(&self, args: &[&str]) -> String {
        let output = self.hammock(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), crate::support::status_of(&said), "{args:?}: {said}");
        said
    }

    /// Compiles for one thread.
    fn compile(&self, flags: &[&str]) -> (Vec<u8>, String) {
        let args = [&["compile", "model.py", "-o", "model.so", "--threads", "1"], flags].concat();
        let (_, said) = self.said(&args);
        (self.read("model.so"), said)
    }

    fn plans(&self, flags: &[&str]) -> String {
        self.said(&[&["opt", "model.py", "--print-plans"], flags].concat()).0
    }
}

/// Returns the plan of a kernel from printed plans.
fn plan_of<'a>(plans: &'a str, kernel: &str) -> &'a str {
    let (_, rest) = plans.split_once(&format!("{kernel}:\n")).unwrap();
    rest.split("\n\n").next().unwrap().lines().find(|line| !line.trim_start().starts_with('#')).unwrap().trim()
}

/// Returns the tuning record of a kernel: its offset in the file, and its line.
fn record_of<'a>(file: &'a str, kernel: &str) -> (&'a str, &'a str) {
    let (_, rest) = file.split_once(&format!("# {kernel}: ")).unwrap();
    let mut lines = rest.lines().skip(1).skip_while(|line| line.starts_with('#'));
    (lines.next().unwrap(), lines.next().unwrap().trim())
}

#[test]
fn measurements_are_stored_and_reused() {
    let folder = Folder::new();
    let (plain, said) = folder.compile(&[]);
    assert!(said.is_empty());
    let (_, said) = folder.compile(&["--tune=0.6", "--tune-file", "tuned.txt"]);
    assert!(said.starts_with("measured 3 kernels with "), "{said}");
    let file = folder.text("tuned.txt");
    for kernel in ["fused_matmul_relu", "sum", "transpose"] {
        let (key, plan) = record_of(&file, kernel);
        assert!(key.ends_with("-1:") && plan.contains("axis0"), "{key} {plan}");
    }
    let (first, said) = folder.compile(&["--tune-file", "tuned.txt"]);
    assert!(said.is_empty(), "nothing is measured: {said}");
    assert!(first == folder.compile(&["--tune-file", "tuned.txt"]).0);
    let (again, said) = folder.compile(&["--tune=0.6", "--tune-file", "tuned.txt"]);
    assert!(said.starts_with("measured 0 kernels") && again == first, "{said}");
    assert_eq!(folder.text("tuned.txt"), file);
    assert!(plain == folder.compile(&[]).0, "without the flag, rules choose");
    // Only kernels without a plan from a file are measured; here, all of them.
    let (_, said) = folder.compile(&["--tune=0.3"]);
    assert!(said.starts_with("measured 3 kernels"), "{said}");
    let args = ["--arg", "random(33,70):float32", "--arg", "random(70,45):float32", "--arg", "random(9,40):float32"];
    folder.said(&[&["run", "model.py", "--threads", "1", "--output", "out.npz"], &args[..]].concat());
    for flags in [&["--tune-file", "tuned.txt"][..], &["--tune=0.2"]] {
        let expect = ["run", "model.py", "--threads", "1", "--expect", "out.npz", "--rtol", "1e-5", "--atol", "1e-5"];
        folder.said(&[&expect[..], &args, flags].concat());
    }
    folder.said(&[&["bench", "model.py", "--min-time", "0.01", "--threads", "1", "--tune=0.2"], &args[..]].concat());
}

/// A record applies to kernels of the same structure with any name, for its target and number of threads.
#[test]
fn records_match_kernels_by_structure() {
    let folder = Folder::new();
    folder.compile(&["--tune=0.3", "--tune-file", "tuned.txt"]);
    let file = folder.text("tuned.txt");
    let (key, plan) = record_of(&file, "fused_matmul_relu");
    let edited = "outer-product: axis1 by 5, axis0 by 3, axis2, axis0 unrolled, axis1 vector";
    folder.write("tuned.txt", &format!("{key}\n    {edited}  # by hand\n"));
    let plans = |flags: &[&str]| folder.plans(&[&["--tune-file", "tuned.txt"], flags].concat());
    let own = plans(&["--threads", "1"]);
    let expected = "outer-product: v_ax1 by 5, v_ax0 by 3, v_k, v_ax0 unrolled, v_ax1 vector";
    assert_eq!(plan_of(&own, "fused_matmul_relu"), expected, "{plan}");
    assert_eq!(plan_of(&own, "transpose"), plan_of(&folder.plans(&["--threads", "1"]), "transpose"));
    let others: [&[&str]; 3] =
        [&["--threads", "2"], &["--threads", "1", "--strict-order"], &["--threads", "1", "--target-cpu", "x86-64"]];
    for other in others {
        assert_ne!(plan_of(&plans(other), "fused_matmul_relu"), expected, "{other:?}");
    }
    let renamed = MODEL.replace("x:", "left:").replace("(x", "(left").replace("y", "product").replace("main", "f");
    folder.write("model.py", &renamed);
    assert_eq!(plan_of(&plans(&["--threads", "1"]), "fused_matmul_relu"), expected);
    let (by_rules, tuned) = (folder.compile(&[]).0, folder.compile(&["--tune-file", "tuned.txt"]).0);
    assert!(by_rules != tuned);
    // A plan by name takes precedence.
    folder.write("plan.txt", "fused_matmul_relu:\n    outer-product: v_ax0, v_ax1 by 9, v_k, v_ax1 vector\n");
    let both = plans(&["--threads", "1", "--plan", "plan.txt"]);
    assert_eq!(plan_of(&both, "fused_matmul_relu"), "outer-product: v_ax0, v_ax1 by 9, v_k, v_ax1 vector");
}

/// A dynamic kernel has a plan that is the best over several sizes, and one per requested size.
#[test]
fn dynamic_sizes_are_measured_at_several_values() {
    let folder = Folder::new();
    folder.compile(&["--tune=0.4", "--tune-file", "tuned.txt"]);
    let file = folder.text("tuned.txt");
    let remark = |kernel: &str| file.lines().find(|line| line.starts_with(&format!("# {kernel}: "))).unwrap();
    assert!(remark("sum").ends_with("as rules choose, at n = 1, 16, 64, 256, 1024:"), "{file}");
    assert!(remark("transpose").ends_with("as rules choose:"), "{file}");
    let (_, said) = folder.compile(&["--tune=0.3", "--tune-file", "tuned.txt", "--tune-size", "n=100"]);
    assert!(said.starts_with("measured 1 kernel with "), "{said}");
    let file = folder.text("tuned.txt");
    let (before, own) = file.rsplit_once("# sum: ").unwrap();
    assert!(own.lines().next().unwrap().ends_with("at n = 100:"), "{own}");
    let key = own.lines().skip(1).find(|line| !line.starts_with('#')).unwrap();
    let (general, _) = record_of(before, "sum");
    assert_eq!(key, format!("{}.128:", general.trim_end_matches(':')));
    // A record for the size takes precedence over the generic one.
    let record =
        |key: &str, lanes: i64| format!("{key}\n    horizontal-reduction: axis0, axis1 by {lanes}, axis1 vector\n");
    folder.write("tuned.txt", &[record(general, 8), record(key, 16)].concat());
    let plan = |flags: &[&str]| {
        let plans = folder.plans(&[&["--threads", "1", "--tune-file", "tuned.txt"], flags].concat());
        plan_of(&plans, "sum").to_owned()
    };
    let lanes = |lanes: i64| format!("horizontal-reduction: v_ax0, v_k1 by {lanes}, v_k1 vector");
    for (flags, expected) in [
        (&[][..], 8),
        (&["--tune-size", "65"], 16),
        (&["--tune-size", "n=128"], 16),
        (&["--tune-size", "n=129"], 8),
        (&["--tune-size", "m=128"], 8),
        (&["--tune-size", "128", "--tune-size", "n=3"], 8),
    ] {
        assert_eq!(plan(flags), lanes(expected), "{flags:?}");
    }
}

#[test]
fn invalid_records_are_rejected() {
    let folder = Folder::new();
    folder.compile(&["--tune=0.3", "--tune-file", "tuned.txt"]);
    let file = folder.text("tuned.txt");
    let (key, _) = record_of(&file, "fused_matmul_relu");
    let refused = |text: &str| {
        folder.write("tuned.txt", text);
        let said =
            folder.refusal(&["compile", "model.py", "-o", "no.so", "--threads", "1", "--tune-file", "tuned.txt"]);
        assert!(!folder.0.path().join("no.so").exists());
        said
    };
    let record = |plan: &str| format!("# A remark.\n{key}\n    {plan}\n");
    for (text, place, why) in [
        (record("outer-product: axis0, axis1, axis2"), "", ""),
        (record("outer-product: axis0, axis7, axis2"), "tuned.txt:3:27", "there is no axis `axis7` here"),
        (record("outer-product: v_ax0, axis1, axis2"), "tuned.txt:3:20", "there is no axis `v_ax0` here"),
        (record("outer-product: axis2 parallel 2, axis0, axis1"), "tuned.txt:3:20", "which cannot be parallel"),
        (record("outer-product: axis0, axis1"), "tuned.txt:3:5", "no loop over axis `axis2`"),
        (record("outer-product: axis0 by, axis1"), "tuned.txt:3:28", "expected a step"),
        (record("nosuch: axis0, axis1, axis2"), "tuned.txt:3:5", "there is no rule `nosuch`"),
        (record("elementwise: axis0\n    elementwise: axis0"), "tuned.txt:2:1", "the kernel has 1 part"),
        ("matmul:\n    elementwise: axis0\n".to_owned(), "tuned.txt:1:1", "which kernels this plan is for"),
        ("what is this\n".to_owned(), "tuned.txt:1:1", "expected the name of a kernel"),
        (
            format!("{}.100:\n    elementwise: a\n", key.trim_end_matches(':')),
            "tuned.txt:1:1",
            "which kernels this plan is for",
        ),
        (format!("{key}\n    elementwise: a\n{key}\n    elementwise: a\n"), "tuned.txt:3:1", "there are two plans"),
    ] {
        if why.is_empty() {
            folder.write("tuned.txt", &text);
            folder.compile(&["--tune-file", "tuned.txt"]);
            continue;
        }
        let said = refused(&text);
        assert!(said.contains("E0311") && said.contains(place) && said.contains(why), "{place} {why}: {said}");
    }
    // Damage is an error, or the file is still valid.
    for at in (0..file.len()).step_by(file.len() / 12) {
        let mut bytes = file.clone().into_bytes();
        bytes[at] ^= 0x15;
        fs::write(folder.0.path().join("tuned.txt"), bytes).unwrap();
        let args = ["opt", "model.py", "--threads", "1", "--tune-file", "tuned.txt"];
        let status = folder.hammock(&args).status.code();
        assert!(matches!(status, Some(0 | 1)), "{at}: {status:?}");
    }
}

#[test]
fn tuning_flags_without_effect_are_rejected() {
    let folder = Folder::new();
    let compile = |flags: &[&str]| folder.refusal(&[&["compile", "model.py", "-o", "no.so"], flags].concat());
    for (said, why) in [
        (compile(&["--tune-file", "nosuch.txt"]), "nosuch.txt"),
        (compile(&["--tune=1", "--target-cpu", "x86-64"]), "kernels for x86-64 are not measured on this machine"),
        (compile(&["--tune=1", "--tune-file", "-"]), "name a file"),
        (compile(&["--tune=1000", "--tune-file", "nosuch/tuned.txt"]), "there is no such folder"),
        (compile(&["--tune", "--emit", "bytecode"]), "writes no kernels"),
        (compile(&["--tune-size", "n=3"]), "nothing is measured"),
        (folder.refusal(&["opt", "model.py", "--print-plans", "--tune-size", "3"]), "`--tune-file` names a file"),
        (folder.refusal(&["run", "model.py", "--exec-mode", "reference", "--tune"]), "kernels are interpreted"),
    ] {
        assert!(said.contains(why), "{why}: {said}");
    }
    for wrong in [&["--tune=0"][..], &["--tune", "--tune-size", "n=0"], &["--tune", "--tune-size", "n"]] {
        let output = folder.hammock(&[&["compile", "model.py", "-o", "no.so"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
