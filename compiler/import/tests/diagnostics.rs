//! Diagnostics of typical errors: `tests/bad/AREA/NAME.py` of the repository is a module with one, and
//! `snapshots/diagnostics/AREA/NAME.snap` is the output of `hammock check` for it.

use hammock_diagnostics::{SourceFile, render_text};
use hammock_import::{ReadOptions, check_module};
use std::path::Path;

#[test]
fn mistakes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    insta::glob!("../../../tests/bad", "*/*.py", |path| {
        let area = path.parent().and_then(Path::file_name).unwrap().to_string_lossy();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root.join("snapshots/diagnostics").join(&*area));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_snapshot_suffix();
        settings.remove_input_file();
        let text = std::fs::read_to_string(path).unwrap();
        let source = SourceFile::new(format!("{area}/{name}.py"), text).unwrap();
        settings.bind(|| insta::assert_snapshot!(name, check(&source)));
    });
}

/// The diagnostics of a file, at least one.
fn check(source: &SourceFile) -> String {
    let (_, found) = check_module(source, &ReadOptions::default());
    assert!(!found.is_empty(), "nothing is wrong with {}", source.name());
    found.iter().map(|d| render_text(d, Some(source), false)).collect()
}
