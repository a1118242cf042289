//! Every operator's example is a module that reads, is well formed, and goes through the default pipeline.

use hammock_compiler::{ReadOptions, read_text};
use hammock_passes::{Silent, default_pipeline};
use hammock_syntax::SourceFile;

#[test]
fn examples_compile() {
    for op in hammock_ops::ops() {
        let Some(text) = op.example_module() else { continue };
        let source = SourceFile::new("example.py", text).unwrap();
        let mut module = read_text(&source, &ReadOptions::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
        verify(&module, op.name);
        if let Err(diagnostic) = default_pipeline().run(&mut module, &mut Silent) {
            panic!("{}", hammock_syntax::render_text(&diagnostic, Some(&source), false));
        }
        verify(&module, op.name);
    }
}

fn verify(module: &hammock_ir::Module, name: &str) {
    let found = hammock_ir::verify::module(module, &hammock_ops::Table);
    assert!(found.is_empty(), "the example of R.{name} is not well formed: {found:#?}");
}
