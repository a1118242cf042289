//! Licences of all dependencies are allowed by `deny.toml`, and the Python packages contain those of the crates that they
//! are linked from. Uses `cargo metadata` without downloads; cargo-deny checks the whole file.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
    process::Command,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the list on the line that begins with `allow = [`.
fn allowed() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, rest) = text.split_once("\nallow = [").expect("deny.toml has a list of licences");
    let (list, _) = rest.split_once(']').unwrap();
    list.split(',').map(|item| item.trim().trim_matches('"').to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Returns true if these licences satisfy an SPDX expression: one of each `OR`, all of each `AND`.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let outer = |word: &str| {
        let mut depth = 0;
        let at = expression.char_indices().find(|(at, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0 && expression[*at..].starts_with(word)
        });
        at.map(|(at, _)| (&expression[..at], &expression[at + word.len()..]))
    };
    if let Some((a, b)) = outer(" OR ") {
        return is_met(a, allowed) || is_met(b, allowed);
    }
    if let Some((a, b)) = outer(" AND ") {
        return is_met(a, allowed) && is_met(b, allowed);
    }
    let plain = expression.trim();
    match plain.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_met(inner, allowed),
        None => allowed.contains(plain),
    }
}

/// Returns the packages of the workspace and their dependencies.
fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    let output = cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let (metadata, allowed) = (metadata(), allowed());
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{}", packages.len());
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("no licence");
        assert!(is_met(licence, &allowed), "{} {}: {licence}", package["name"], package["version"]);
    }
}

#[test]
fn spdx_expressions_are_evaluated() {
    let allowed = ["MIT", "Zlib"].map(str::to_owned).into();
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND Zlib", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}

/// Returns the crates of other people whose code is in the Python packages.
fn linked<'a>(metadata: &'a Value, from: &str) -> Vec<&'a Value> {
    let by_id = |list: &'a Value| -> BTreeMap<&'a str, &'a Value> {
        list.as_array().unwrap().iter().map(|item| (item["id"].as_str().unwrap(), item)).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let start = packages.values().find(|package| package["name"] == from).unwrap();
    let (mut seen, mut queue) = (BTreeSet::new(), vec![start["id"].as_str().unwrap()]);
    while let Some(id) = queue.pop() {
        let is_macro = |target: &Value| target["kind"][0] == "proc-macro";
        if packages[id]["targets"].as_array().unwrap().iter().any(is_macro) || !seen.insert(id) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            if dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null()) {
                queue.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    let mut crates: Vec<&Value> = seen.into_iter().map(|id| packages[id]).collect();
    crates.retain(|package| !package["source"].is_null());
    crates.sort_by_key(|package| (package["name"].as_str(), package["version"].as_str()));
    crates
}

/// Returns the text of a crate's licence.
fn licence_text(package: &Value) -> String {
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    let files = ["LICENSE-MIT", "LICENSE", "LICENSE.txt"].map(|name| folder.join(name));
    let file = files.iter().find(|file| file.exists()).unwrap_or_else(|| panic!("{}: no licence", folder.display()));
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>().trim_matches('\n').to_owned()
}

/// Returns the licences of the crates in the Python packages.
fn notices(metadata: &Value) -> String {
    let (mut apache, mut llvm) = (vec!["the Rust standard library".to_owned()], vec!["LLVM 22".to_owned()]);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked(metadata, "hammock-python") {
        let name = format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        let expression = package["license"].as_str().unwrap().replace('/', " OR ");
        let alternatives: Vec<&str> = expression.split(" OR ").map(str::trim).collect();
        if alternatives.contains(&"Apache-2.0") {
            apache.push(name);
        } else if alternatives.contains(&"Apache-2.0 WITH LLVM-exception") {
            llvm.push(name);
        } else {
            texts.entry(licence_text(package)).or_default().push(name);
        }
    }
    let mut text = format!(
        "The Python packages of Hammock are linked from Hammock, whose licence is in the file LICENSE, and from the\n\
         software below. The package hammock-runtime contains only a part of it.\n\n\
         Under Apache-2.0, whose text is in the file LICENSE:\n\n{}\n\n\
         Under Apache-2.0 WITH LLVM-exception, whose text is in the files LICENSE and LLVM.txt:\n\n{}\n",
        apache.join("\n"),
        llvm.join("\n")
    );
    for (licence, names) in texts {
        let line = "-".repeat(79);
        writeln!(text, "\n{line}\n{}\n{line}\n\n{licence}", names.join(", ")).unwrap();
    }
    text
}

#[test]
fn python_packages_contain_the_licences_of_their_crates() {
    let file = root().join("python/licenses/THIRD_PARTY.txt");
    let expected = notices(&metadata());
    if std::env::var_os("UPDATE_LICENCES").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{} is out of date: UPDATE_LICENCES=1 cargo test --test licences", file.display());
}
