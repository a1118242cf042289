//! Stand-alone programs: a model with its runtime in one file (`compile --emit exe`).
#![cfg(feature = "llvm")]

use crate::support::{programs, root};
use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::Duration,
};

const IMAGES: &str = "@ir-examples/digits/test.npz#images";

/// The runner of this build, which is linked dynamically; `runtime/runner/build.sh` builds the one to ship.
fn runner() -> PathBuf {
    programs().join("hammock-runner")
}

fn run(program: &Path, args: &[&str]) -> Output {
    finished(Command::new(program).args(args).env_remove("HAMMOCK_TARGET"))
}

/// Runs a program. One that was just written may still be open in a child that another test is starting.
fn finished(command: &mut Command) -> Output {
    loop {
        match command.current_dir(root()).output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::sleep(Duration::from_millis(10)),
            output => return output.unwrap(),
        }
    }
}

fn compile(output: &Path, flags: &[&str]) -> Output {
    let model = ["ir-examples/digits/model.py", "--params", "ir-examples/digits/weights.safetensors"];
    let fixed = ["compile", "--emit", "exe", "-o", output.to_str().unwrap()];
    run(Path::new(env!("CARGO_BIN_EXE_hammock")), &[&fixed[..], &model, flags].concat())
}

/// The digits as a program.
fn digits(folder: &Path, flags: &[&str]) -> PathBuf {
    let file = folder.join("digits");
    let output = compile(&file, &[&["--runner", runner().to_str().unwrap()], flags].concat());
    assert!(output.status.success(), "{}", error(&output));
    file
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", error(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_program_calls_its_functions() {
    let folder = tempfile::tempdir().unwrap();
    let file = digits(folder.path(), &["--exec-mode", "compiled"]);
    let program = folder.path().join("moved");
    fs::rename(file, &program).unwrap();
    let labels = "labels=@ir-examples/digits/test.npz#labels";
    let share = run(&program, &["--func", "accuracy", "--arg", IMAGES, "--arg", labels, "--threads", "2"]);
    assert_eq!(text(&share), "0.9777778 (float32)\n");
    let help = text(&run(&program, &["--help"]));
    assert!(help.starts_with("moved: ") && help.contains("  accuracy\n") && help.contains("images  float32[n, 64]"));
    assert!(!help.contains("fc1") && help.contains("\n  -o, --output FILE "), "{help}");
    assert!(text(&run(&program, &["--help", "--json"])).starts_with("{\"functions\":[{\"name\":\"accuracy\","));
    assert!(text(&run(&program, &["-V"])).starts_with("moved, compiled by Hammock "));
    let call = ["--func", "classify", "--arg", "zeros(1,64):float32", "--json"];
    assert!(text(&run(&program, &call)).starts_with("{\"dtype\":\"int64\",\"shape\":[1],\"data\":["));
    let bench = [&call[..], &["--bench", "0.01"]].concat();
    assert!(text(&run(&program, &bench)).starts_with("{\"median_ns\":"));
    let results = folder.path().join("out.npz");
    text(&run(&program, &["--arg", IMAGES, "-o", results.to_str().unwrap()]));
    let expected = run(
        Path::new(env!("CARGO_BIN_EXE_hammock")),
        &[
            "run",
            "ir-examples/digits/model.py",
            "--params",
            "ir-examples/digits/weights.safetensors",
            "--arg",
            IMAGES,
            "--expect",
            results.to_str().unwrap(),
        ],
    );
    text(&expected);
}

#[test]
fn wrong_command_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = digits(folder.path(), &[]);
    for (args, status, expected) in [
        (&["--wrong"][..], 2, "--wrong"),
        (&["x.npy"], 2, "`--arg x.npy`"),
        (&["--threads", "0"], 2, "`digits --help`"),
        (&[], 1, "images"),
        (&["--func", "classifi"], 1, "did you mean `classify`?"),
        (&["--arg", "@absent.npy"], 1, "absent.npy"),
        (&["--arg", "zeros(3):float32"], 1, "float32[n, 64]"),
        (&["--arg", IMAGES, "-o", "ir-examples/digits/test.npz"], 1, "test.npz"),
    ] {
        let output = run(&program, args);
        let error = error(&output);
        assert_eq!((output.status.code(), error.starts_with("error: ")), (Some(status), true), "{args:?}: {error}");
        assert!(error.contains(expected) && output.stdout.is_empty(), "{args:?}: {error}");
    }
}

#[test]
fn damaged_programs_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(digits(folder.path(), &[])).unwrap();
    let damaged = folder.path().join("damaged");
    let begin = fs::metadata(runner()).unwrap().len() as usize;
    let report = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        fs::set_permissions(&damaged, fs::Permissions::from_mode(0o755)).unwrap();
        let output = run(&damaged, &["--arg", IMAGES]);
        assert_eq!(output.status.code(), Some(1), "{}", error(&output));
        error(&output)
    };
    let no_model = "error: damaged has no model, or is truncated; `hammock compile model.py --emit exe -o PROGRAM`";
    for len in [begin, begin + 5000, whole.len() - 33, whole.len() - 32, whole.len() - 1] {
        assert!(report(&whole[..len]).starts_with(no_model), "{len} bytes");
    }
    for position in (begin.next_multiple_of(4096)..whole.len() - 32).step_by(9973) {
        let mut bytes = whole.clone();
        bytes[position] ^= 4;
        assert_eq!(report(&bytes), "error: the file is damaged: its checksum does not match\n", "byte {position}");
    }
    assert!(report(&[&whole[..], b"x"].concat()).starts_with(no_model));
}

#[test]
fn programs_for_other_cpus_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let program = digits(folder.path(), &["--multi-version=x86-64-v2,x86-64-v3"]);
    let version = |name| finished(Command::new(&program).args(["--arg", IMAGES]).env("HAMMOCK_TARGET", name));
    text(&version("x86-64-v2"));
    let error = error(&version("znver9"));
    assert!(error.starts_with("error: ") && error.contains("not compiled for `znver9`"), "{error}");
}

#[test]
fn only_runners_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let program = digits(folder.path(), &[]);
    let output = folder.path().join("other");
    let runner = runner();
    let (own, runner) = (program.to_str().unwrap(), runner.to_str().unwrap());
    for (flags, status, expected) in [
        (&["--runner", own][..], 1, "is not a runner of this version"),
        (&["--runner", "README.md"], 1, "README.md is not a runner"),
        (&["--runner", "absent"], 1, "cannot read the runner absent"),
        (&["--runner", runner, "--target", "cuda"], 2, "stand-alone programs run on CPUs"),
        (&["--runner", runner, "--external-weights", "w.safetensors"], 2, "only `--emit lib` has weights beside it"),
    ] {
        let refused = compile(&output, flags);
        assert_eq!(refused.status.code(), Some(status), "{flags:?}");
        assert!(error(&refused).contains(expected), "{flags:?}: {}", error(&refused));
        assert!(!output.exists());
    }
}
