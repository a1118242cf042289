//! `hammock fmt`: formatted texts are the same modules, and files are rewritten completely or not at all.

use crate::support::{hammock, root, stdout};
use hammock_compiler::{ReadOptions, read_source, read_text};
use hammock_diagnostics::SourceFile;
use hammock_ir::{
    equal,
    print::{PrintOptions, module_text},
};
use hammock_syntax::format;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const UNFORMATTED: &str =
    "# double\n@R.function\ndef main( x:R.Tensor((2,),\"float32\") ): # two\n  return R.add( x,x )\n";
const FORMATTED: &str =
    "# double\n@R.function\ndef main(x: R.Tensor((2,), \"float32\")):  # two\n    return R.add(x, x)\n";

/// Runs `hammock` with a text as standard input.
fn piped(args: &[&str], text: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

/// A folder with an unformatted and a formatted file.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.py"), UNFORMATTED).unwrap();
    fs::write(folder.path().join("b.py"), FORMATTED).unwrap();
    folder
}

fn text(folder: &tempfile::TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn files_are_rewritten() {
    let folder = folder();
    let modified = |name: &str| fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
    let before = modified("b.py");
    assert_eq!(stdout(hammock(&folder, &["fmt", "a.py", "b.py"])), "");
    assert_eq!([text(&folder, "a.py"), text(&folder, "b.py")], [FORMATTED; 2]);
    assert_eq!(modified("b.py"), before);
}

#[test]
fn check_lists_files() {
    let folder = folder();
    let output = hammock(&folder, &["fmt", "--check", "a.py", "b.py"]);
    assert_eq!((output.status.code(), &*output.stdout, &*output.stderr), (Some(1), &b"a.py\n"[..], &b""[..]));
    assert_eq!(text(&folder, "a.py"), UNFORMATTED);
    assert_eq!(stdout(hammock(&folder, &["fmt", "--check", "b.py"])), "");
    assert_eq!(piped(&["fmt", "--check", "-"], UNFORMATTED.as_bytes()).stdout, b"<stdin>\n");
}

/// The command line as a library, as the Python package uses it, returns the status and goes on.
#[test]
fn negative_answers_do_not_end_the_process() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |args: &[&str]| hammock_cli::run(["hammock"].iter().chain(args).map(Into::into));
    assert_eq!(run(&["fmt", "--check", &path("a.py")]), 1);
    assert_eq!(run(&["fmt", "--check", &path("b.py")]), 0);
    fs::write(path("wrong.py"), "@R.function\ndef main(x: R.Tensor):\n    return R.ad(x, x)\n").unwrap();
    assert_eq!(run(&["check", "--json", &path("wrong.py")]), 1);
    assert_eq!(run(&["check", "--json", &path("b.py")]), 0);
}

#[test]
fn diff_shows_changes() {
    let folder = folder();
    let diff = stdout(hammock(&folder, &["fmt", "--diff", "a.py", "b.py"]));
    crate::support::snapshot("cli", "fmt_diff", &diff);
    assert_eq!(text(&folder, "a.py"), UNFORMATTED);
    let output = hammock(&folder, &["fmt", "--diff", "--check", "a.py"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn standard_input_is_formatted() {
    assert_eq!(stdout(piped(&["fmt", "-"], UNFORMATTED.as_bytes())), FORMATTED);
    assert_eq!(stdout(piped(&["fmt", "-"], UNFORMATTED.replace('\n', "\r\n").as_bytes())), FORMATTED);
}

/// Files with errors stay as they are, and the others are formatted.
#[test]
fn bad_files_stay() {
    let folder = folder();
    let bad: [(&str, &[u8], &str); 6] = [
        ("bracket.py", b"x = f(1,\n", "[E0102]"),
        ("tabs.py", b"if a:\n\tx\n        y\n", "[E0103]"),
        ("string.py", b"x = 'a\n", "[E0106]"),
        ("latin1.py", b"x = 'caf\xe9'\n", "[E0401]"),
        ("program.py", b"\x7fELF\x02\x01\x01", "[E04"),
        ("deep.py", &[b"x = ", "(".repeat(300).as_bytes(), b"1", ")".repeat(300).as_bytes()].concat(), "[E0110]"),
    ];
    for (name, content, _) in bad {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let names = bad.map(|(name, ..)| name);
    let output = hammock(&folder, &[&["fmt", "missing.py"], &names[..], &["a.py"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for (name, content, code) in bad {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), content);
        assert!(said.contains(code) && said.contains(name), "{name}: {said}");
    }
    assert!(said.contains("missing.py"), "{said}");
    assert_eq!(text(&folder, "a.py"), FORMATTED);
}

fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
}

fn formatted(text: &str) -> String {
    let of = |text: &str| format(&SourceFile::new("model.py", text).unwrap()).unwrap();
    let once = of(text);
    assert_eq!(of(&once), once);
    once
}

/// Each module of the repository, and what Hammock prints of it, is the same module once it is formatted.
#[test]
fn formatted_texts_are_the_same_modules() {
    let mut paths = Vec::new();
    texts(&root().join("ir-examples"), &mut paths);
    texts(&root().join("tests/filetests"), &mut paths);
    let mut count = 0;
    for path in paths {
        let source = read_source(path.to_str().unwrap()).unwrap().unwrap();
        let options = ReadOptions::default();
        // Some texts are programs in Python, others show errors.
        let Ok(module) = read_text(&source, &options) else { continue };
        let printed = module_text(&module, &PrintOptions::default());
        for text in [source.text(), &printed] {
            let again = SourceFile::new(source.name(), formatted(text)).unwrap();
            let read = read_text(&again, &options).unwrap_or_else(|error| panic!("{}", error.render(false)));
            assert!(equal::modules(&module, &read).is_ok(), "{}", path.display());
            assert_eq!(module_text(&read, &PrintOptions::default()), printed, "{}", path.display());
        }
        count += 1;
    }
    assert!(count > 500, "{count}");
}
