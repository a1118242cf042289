//! Input and output files of commands: no output replaces an input, files beside a model are found but cannot point
//! elsewhere, and endless inputs are not read to the end.

use crate::support::{hammock, root, stdout};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

const MODEL: &str = r#"@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, w)
        return y
"#;

/// Creates a folder with a model `m.py`, its weights `w.npz`, its library (`m.so` and `ext.safetensors`), and an ONNX
/// model.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("m.py"), MODEL).unwrap();
    fs::write(path("list.txt"), "Normalize\n").unwrap();
    for name in ["external.onnx", "external.data"] {
        fs::copy(root().join("tests/onnx").join(name), path(name)).unwrap();
    }
    let succeed = |args: &[&str]| _ = stdout(hammock(folder.path(), args));
    succeed(&["run", "m.py", "--arg", "[1, 2]:float32", "--arg", "[3, 4]:float32", "--output", "0.npz"]);
    succeed(&["run", "m.py", "--arg", "@0.npz#0", "--arg", "zeros", "--output", "w.npz"]);
    let constant = MODEL
        .replace("R.add(x, w)", "R.add(x, R.const([1.0, 2.0], \"float32\"))")
        .replace(", w: R.Tensor((2,), \"float32\")", "");
    fs::write(path("c.py"), constant).unwrap();
    succeed(&["compile", "c.py", "-o", "m.so", "--external-weights", "ext.safetensors"]);
    folder
}

/// Returns standard error of a command that fails.
fn refusal(folder: impl AsRef<Path>, args: &[&str]) -> String {
    let Output { status, stderr, .. } = hammock(folder, args);
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), crate::support::status_of(&text), "{args:?}: {text}");
    text
}

/// Returns the contents of all files in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut files: Vec<_> = files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn outputs_are_neither_inputs_nor_other_outputs() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    symlink("m.py", path("link.py")).unwrap();
    fs::hard_link(path("m.py"), path("hard.py")).unwrap();
    fs::copy(path("m.py"), path("01_Normalize.py")).unwrap();
    fs::copy(path("m.py"), path("m.x86-64-v2.s")).unwrap();
    fs::create_dir(path("shards")).unwrap();
    fs::write(path("shards/a.safetensors"), "").unwrap();
    let before = contents(folder.path());
    let run = ["run", "m.py", "--arg", "zeros", "--arg", "x=(1, @w.npz#0)"];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    let cases: &[(&[&str], &str, &str)] = &[
        (&["compile", "m.py", "-o", "m.py"], "-o", "FILE"),
        (&["compile", "m.py", "-o", "./m.py"], "-o", "FILE"),
        (&["compile", "m.py", "-o", "link.py"], "-o", "FILE"),
        (&["compile", "link.py", "-o", "hard.py", "--emit", "llvm"], "-o", "FILE"),
        (&["compile", "m.py", "--params", "w.npz", "-o", "w.npz"], "-o", "--params"),
        (&["compile", "m.py", "--params", "shards", "-o", "shards/a.safetensors"], "-o", "--params"),
        (&["compile", "m.py", "-o", "n.so", "--external-weights", "m.py"], "--external-weights", "FILE"),
        (&["compile", "m.py", "-o", "n.so", "--external-weights", "./n.so"], "--external-weights", "-o"),
        (&["compile", "m.py", "-o", "list.txt", "--plan", "list.txt"], "-o", "--plan"),
        (&["compile", "m.py", "-o", "list.txt", "--tune-file", "list.txt"], "-o", "--tune-file"),
        (&["compile", "m.py", "-o", "t", "--tune", "--tune-file", "t"], "--tune-file", "-o"),
        (&["compile", "m.py", "-o", "list.txt", "--passes", "@list.txt"], "-o", "--passes"),
        (&["compile", "m.py", "-o", "m.so", "--bytecode", "m.so"], "-o", "--bytecode"),
        (&["compile", "external.onnx", "-o", "external.data"], "-o", "external.onnx"),
        (&["compile", "m.x86-64-v2.s", "-o", "m.s", "--emit", "asm", "--multi-version=x86-64-v2"], "-o", "FILE"),
        (&["import", "external.onnx", "-o", "external.onnx"], "-o", "FILE"),
        (&["import", "external.onnx", "-o", "x", "--params-out", "x"], "--params-out", "-o"),
        (&["import", "external.onnx", "--params-out", "external.data"], "--params-out", "external.onnx"),
        (&["opt", "m.py", "--params-out", "m.py"], "--params-out", "FILE"),
        (&["opt", "m.py", "--params", "w.npz", "--params-out", "w.npz"], "--params-out", "--params"),
        (&["opt", "m.py", "--memory-plan-out", "m.py"], "--memory-plan-out", "FILE"),
        (&["opt", "m.py", "--memory-plan-out", "p", "--params-out", "p"], "--memory-plan-out", "--params-out"),
        (&["opt", "01_Normalize.py", "--passes", "Normalize", "--dump-dir", "."], "--dump-dir", "FILE"),
        (&with(&["--output", "w.npz"]), "--output", "--arg"),
        (&with(&["--output", "m.py"]), "--output", "FILE"),
        (&with(&["--profile", "--profile-output", "w.npz"]), "--profile-output", "--arg"),
        (&with(&["--output", "o", "--profile", "--profile-output", "o"]), "--profile-output", "--output"),
        (&["run", "m.so", "--arg", "zeros", "--output", "ext.safetensors"], "--output", "m.so"),
        (&["bench", "m.py", "--roofline", "--roofline-svg", "m.py"], "--roofline-svg", "FILE"),
        (&["opt", "m.py", "--graph", "m.py"], "--graph", "FILE"),
        (&["report", "m.py", "-o", "m.py"], "--output", "FILE"),
        (&["inspect", "m.so", "--listing", "--params-out", "m.so"], "--params-out", "FILE"),
        (&["inspect", "m.so", "--listing", "--params-out", "ext.safetensors"], "--params-out", "m.so"),
        (&["asm", "list.txt", "-o", "list.txt"], "-o", "FILE"),
    ];
    for (args, output, input) in cases {
        let said = refusal(folder.path(), args);
        assert!(said.contains("is the same file as") && said.contains("E0407"), "{args:?}: {said}");
        assert!(said.contains(&format!("`{output} ")) && said.contains(input), "{args:?}: {said}");
        assert_eq!(contents(folder.path()), before, "{args:?}");
    }
}

#[test]
fn outputs_may_replace_other_files() {
    let folder = folder();
    let compile = |output: &str| stdout(hammock(folder.path(), &["compile", "c.py", "-o", output]));
    compile("n.so");
    compile("n.so");
    compile("/dev/null");
    let args = ["import", "external.onnx", "-o", "/dev/null", "--params-out", "/dev/null"];
    stdout(hammock(folder.path(), &args));
}

/// Folder layout of a model hub: links to blobs.
fn hub() -> tempfile::TempDir {
    let hub = tempfile::tempdir().unwrap();
    let path = |name: &str| hub.path().join(name);
    fs::create_dir_all(path("blobs")).unwrap();
    fs::create_dir_all(path("snapshots/one")).unwrap();
    fs::create_dir_all(path("elsewhere")).unwrap();
    for (name, blob) in [("external.onnx", "a1"), ("external.data", "b2")] {
        fs::copy(root().join("tests/onnx").join(name), path("blobs").join(blob)).unwrap();
        symlink(Path::new("../../blobs").join(blob), path("snapshots/one").join(name)).unwrap();
    }
    fs::copy(path("blobs/b2"), path("elsewhere/data")).unwrap();
    hub
}

#[test]
fn external_data_may_link_to_the_folder_of_the_model() {
    let hub = hub();
    for (folder, model) in
        [("snapshots/one", "external.onnx"), ("snapshots", "one/external.onnx"), ("", "./snapshots/one/external.onnx")]
    {
        stdout(hammock(hub.path().join(folder), &["check", model]));
    }
    // Beside the model's own file, if there is no file beside the link.
    let models = hub.path().join("models");
    fs::create_dir(&models).unwrap();
    fs::copy(hub.path().join("blobs/a1"), models.join("m.onnx")).unwrap();
    fs::copy(hub.path().join("blobs/b2"), models.join("external.data")).unwrap();
    symlink("models/m.onnx", hub.path().join("link.onnx")).unwrap();
    stdout(hammock(hub.path(), &["check", "link.onnx"]));
}

#[test]
fn external_data_outside_of_the_folder_are_rejected() {
    let hub = hub();
    let one = hub.path().join("snapshots/one");
    let data = one.join("external.data");
    for target in ["../../elsewhere/data", "/etc/hostname"] {
        fs::remove_file(&data).unwrap();
        symlink(target, &data).unwrap();
        for model in ["external.onnx", "./external.onnx", "../one/external.onnx"] {
            let said = refusal(&one, &["check", model]);
            assert!(said.contains("a link out of the model's folder"), "{said}");
        }
    }
    // A model that is not a link has no other folder than its own.
    fs::remove_file(&data).unwrap();
    symlink("../../blobs/b2", &data).unwrap();
    fs::remove_file(one.join("external.onnx")).unwrap();
    fs::copy(hub.path().join("blobs/a1"), one.join("external.onnx")).unwrap();
    for args in [["check", "external.onnx"], ["run", "external.onnx"]] {
        assert!(refusal(&one, &args).contains("a link out of the model's folder"));
    }
    fs::remove_file(&data).unwrap();
    assert!(refusal(&one, &["check", "external.onnx"]).contains("there is no such file"));
}

#[test]
fn external_data_may_link_to_allowed_folders() {
    let hub = hub();
    let (one, path) = (hub.path().join("snapshots/one"), |name: &str| hub.path().join(name));
    // The model is a file, its data is a link to the store.
    fs::remove_file(one.join("external.onnx")).unwrap();
    fs::copy(path("blobs/a1"), one.join("external.onnx")).unwrap();
    let run = ["run", "external.onnx", "--arg", "zeros"];
    for args in [
        &["check", "external.onnx"][..],
        &["compile", "external.onnx", "-o", "/dev/null"],
        &["import", "external.onnx", "-o", "/dev/null"],
        &["opt", "external.onnx"],
        &["inspect", "external.onnx"],
        &["bench", "external.onnx", "--arg", "zeros", "--min-time", "0.01"],
        &run,
    ] {
        assert!(refusal(&one, args).contains("folders given with `--external-data-dir`"), "{args:?}");
        let elsewhere = [args, &["--external-data-dir", "../../elsewhere"]].concat();
        assert!(refusal(&one, &elsewhere).contains("a link out of the model's folder"), "{args:?}");
        stdout(hammock(&one, &[args, &["--external-data-dir", "../../blobs"]].concat()));
        let both = ["--external-data-dir", "../../elsewhere", "--external-data-dir", "../.."];
        stdout(hammock(&one, &[args, &both].concat()));
    }
    // The target of a link counts, not its name; outputs must not be such data.
    fs::remove_file(one.join("external.data")).unwrap();
    symlink("../../blobs/out", one.join("external.data")).unwrap();
    symlink("../elsewhere/data", path("blobs/out")).unwrap();
    let named = ["--external-data-dir", "../../blobs"];
    assert!(refusal(&one, &[&run[..], &named].concat()).contains("a link out of the model's folder"));
    fs::remove_file(one.join("external.data")).unwrap();
    symlink("../../blobs/b2", one.join("external.data")).unwrap();
    let over = [&["compile", "external.onnx", "-o", "../../blobs/b2"][..], &named].concat();
    assert!(refusal(&one, &over).contains("which has data of"));
    let none = hammock(&one, &[&run[..], &["--external-data-dir", "nowhere"]].concat());
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

#[test]
fn links_to_executables_find_their_weights() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let run = |model: &str| stdout(hammock(folder.path(), &["run", model, "--arg", "[1, 1]:float32"]));
    let expected = run("m.so");
    fs::create_dir_all(path("far/sub")).unwrap();
    symlink("../m.so", path("far/link.so")).unwrap();
    symlink("../link.so", path("far/sub/two.so")).unwrap();
    assert_eq!((run("far/link.so"), run("far/sub/two.so")), (expected.clone(), expected.clone()));
    // The file beside the link takes precedence.
    fs::write(path("far/ext.safetensors"), "other").unwrap();
    assert!(refusal(folder.path(), &["run", "far/link.so", "--arg", "zeros"]).contains("it is not the file"));
    // Links of both point to one folder; a link elsewhere is rejected.
    fs::remove_file(path("far/ext.safetensors")).unwrap();
    symlink("../ext.safetensors", path("far/ext.safetensors")).unwrap();
    assert_eq!(run("far/link.so"), expected);
    fs::copy(path("m.so"), path("far/own.so")).unwrap();
    assert!(refusal(folder.path(), &["run", "far/own.so", "--arg", "zeros"]).contains("out of the model's folder"));
}

/// Runs a script with `$H` for the command, in a folder.
fn shell(folder: &Path, script: &str) -> Output {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(script).env("H", env!("CARGO_BIN_EXE_hammock")).current_dir(folder).output().unwrap()
}

#[test]
fn models_are_read_from_streams() {
    let folder = folder();
    fs::copy(root().join("tests/onnx/mlp.onnx"), folder.path().join("mlp.onnx")).unwrap();
    let succeeds = |script: &str| stdout(shell(folder.path(), script));
    succeeds("$H check <(cat m.py)");
    let call = "--arg '[1, 2]:float32' --arg '[3, 4]:float32'";
    assert!(succeeds(&format!("$H run <(cat m.py) {call}")).contains("[4.0 6.0]"));
    succeeds("mkfifo fifo; (cat m.py > fifo &) ; $H compile fifo -o fifo.so");
    assert_eq!(succeeds("$H inspect <(cat mlp.onnx)"), succeeds("$H inspect mlp.onnx"));
    assert_eq!(
        succeeds("$H import <(cat mlp.onnx)").lines().count(),
        succeeds("$H import - < mlp.onnx").lines().count()
    );
    let digest = succeeds("sha256sum < m.py | cut -c1-64");
    succeeds(&format!("$H check <(cat m.py) --sha256 {}", digest.trim()));
    let said = shell(folder.path(), "$H run <(cat external.onnx) --arg zeros");
    assert!(String::from_utf8_lossy(&said.stderr).contains("read without its folder"));
}

#[test]
fn endless_inputs_are_not_read_to_the_end() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    assert!(
        Command::new("mkfifo")
            .arg(path("fifo"))
            .arg(path("f.safetensors"))
            .arg(path("f.json"))
            .status()
            .unwrap()
            .success()
    );
    for (target, link) in
        [("/dev/zero", "z.json"), ("/dev/zero", "z.safetensors"), ("/dev/zero", "z.npz"), ("fifo", "f.npz")]
    {
        symlink(target, path(link)).unwrap();
    }
    fs::create_dir(path("shards")).unwrap();
    symlink("../fifo", path("shards/a.safetensors")).unwrap();
    fs::write(path("index.safetensors.index.json"), r#"{"weight_map": {"w": "f.safetensors"}}"#).unwrap();
    fs::remove_file(path("external.data")).unwrap();
    symlink("fifo", path("external.data")).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["check", "/dev/zero"], "neither a text nor an ONNX model"),
        (&["compile", "/dev/zero", "-o", "o"], "neither a text nor an ONNX model"),
        (&["run", "/dev/zero"], "neither a text nor an ONNX model"),
        (&["inspect", "/dev/zero"], "neither a text nor an ONNX model"),
        (&["import", "/dev/zero"], "/dev/zero"),
        (&["check", "."], "folder"),
        (&["run", "."], "folder"),
        (&["opt", "m.py", "--plan", "/dev/zero"], "neither a text nor an ONNX model"),
        (&["opt", "m.py", "--tune-file", "/dev/zero"], "neither a text nor an ONNX model"),
        (&["opt", "m.py", "--passes", "@/dev/zero"], "neither a text nor an ONNX model"),
        (&["asm", "/dev/zero", "-o", "o"], "neither a text nor an ONNX model"),
        (&["check", "m.py", "--params", "/dev/zero"], "not a regular file"),
        (&["check", "m.py", "--params", "fifo"], "not a regular file"),
        (&["check", "m.py", "--params", "z.json"], "not a regular file"),
        (&["check", "m.py", "--params", "f.json"], "not a regular file"),
        (&["check", "m.py", "--params", "z.safetensors"], "not a regular file"),
        (&["check", "m.py", "--params", "f.npz"], "not a regular file"),
        (&["check", "m.py", "--params", "shards"], "not a regular file"),
        (&["check", "m.py", "--params", "index.safetensors.index.json"], "not a regular file"),
        (&["compile", "m.py", "-o", "o", "--bytecode", "fifo"], "not a regular file"),
        (&["check", "external.onnx"], "not a regular file"),
        (&["run", "m.py", "--arg", "@z.npz#a", "--arg", "zeros"], "not a regular file"),
        (&["run", "m.py", "--arg", "@/dev/zero", "--arg", "zeros"], "cannot read /dev/zero"),
    ];
    for (args, why) in cases {
        let said = refusal(folder.path(), args);
        assert!(said.contains(why), "{args:?}: {said}");
    }
    assert!(!path("o").exists());
    let said = shell(folder.path(), "yes | $H check -");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("E0402") && said.contains("268435456 bytes or more"), "{said}");
}

#[test]
fn waiting_for_an_argument_counts_towards_the_timeout() {
    let folder = folder();
    assert!(Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    let said = refusal(folder.path(), &["run", "m.so", "--arg", "@fifo", "--timeout", "0.5"]);
    assert!(said.contains("TimeoutError"), "{said}");
}
