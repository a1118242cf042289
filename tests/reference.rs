//! Reference pages of the book: generated from the output of the command line, that is, from the declarations of
//! operators, passes, builtins, rules and diagnostics. `UPDATE_REFERENCE=1 cargo test --test reference` updates them.

use std::{fmt::Write, path::Path, process::Command};

/// Returns the output of a command.
fn print(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).output().unwrap();
    assert!(output.status.success(), "hammock {args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the names at the beginning of a list's lines, up to a space or parenthesis.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.split([' ', '(']).next()).filter(|name| !name.is_empty())
}

/// Compares a page with the one in the book, or updates it.
fn check(name: &str, title: &str, introduction: &str, body: &str) {
    let page = format!("# {title}\n\n<!-- Written by tests/reference.rs. -->\n\n{introduction}\n\n{}\n", body.trim());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(path, page).unwrap();
    } else {
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == page, "{name} is not what `hammock` prints: UPDATE_REFERENCE=1 writes it");
    }
}

/// Formats a list as a table, with names as code.
fn table(head: &str, list: &str) -> String {
    let mut out = format!("| {head} | |\n|---|---|\n");
    for (name, doc) in list.lines().filter_map(|line| line.split_once(' ')) {
        writeln!(out, "| `{name}` | {} |", doc.trim().replace('|', "\\|")).unwrap();
    }
    out
}

#[test]
fn operators() {
    let list = print(&["ops"]);
    let mut body = String::new();
    for name in names(&list) {
        let text = print(&["ops", name]);
        let (signature, rest) = text.split_once("\n\n").unwrap();
        let (doc, example) = rest.split_once("\nlegalizes to: ").unwrap();
        let example = example.split_once("\n\n").map_or("", |(_, example)| example);
        write!(body, "## {name}\n\n`{signature}`\n\n{}\n\n", doc.trim()).unwrap();
        if let Some((module, _)) = example.split_once("\nrun it:") {
            let module: String =
                module.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect();
            write!(body, "```python\n{}\n```\n\n", module.trim()).unwrap();
        }
    }
    let introduction =
        "`hammock ops NAME` prints an operator's page, and `hammock ops NAME --example` a module to run.";
    check("operators.md", "Operators", introduction, &body);
}

#[test]
fn onnx_operators() {
    let body: String = print(&["ops", "--onnx"]).lines().map(|name| format!("- `{name}`\n")).collect();
    check("onnx-operators.md", "ONNX operators", "The operators that can be imported (`hammock ops --onnx`).", &body);
}

#[test]
fn passes() {
    let list = print(&["passes"]);
    let mut body = table("pass", &list);
    for name in names(&list) {
        let text = print(&["passes", name]);
        if let Some((_, options)) = text.split_once(".\n\n{") {
            write!(body, "\n## {name}\n\nOptions:\n\n```\n{{{}\n```\n", options.trim()).unwrap();
        }
    }
    let introduction =
        "`hammock opt FILE --passes NAME` runs a pass; `hammock passes --pipeline -O2` prints a level's pipeline.";
    check("passes.md", "Passes", introduction, &body);
}

#[test]
fn builtins() {
    let body = table("function", &print(&["builtins"]));
    check("builtins.md", "Builtins", "Functions of the virtual machine that programs call by name.", &body);
}

#[test]
fn rules() {
    let body = format!("```\n{}\n```", print(&["rules"]).trim());
    check("rules.md", "Rules and schedule primitives", "What `hammock rules` prints.", &body);
}

#[test]
fn diagnostics() {
    let mut body = String::new();
    for code in names(&print(&["explain"])) {
        let text = print(&["explain", code]);
        let (title, rest) = text.split_once('\n').unwrap();
        write!(body, "## {title}\n\n{}\n\n", fence_examples(rest.trim())).unwrap();
    }
    check("diagnostics.md", "Diagnostics", "What `hammock explain CODE` prints.", &body);
}

/// Encloses indented blocks in code fences.
fn fence_examples(text: &str) -> String {
    let (mut out, mut inside) = (String::new(), false);
    let mut blank = 0;
    for line in text.lines() {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        let indented = line.starts_with("    ");
        if inside && !indented {
            out.push_str("```\n");
        }
        out.push_str(&"\n".repeat(blank));
        if !inside && indented {
            out.push_str("```\n");
        }
        (inside, blank) = (indented, 0);
        writeln!(out, "{}", line.strip_prefix("    ").unwrap_or(line)).unwrap();
    }
    if inside {
        out.push_str("```\n");
    }
    out
}
