//! Runs every command in the documents: those of README.md and the book (`docs/`), from top to bottom in one shell in a
//! fresh clone, and the examples of every `--help`, in folders with the files that they mention.

#[allow(dead_code)]
mod support;

// Forces the C library to be built.
use hammock as _;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::{programs, root};

/// Runs a command in a shell, with the programs on the path.
fn shell(script: &str, folder: &Path) -> Output {
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-e", "-o", "pipefail", "-c", script]).current_dir(folder).env("PATH", path).env("COLUMNS", "400");
    bash.output().unwrap()
}

fn succeed(script: &str, folder: &Path, what: &str) {
    let output = shell(script, folder);
    assert!(output.status.success(), "{what}\n$ {script}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Creates the files that the documents mention.
fn furnish(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (from, names) in [
        ("ir-examples/digits/model.py", &["model.py", "a.py", "b.py"][..]),
        ("ir-examples/digits/weights.safetensors", &["weights.safetensors"]),
        ("ir-examples/digits/test.npz", &["test.npz"]),
        ("tests/onnx/mlp.onnx", &["model.onnx"]),
        ("ir-examples/control_flow.py", &["kernels.py", "lowered.py"]),
        ("runtime/tests/tvm/control_flow.so", &["tvm.so"]),
    ] {
        for name in names {
            std::fs::copy(root().join(from), folder.join(name)).unwrap();
        }
    }
    let kernel = "from tvm.script import tir as T\n\n@T.prim_func\n\
        def double(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n    \
        for i in range(8):\n        B[i] = A[i] * T.float32(2)\n";
    std::fs::write(folder.join("kernel.py"), kernel).unwrap();
    std::fs::write(folder.join("x.npy"), npy("()", 1)).unwrap();
    std::fs::write(folder.join("images.npy"), npy("(2, 64)", 128)).unwrap();
    let made = "hammock compile model.py -o model.so --params weights.safetensors
        hammock run model.so --arg @images.npy --output scores.npz
        hammock inspect model.so --listing > listing.txt
        hammock compile kernels.py -o code.bin --emit bytecode
        hammock opt model.py --print-plans > plan.txt
        hammock compile model.py -o model.so --params weights.safetensors --tune=0.2 --tune-file tuned.txt";
    succeed(made, folder, "what the examples start from");
}

/// Returns a float32 `.npy` file of ones.
fn npy(shape: &str, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(std::iter::repeat_n(1f32.to_le_bytes(), count).flatten());
    bytes
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// Returns the contents of the code blocks that begin with this line.
fn blocks<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let parts = text.split(begin).skip(1);
    parts.map(|part| part.split_once("```").expect("the block ends").0).collect()
}

/// README.md and the chapters of the book, in reading order.
fn documents() -> Vec<PathBuf> {
    let book = root().join("docs/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    let chapters = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    std::iter::once(root().join("README.md")).chain(chapters.map(|chapter| book.join(chapter))).collect()
}

/// Creates a fresh clone that has been built, with the files that the documents use.
fn clone_into(folder: &Path) {
    for part in ["ir-examples", "runtime/include", "runtime/tests/tvm"] {
        copy(&root().join(part), &folder.join(part));
    }
    let built = folder.join("target/release");
    std::fs::create_dir_all(&built).unwrap();
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let libraries = ["libhammock.so", "libhammock.a"].map(|name| (&*libraries, name));
    for (from, name) in [(programs(), "hammock"), (programs(), "hammock-run")].into_iter().chain(libraries) {
        std::os::unix::fs::symlink(from.join(name), built.join(name)).unwrap();
    }
}

#[test]
fn commands_of_the_documents() {
    let folder = tempfile::tempdir().unwrap();
    clone_into(folder.path());
    let mut script = "trap 'echo \"this failed: $BASH_COMMAND\" >&2' ERR\n".to_owned();
    for document in documents() {
        if document.ends_with("introduction.md") {
            // The book starts in the root of the clone.
            script += &format!("cd {}\n", folder.path().display());
        }
        let text = std::fs::read_to_string(&document).unwrap();
        for line in blocks(&text, "```sh\n").iter().flat_map(|block| block.lines()) {
            // Building, installing and testing are covered by other tests; README's first command builds and runs.
            match line.split_once("cargo run --release -- ") {
                Some((_, arguments)) => script += &format!("hammock {arguments}\n"),
                None if line.starts_with("cargo ") || line.starts_with("pip ") => {}
                None => script += &format!("{line}\n"),
            }
        }
    }
    let count = script.lines().filter(|line| line.starts_with("hammock")).count();
    assert!(count >= 60, "only {count} commands were found");
    succeed(&script, folder.path(), "the commands of README.md and docs/, in one shell");
}

#[test]
fn links_of_the_documents() {
    let root_documents = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/src/SUMMARY.md"];
    for document in documents().into_iter().chain(root_documents.map(|name| root().join(name))) {
        let text = std::fs::read_to_string(&document).unwrap();
        // In code, `](` is a call.
        let after_brackets = text.split("```").step_by(2).flat_map(|prose| prose.split("](").skip(1));
        for link in after_brackets.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let target = document.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(link.contains("://") || target.exists(), "{}: no {link}", document.display());
        }
    }
}

#[test]
fn the_diagnostic_of_the_book() {
    let chapter = std::fs::read_to_string(root().join("docs/src/debugging.md")).unwrap();
    let shown = blocks(&chapter, "```\n$ hammock check broken.py\n")[0];
    let folder = tempfile::tempdir().unwrap();
    let module = "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n    \
        def main(x: R.Tensor((2,), \"float32\"), w: R.Tensor((2,), \"float32\")):\n        # Adds.\n        \
        lv = R.ad(x, w)\n        return lv\n";
    std::fs::write(folder.path().join("broken.py"), module).unwrap();
    let output = shell("hammock check broken.py", folder.path());
    assert_eq!(String::from_utf8(output.stderr).unwrap().trim_end(), shown.trim_end());
}

#[test]
fn examples_of_every_help() {
    let furnished = tempfile::tempdir().unwrap();
    furnish(furnished.path());
    let mut count = 0;
    for program in ["hammock", "hammock-run"] {
        for command in subcommands(program) {
            let found = examples(&help(program, &command));
            assert!(
                program == "hammock-run" || ["targets", "lsp"].contains(&&*command) || !found.is_empty(),
                "`{command}` has no example"
            );
            for example in found {
                let folder = tempfile::tempdir().unwrap();
                copy(furnished.path(), folder.path());
                let from = if example.contains(" ir-examples/") { root() } else { folder.path() };
                succeed(&example, from, &format!("an example of `{program} {command} --help`"));
                count += 1;
            }
        }
    }
    assert!(count >= 35, "only {count} examples were found");
}

/// Returns the subcommands; the empty name is the program itself.
fn subcommands(program: &str) -> Vec<String> {
    let help = help(program, "");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    std::iter::once("").chain(names).map(str::to_owned).collect()
}

fn help(program: &str, command: &str) -> String {
    let output = shell(&format!("{program} {command} --help"), root());
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Returns indented lines that begin with a program's name, without trailing remarks.
fn examples(help: &str) -> Vec<String> {
    let help = help.replace(" \\\n     ", "");
    let commands = help.lines().filter_map(|line| line.strip_prefix("  ").filter(|line| line.starts_with("hammock")));
    commands.map(|line| line.split("  ").next().unwrap_or(line).to_owned()).collect()
}
