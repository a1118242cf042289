//! Reports and graphs in a browser: nothing is cut off or covered, texts are readable in light and in dark colors, and links
//! lead somewhere. Without Chromium, as on most machines, there is nothing to test.
#![cfg(feature = "llvm")]

use crate::support::{hammock, root, stdout};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the path of Chromium, if it is installed.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|program| program.exists())
}

/// Opens a file in windows of two widths, in light and in dark colors, and returns what is wrong.
fn faults(browser: &Path, file: &Path) -> Vec<String> {
    let page = std::fs::read_to_string(file).unwrap();
    let measured = file.with_extension("measured.html");
    std::fs::write(&measured, format!("{page}<script>{}</script>", include_str!("browser/measure.js"))).unwrap();
    let mut faults = Vec::new();
    for (width, flags) in [(1280, &[][..]), (1280, &["--force-dark-mode"]), (400, &[])] {
        let mut command = Command::new(browser);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
            .args(flags);
        let profile = tempfile::tempdir().unwrap();
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.arg(format!("--window-size={width},900")).arg(format!("file://{}", measured.display()));
        let dom = stdout(command.output().unwrap());
        let found = dom.split_once("<pre>").and_then(|(_, rest)| rest.split_once("</pre>"));
        let (found, _) = found.unwrap_or_else(|| panic!("the script did not end: {dom}"));
        let mut lines = found.lines();
        let seen = lines.next().unwrap();
        assert_eq!(seen.starts_with("dark, "), !flags.is_empty(), "{seen}");
        assert!(!seen.contains(" 0 texts") && !seen.contains(" 0 links"), "{seen}");
        faults.extend(lines.map(|line| format!("{width} {flags:?}: {line}")));
    }
    faults
}

#[test]
fn reports_and_graphs_are_readable() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let made = |args: &[&str], name: &str| {
        stdout(hammock(root(), &[args, &[file(name).to_str().unwrap()]].concat()));
    };
    let digits = ["ir-examples/digits/model.py", "--params", "ir-examples/digits/weights.safetensors"];
    made(&[&["report"], &digits[..], &["--arg", "n=16", "--min-time", "0.01", "-o"]].concat(), "digits.html");
    made(&["report", "tests/onnx/mlp.onnx", "--min-time", "0.01", "-o"], "mlp.html");
    made(&[&["opt"], &digits[..1], &["--graph"]].concat(), "graph.svg");
    // A browser runs scripts of pages, so the graph gets one around it.
    let graph = std::fs::read_to_string(file("graph.svg")).unwrap();
    std::fs::write(file("graph.html"), format!("<!DOCTYPE html><body style='margin:0;width:max-content'>{graph}"))
        .unwrap();
    for page in ["digits.html", "mlp.html", "graph.html"] {
        let found = faults(&browser, &file(page));
        let found: Vec<&String> =
            found.iter().filter(|fault| page != "graph.html" || !fault.contains("wider than")).collect();
        assert!(found.is_empty(), "{page}: {found:#?}");
    }
}
