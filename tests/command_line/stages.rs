//! Lowering steps of kernels, as printed by `opt --emit`, and single kernels that are run with a plan.
#![cfg(feature = "llvm")]

use crate::support::{hammock, snapshot, stdout};
use hammock_compiler::{STEPS, TRANSFORMS};
use tempfile::TempDir;

/// Tiled row sums with a partial last tile.
const KERNEL: &str = "\
@T.prim_func
def sums(x: T.Buffer((3, 20), \"float32\"), y: T.Buffer((3,), \"float32\")):
    for i, k in T.grid(3, 20):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"SR\", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sums.py"), KERNEL).unwrap();
    folder
}

#[test]
fn kernels_are_printed_after_every_step_and_parsed_again() {
    let folder = folder();
    let mut texts = Vec::new();
    for stage in ["tir", "flat"].into_iter().chain(STEPS.iter().map(|step| step.name)) {
        let text = stdout(hammock(&folder, &["opt", "sums.py", "--emit", stage, "--target-cpu", "x86-64-v3"]));
        std::fs::write(folder.path().join("stage.py"), &text).unwrap();
        assert_eq!(stdout(hammock(&folder, &["opt", "stage.py"])), text, "{stage}");
        texts.push(text);
    }
    assert_eq!(texts[1], *texts.last().unwrap());
    snapshot("stages", "flat", &texts[1]);
    let loops = STEPS.iter().position(|step| step.name == "loops").unwrap();
    snapshot("stages", "loops", &texts[2 + loops]);
    let plan = |flag: &[&str]| stdout(hammock(&folder, &[&["opt", "sums.py"], flag].concat()));
    assert_eq!(plan(&["--emit", "plan"]), plan(&["--print-plans"]));
    snapshot("stages", "steps", &stdout(hammock(&folder, &["passes", "--steps"])));
}

#[test]
fn stages_are_printed_after_every_transform_and_parsed_again() {
    let folder = folder();
    let last = TRANSFORMS.last().unwrap().name;
    for transform in ["stages"].into_iter().chain(TRANSFORMS.iter().map(|transform| transform.name)) {
        let text = stdout(hammock(&folder, &["opt", "sums.py", "--emit", transform]));
        std::fs::write(folder.path().join("stage.py"), &text).unwrap();
        // The importer adds the regions that blocks read and write.
        let lines = |text: &str| -> Vec<String> {
            let is_region = |line: &&str| ["T.reads(", "T.writes("].iter().any(|call| line.trim().starts_with(call));
            text.lines().filter(|line| !is_region(line)).map(str::to_owned).collect()
        };
        assert_eq!(lines(&stdout(hammock(&folder, &["opt", "stage.py"]))), lines(&text), "{transform}");
        let output = hammock(&folder, &["opt", "sums.py", "--print-after", transform]);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(transform == "stages" || printed == format!("# after {transform}\n{text}\n"), "{printed}");
        if transform == last {
            snapshot("stages", "stages", &text);
        }
    }
    let refused = hammock(&folder, &["run", "sums.py", "--print-after", last, "--arg", "ones(3,20):float32"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`hammock opt` prints the stages of kernels"));
    snapshot("stages", "transforms", &stdout(hammock(&folder, &["passes", "--transforms"])));
}

#[test]
fn lowering_follows_the_given_plan() {
    let folder = folder();
    std::fs::write(folder.path().join("plan.txt"), "sums:\n    unrolled-reduction: vi, vk\n").unwrap();
    let flat = |flags: &[&str]| stdout(hammock(&folder, &[&["opt", "sums.py", "--emit", "flat"], flags].concat()));
    let given = flat(&["--plan", "plan.txt"]);
    assert_ne!(given, flat(&[]));
    assert!(!given.contains("T.Ramp"), "{given}");
}

#[test]
fn a_single_kernel_runs_with_a_plan() {
    let folder = folder();
    let run = |file: &str, flags: &[&str]| {
        let args = ["run", file, "--arg", "ones(3,20):float32", "--arg", "zeros(3):float32"];
        hammock(&folder, &[&args, flags].concat())
    };
    std::fs::write(folder.path().join("main.py"), KERNEL.replace("def sums", "def main")).unwrap();
    for (file, name, flags) in
        [("sums.py", "sums", &[][..]), ("sums.py", "sums", &["--func", "sums"]), ("main.py", "main", &[])]
    {
        std::fs::write(folder.path().join("plan.txt"), format!("{name}:\n    unrolled-reduction: vi, vk\n")).unwrap();
        let text = stdout(run(file, &[flags, &["--plan", "plan.txt"]].concat()));
        assert_eq!(text, "float32[3]\n[20.0 20.0 20.0]\n");
        // The plan is not ignored: an invalid one is rejected.
        std::fs::write(folder.path().join("bad.txt"), format!("{name}:\n    unrolled-reduction: vi\n")).unwrap();
        let output = run(file, &[flags, &["--plan", "bad.txt"]].concat());
        assert!(String::from_utf8_lossy(&output.stderr).contains("E0311"), "{output:?}");
    }
}
