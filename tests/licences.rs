//! Licences of all dependencies are allowed by `deny.toml`. Uses `cargo metadata` without downloads; cargo-deny checks
//! the whole file.

use std::{collections::BTreeSet, path::Path, process::Command};

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

#[test]
fn every_dependency_has_an_allowed_licence() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    let output = cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let allowed = allowed();
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
