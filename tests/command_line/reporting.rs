//! `hammock report` and `hammock opt --graph`: what the page and the drawing have, not the values of measurements.
#![cfg(feature = "llvm")]

use crate::support::hammock;
use std::{collections::HashSet, path::Path};

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ir-examples/digits/model.py");
const WEIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ir-examples/digits/weights.safetensors");

fn written(folder: &Path, args: &[&str], file: &str) -> String {
    let output = hammock(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.join(file)).unwrap()
}

fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = hammock(folder, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), crate::support::status_of(&said), "{args:?}: {said}");
    said
}

/// The texts between `before` and the next quotation mark.
fn quoted<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    text.split(before).skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect()
}

/// Elements are closed in the order in which they were opened, ids are unique, and links lead to elements of the page.
fn check_markup(text: &str) {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1).map(|rest| &rest[..rest.find('>').unwrap()]) {
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        match tag {
            _ if tag.starts_with('!') || tag.ends_with('/') || name == "meta" => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let ids = quoted(text, " id=\"");
    let distinct: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), ids.len());
    for link in quoted(text, "href=\"") {
        assert!(link.strip_prefix('#').is_some_and(|id| distinct.contains(id)), "{link}");
    }
}

#[test]
fn report_is_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["report", DIGITS, "--params", WEIGHTS, "--min-time", "0.01", "--arg", "n=16", "--threads", "1"];
    let page = written(folder.path(), &args, "report.html");
    check_markup(&page);
    for text in
        ["Signature", "Kernels by time", "Roofline", "Graph, before and after fusion", "Memory plan", "Functions"]
    {
        assert!(page.contains(&format!("<h2>{text}</h2>")), "{text}");
    }
    assert!(page.contains("Function main on 1 thread.") && page.contains("Arguments: n=16, images=random."));
    assert!(page.contains("float32[n, 64]") && page.contains("float32[n, 10]"));
    assert!(page.contains("<td class=\"name\"><a href=\"#f"), "kernels link to their boxes");
    assert!(!page.contains("NaN") && !page.contains("http-equiv") && !page.contains("<script"));
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "nothing is loaded");
}

/// Integers are zeros, a size that is not given is 1, and functions are named.
#[test]
fn reports_assume_what_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["report", DIGITS, "--params", WEIGHTS, "--min-time", "0.01", "--func", "accuracy", "-o", "page.html"];
    let page = written(folder.path(), &args, "page.html");
    assert!(page.contains("Arguments: images=random, labels=zeros, n=1. n = 1 is assumed."), "{page}");
    assert!(page.contains("Function accuracy on"));
}

#[test]
fn reports_need_a_model_and_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let model = [DIGITS, "--params", WEIGHTS];
    let compiled = hammock(at, &[&["compile"], &model[..], &["-o", "digits.so"]].concat());
    assert!(compiled.status.success());
    assert!(refusal(at, &["report", "digits.so"]).contains("digits.so is compiled already"));
    let interpreted = [&["report"], &model[..], &["--exec-mode", "reference"]].concat();
    assert!(refusal(at, &interpreted).contains("interpreted kernels have no times"));
    assert!(refusal(at, &[&["report"], &model[..], &["-o", "-"]].concat()).contains("standard output"));
    assert!(refusal(at, &[&["report"], &model[..], &["-o", "none/page.html"]].concat()).contains("none/page.html"));
    let wrong = [&["report"], &model[..], &["--arg", "zeros(2,63):float32"]].concat();
    assert!(refusal(at, &wrong).contains("model.py:"), "the parameter's line is shown");
    assert!(!at.join("report.html").exists());
}

#[test]
fn graphs_show_operators_and_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |args: &[&str]| {
        let drawing = written(folder.path(), &[&["opt", DIGITS, "--graph", "graph.svg"], args].concat(), "graph.svg");
        check_markup(&drawing);
        drawing
    };
    let fused = graph(&[]);
    assert!(fused.contains(">9 operators<") && fused.contains(">1 kernel call, 1 of several operators<"), "{fused}");
    assert!(fused.contains("prefers-color-scheme:dark"));
    assert_eq!(fused, graph(&[]), "the same each time");
    assert!(graph(&["-O0"]).contains(">9 kernel calls, 0 of several operators<"));
    assert!(graph(&["--passes", "Normalize"]).contains(">0 kernel calls, 0 of several operators<"));
    assert!(refusal(folder.path(), &["opt", DIGITS, "--graph", "-"]).contains("standard output"));
}
