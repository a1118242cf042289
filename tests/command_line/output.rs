//! Outputs of commands: files, standard output, standard error, terminals.

use object::{Object, ObjectSymbol};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Output},
};

const MODEL: &str = "ir-examples/custom_kernel.py";
const ARG: [&str; 2] = ["--arg", "[1, 2, 3]:float32"];

fn shell(script: &str) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_hammock")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let root = env!("CARGO_MANIFEST_DIR");
    Command::new("bash").args(["-c", script]).current_dir(root).env("PATH", path).output().unwrap()
}

fn hammock(args: &[&str]) -> Output {
    crate::support::hammock(crate::support::root(), args)
}

fn succeed(output: Output) -> String {
    assert!(output.status.success(), "{}", error_of(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All flags with an output file: the shell command up to the file name.
const WRITERS: [&str; 8] = [
    "hammock compile ir-examples/custom_kernel.py -o ",
    "hammock compile ir-examples/custom_kernel.py --emit llvm -o ",
    "hammock compile ir-examples/custom_kernel.py --emit bytecode -o ",
    "hammock run ir-examples/custom_kernel.py --arg '[1, 2]:float32' --output ",
    "hammock run ir-examples/custom_kernel.py --arg '[1, 2]:float32' --profile=flame --profile-output ",
    "hammock opt ir-examples/language/12_constants.py --params-out ",
    "hammock inspect runtime/tests/tvm/control_flow.so --listing --params-out ",
    "hammock inspect runtime/tests/tvm/control_flow.so --listing | hammock asm - -o ",
];

#[test]
fn outputs_to_files_links_and_fifos() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
    symlink("file", &link).unwrap();
    for before in WRITERS {
        let write = |to: &str| {
            let output = shell(&format!("umask 027; {before}{to}"));
            assert!(output.status.success(), "{before}{to}: {}", error_of(&output));
        };
        write("/dev/null");
        assert!(!fs::metadata("/dev/null").unwrap().is_file(), "{before}");
        // A link to a file that does not exist.
        write(link.to_str().unwrap());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{before}");
        let mode = fs::metadata(&file).unwrap().mode() & 0o777;
        let is_library = before.contains("compile") && !before.contains("emit");
        assert_eq!(mode, if is_library { 0o750 } else { 0o640 }, "{before}");
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.is_empty(), "{before}");
        // An existing file keeps its mode.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
        write(link.to_str().unwrap());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o604, "{before}");
        // A FIFO.
        let [fifo, got] = ["fifo", "got"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        let output =
            shell(&format!("mkfifo {fifo}\ntimeout 60 cat {fifo} > {got} &\n{before}{fifo}\ns=$?; wait; exit $s"));
        assert!(output.status.success(), "{before}: {}", error_of(&output));
        // Times differ.
        let same = if before.contains("--profile") { 4 } else { bytes.len() };
        assert!(fs::read(&got).unwrap().starts_with(&bytes[..same]), "{before}: a FIFO gets the same bytes");
        fs::remove_file(&fifo).unwrap();
        fs::remove_file(&got).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(names(folder.path()), ["link"], "{before}");
    }
}

#[test]
fn standard_output_can_be_an_output_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for before in WRITERS {
        succeed(shell(&format!("{before}{}", file.display())));
        let mut bytes = fs::read(&file).unwrap();
        bytes.truncate(if before.contains("--profile") { 4 } else { bytes.len() });
        for name in ["-", "/dev/stdout", "/proc/self/fd/1"] {
            let output = shell(&format!("{before}{name}"));
            // Their text goes to standard output as well.
            match (name, before.contains("--params-out")) {
                ("-", true) => assert_eq!(output.status.code(), Some(2), "{before}{name}"),
                (_, true) => assert!(output.stdout.windows(bytes.len()).any(|part| part == bytes), "{before}{name}"),
                _ => assert!(output.stdout.starts_with(&bytes), "{before}{name}: {}", error_of(&output)),
            }
        }
        // Appending to an open file preserves its content.
        let script = format!("(echo before; {before}/dev/stdout) > {}", file.display());
        if !before.contains("--params-out") {
            succeed(shell(&script));
            assert!(fs::read(&file).unwrap().starts_with(&[b"before\n", &bytes[..]].concat()), "{before}");
        }
    }
}

#[test]
fn failed_writes_preserve_existing_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for before in WRITERS {
        fs::write(&file, "old").unwrap();
        for (limit, to, reason) in [
            ("ulimit -f 0; ", file.to_str().unwrap(), "exceed the file size limit"),
            ("", "/no/such/folder/file", "there is no such folder"),
            ("", folder.path().to_str().unwrap(), "it is a folder"),
            ("", "/dev/full", "no space is left"),
        ] {
            // Kernels that run immediately are linked to an in-memory file, to which the limit applies as well.
            if limit.is_empty() || !before.contains("run") {
                let output = shell(&format!("{limit}{before}{to} > /dev/null"));
                assert_eq!(output.status.code(), Some(1), "{before}{to}");
                assert!(error_of(&output).contains(reason), "{before}{to}: {}", error_of(&output));
            }
        }
        assert_eq!(fs::read(&file).unwrap(), b"old", "{before}");
        assert_eq!(names(folder.path()), ["file"], "{before}");
    }
}

#[test]
fn results_that_cannot_be_written_are_errors() {
    let bytecode = "runtime/tests/tvm/control_flow.so";
    for command in [
        "--help",
        "--version",
        "run --help",
        &format!("run {MODEL} {} '{}'", ARG[0], ARG[1]),
        &format!("run {MODEL} {} '{}' --json", ARG[0], ARG[1]),
        &format!("bench {MODEL} {} '{}' --min-time 0.001", ARG[0], ARG[1]),
        &format!("opt {MODEL}"),
        &format!("check {MODEL} --json"),
        &format!("inspect {bytecode}"),
        "ops",
        "ops add --example",
        "passes",
        "passes --pipeline",
        "builtins",
        "targets",
        "explain",
        "explain E0201",
    ] {
        let output = shell(&format!("hammock {command} > /dev/full"));
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(error_of(&output).contains("cannot write to standard output: no space is left"), "{command}");
        // A closed pipe is not an error.
        let output = shell(&format!("set -o pipefail; hammock {command} | true"));
        assert_eq!((output.status.code(), error_of(&output).as_str()), (Some(0), ""), "{command}");
    }
    for asked in ["--print-after all", "--time-passes"] {
        let output = shell(&format!("hammock opt {MODEL} --passes Normalize {asked} 2> /dev/full"));
        assert_eq!(output.status.code(), Some(1), "{asked}");
    }
}

/// A module that prints its argument.
const PRINTS: &str = r#"from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), s: R.Object) -> R.Tensor((2,), "float32"):
        R.print(x, format="x: {}")
        R.print(s, format="s: {}")
        return x
"#;

#[test]
fn printed_output_is_separate_from_results() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("prints.py");
    fs::write(&module, PRINTS).unwrap();
    let args = ["run", module.to_str().unwrap(), "--arg", "[1, 2]:float32", "--arg", "\"a\x1b[31mb\"", "--json"];
    let output = hammock(&args);
    assert_eq!(error_of(&output), "x: [1.0 2.0]\ns: a\\u001b[31mb\n");
    let json: serde_json::Value = serde_json::from_str(&succeed(output)).unwrap();
    assert_eq!(json, serde_json::json!({"dtype": "float32", "shape": [2], "data": [1.0, 2.0]}));
}

#[test]
fn control_characters_are_escaped_on_terminals() {
    let evil = "\x1b]0;owned\x07\u{9b}2J\r\u{202e}";
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join(format!("{evil}.py"));
    let path = module.to_str().unwrap();
    fs::write(&module, format!("{PRINTS}        {evil} = # {evil}\n")).unwrap();
    let missing = format!("{evil}.npy");
    let at = format!("@{missing}");
    let kernel = ["run", MODEL];
    for args in [
        &["check", path][..],
        &["check", path, "--color", "always"],
        &["run", &missing],
        &["compile", MODEL, "-o", &format!("/no/{evil}/x")],
        &["compile", MODEL, "-o", "/dev/null", "--target-cpu", evil],
        &["opt", MODEL, "--passes", evil],
        &["opt", MODEL, "--print-after", evil],
        &["ops", evil],
        &["builtins", evil],
        &["explain", evil],
        &["inspect", &missing],
        &[&kernel[..], &["--arg", evil]].concat(),
        &[&kernel[..], &["--arg", &at]].concat(),
        &[&kernel[..], &["--func", evil]].concat(),
        &[&kernel[..], &["--params", &missing]].concat(),
        &[&kernel[..], &["--exec-mode", evil]].concat(),
        &[&kernel[..], &["--device", evil]].concat(),
        &["run", MODEL, "--color", "always", evil],
        &[&format!("--{evil}"), "--color=always"],
        &[evil],
    ] {
        let output = hammock(args);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("error") && output.stdout.is_empty(), "{args:?}: {text}");
        let colours = text.split('\x1b').skip(1).all(|after| {
            let code = after.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
            code.is_some_and(|code| code.chars().all(|c| c.is_ascii_digit() || c == ';'))
        });
        let others = text.contains(['\x07', '\u{9b}', '\r', '\u{202e}']);
        assert!(colours && !others && !text.contains("\x1b]"), "{args:?}: {text:?}");
        assert!(args.contains(&"always") || !text.contains('\x1b'), "{args:?}: {text:?}");
    }
}

#[test]
fn colours_follow_flags_and_environment() {
    let coloured = |environment: &str, flags: &str| {
        let output = shell(&format!("{environment} hammock check nowhere.py {flags}"));
        let help = shell(&format!("{environment} hammock --help {flags}"));
        let both = [error_of(&output), succeed(help)].map(|text| text.contains('\x1b'));
        assert_eq!(both[0], both[1], "{environment} {flags}");
        both[0]
    };
    assert!(!coloured("env -u NO_COLOR -u CLICOLOR_FORCE", ""));
    assert!(coloured("env -u NO_COLOR -u CLICOLOR_FORCE", "--color always"));
    assert!(coloured("env -u NO_COLOR CLICOLOR_FORCE=1", ""));
    assert!(!coloured("env -u NO_COLOR CLICOLOR_FORCE=1", "--color=never"));
    assert!(!coloured("NO_COLOR=1 CLICOLOR_FORCE=1", ""));
    assert!(coloured("NO_COLOR=1", "--color always"));
    assert_eq!(hammock(&["check", MODEL, "--color", "sometimes"]).status.code(), Some(2));
}

/// Code is generated on several threads, but an unlinked output is one object.
#[test]
fn objects_contain_every_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.py");
    let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        \
                y = R.exp(x)\n        z = R.sum(y, axis=0)\n        return z\n";
    for (text, kernels) in
        [(text, &["tir_exp", "sum"][..]), (&text.replace("R.exp", "").replace("R.sum(y, axis=0)", "y"), &[])]
    {
        fs::write(&model, text).unwrap();
        let path = folder.path().join("m.o");
        let (from, to) = (model.to_str().unwrap(), path.to_str().unwrap());
        succeed(hammock(&["compile", from, "-O0", "--emit", "obj", "--threads", "4", "-o", to]));
        let bytes = fs::read(&path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let defined: Vec<&str> = file.symbols().filter(|s| s.is_definition()).filter_map(|s| s.name().ok()).collect();
        for kernel in kernels {
            assert!(defined.contains(&format!("__tvm_ffi_{kernel}").as_str()), "{kernel} is missing: {defined:?}");
        }
    }
}

/// A command that is interrupted, during tuning or at any other time, leaves its folder unchanged or with the complete
/// file.
#[test]
fn interrupted_commands_leave_no_partial_files() {
    for (delay, tune) in [(100, true), (1500, true), (400, false), (800, false)] {
        let folder = tempfile::tempdir().unwrap();
        // Background jobs of a shell ignore SIGINT, and so do their children.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_hammock")]);
        command.args(["compile", "tests/onnx/encoder.onnx", "-o"]).arg(folder.path().join("model.so"));
        if tune {
            command.arg("--tune=600").arg("--tune-file").arg(folder.path().join("tuned.txt"));
        }
        let mut child =
            command.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let ended = child.wait().unwrap();
        let left = names(folder.path());
        if tune {
            assert!(killed.success() && !ended.success(), "it measures for ten minutes");
        }
        assert!(if ended.success() { left == ["model.so"] } else { left.is_empty() }, "after {delay} ms: {left:?}");
    }
}
