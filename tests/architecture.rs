//! Data flows one way: a crate depends only on crates above it in this list.

use std::path::Path;

/// The crates, in the order in which a model passes through them. `runtime` comes first: the compiler uses its types.
const ORDER: &[&str] = &[
    "hammock-runtime",
    "hammock-capi",
    "hammock-syntax",
    "hammock-asm",
    "hammock-ir",
    "hammock-ops",
    "hammock-import",
    "hammock-passes",
    "hammock-kernels",
    "hammock-codegen",
    "hammock-link",
    "hammock-compiler",
    "hammock",
];

/// Neighbours in the list that must not know each other all the same.
const FORBIDDEN: &[(&str, &str)] = &[
    ("hammock-syntax", "hammock-runtime"),
    ("hammock-passes", "hammock-import"),
    ("hammock-kernels", "hammock-ops"),
    ("hammock-kernels", "hammock-import"),
    ("hammock-kernels", "hammock-passes"),
    ("hammock-codegen", "hammock-ops"),
    ("hammock-codegen", "hammock-import"),
    ("hammock-codegen", "hammock-passes"),
    ("hammock-link", "hammock-ir"),
    ("hammock-link", "hammock-codegen"),
];

#[test]
fn no_crate_imports_upwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.to_path_buf(), root.join("runtime"), root.join("runtime/capi")];
    folders.extend(std::fs::read_dir(root.join("compiler")).unwrap().map(|entry| entry.unwrap().path()));
    let mut seen = 0;
    for folder in folders {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (name, dependencies) = read_manifest(&text);
        let place = position(&name);
        seen += 1;
        for dependency in dependencies {
            assert!(position(&dependency) < place, "{name} imports {dependency}, which comes after it");
            let pair = (name.as_str(), dependency.as_str());
            assert!(!FORBIDDEN.contains(&pair), "{name} must not know {dependency}");
        }
    }
    assert_eq!(seen, ORDER.len(), "a crate is missing from this test's list, or from the tree");
}

fn position(name: &str) -> usize {
    ORDER.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name} is not in this test's list"))
}

/// A manifest's package name and those of its dependencies that are ours; development dependencies do not count.
fn read_manifest(text: &str) -> (String, Vec<String>) {
    let mut section = "";
    let (mut name, mut dependencies) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[package]" && line.starts_with("name") {
            name = line.split('"').nth(1).unwrap().to_owned();
        } else if section == "[dependencies]" && line.starts_with("hammock") {
            dependencies.push(line.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    (name, dependencies)
}
