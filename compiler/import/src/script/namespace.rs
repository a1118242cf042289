//! Namespaces: a file's predeclared names and imports.

use super::{
    context::Context,
    path::{Path, Space},
    scope::Scope,
    value::Value,
};
use hammock_syntax::ast;

/// The names that a printed file uses without importing them: its imports are comments.
pub(crate) fn predeclared() -> Scope {
    let mut names = Scope::default();
    for (name, space) in [("I", Space::Ir), ("R", Space::Relax), ("T", Space::Tir), ("tvm", Space::Tvm)] {
        names.define(name, Value::Path(Path::new(space, "")));
    }
    for name in ["TypeVar", "range", "float", "int", "bool", "BasePyModule"] {
        names.define(name, Value::Path(Path::new(Space::Python, name)));
    }
    names.push();
    names
}

/// `import a.b as c`
pub(crate) fn import(cx: &mut Context, imports: &[ast::Import]) {
    for import in imports {
        match &import.alias {
            Some(alias) => cx.names.define(&*alias.name, Value::Path(Path::absolute(&import.path))),
            None => {
                let root = import.path.split('.').next().unwrap_or_default();
                cx.names.define(root, Value::Path(Path::absolute(root)));
            }
        }
    }
}

/// `from a.b import c as d`
pub(crate) fn import_from(cx: &mut Context, import: &ast::FromImport) {
    for name in &import.names {
        // `from __future__` is ignored, and star imports add nothing that is not predeclared.
        if &*import.path == "__future__" || &*name.path == "*" || &*import.path == "typing" {
            continue;
        }
        let alias = name.alias.as_ref().map_or(&*name.path, |alias| &*alias.name);
        let path = Path::absolute(&import.path).member(&name.path);
        cx.names.define(alias, Value::Path(path));
    }
}
