//! Invariants for arbitrary bytes as a text module.

use hammock_diagnostics::{Diagnostic, SourceFile, render_json, render_text};
use hammock_import::{ReadOptions, check_module, inspect_module, read_module};
use hammock_ir::{
    equal,
    print::{PrintOptions, module_text},
};

/// Processes a text as commands do before compilation.
pub fn survive(bytes: Vec<u8>) {
    let source = match SourceFile::from_bytes("damaged.py", bytes) {
        Ok(source) => source,
        Err(error) => return assert!(error.is_error()),
    };
    let (_, found) = check_module(&source, &ReadOptions::default());
    said(&found, &source);
    let parsed = hammock_syntax::parse(&source);
    if parsed.1.iter().any(Diagnostic::is_error) {
        let inspection = inspect_module(&source, &parsed, &ReadOptions::default());
        assert_eq!(inspection.diagnostics, found, "inspecting finds the same");
    }
    let Ok(module) = read_module(&source, &ReadOptions::default()) else {
        return assert!(found.iter().any(Diagnostic::is_error), "refused, but nothing is wrong");
    };
    let printed = module_text(&module, &PrintOptions::default());
    let again = SourceFile::new("printed.py", printed.as_str()).unwrap();
    match read_module(&again, &ReadOptions::default()) {
        Ok(again) => {
            let twice = module_text(&again, &PrintOptions::default());
            assert!(printed == twice, "prints differently when read back:\n{printed}\n----\n{twice}");
            for (name, function) in &module.functions {
                let same = equal::functions(function, &again.functions[name]);
                same.unwrap_or_else(|difference| panic!("`{name}` reads back as another: {difference}\n{printed}"));
            }
        }
        Err(found) => panic!("does not read what it printed: {}", render_text(&found[0], Some(&again), false)),
    }
}

/// Does the same for a module that uses entries of this metadata section.
pub fn survive_metadata(section: &str) {
    let section = section.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    let module = format!(
        "metadata = tvm.ir.load_json(\"\"\"{section}\"\"\")\n\n@I.ir_module\nclass Module:\n    \
         I.module_attrs({{\"a\": metadata[\"target\"][0]}})\n    @R.function\n    \
         def main(x: R.Tensor((1,), \"float32\")):\n        y = R.add(x, metadata[\"ir.GenericConst\"][0])\n        \
         return (y, metadata[\"relax.expr.Constant\"][1], metadata[\"ir.StringImm\"][0])\n"
    );
    survive(module.into_bytes());
}

/// Checks that diagnostics point into the file and can be rendered.
fn said(found: &[Diagnostic], source: &SourceFile) {
    for diagnostic in found {
        for label in &diagnostic.labels {
            let span = label.span;
            assert!(span.start <= span.end && span.end as usize <= source.text().len(), "{diagnostic:?}");
        }
        assert!(render_text(diagnostic, Some(source), false).starts_with(diagnostic.severity.name()));
        render_json(diagnostic, Some(source));
    }
}
