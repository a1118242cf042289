//! Namespaces: what `R`, `T`, `I` and imports stand for.

use super::{context::Context, scope::Scope, value::Value};
use hammock_ir::Name;
use hammock_syntax::ast;
use std::fmt;

/// A root that dotted names start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// `I`: modules and what both dialects share.
    Ir,
    /// `R`
    Relax,
    /// `T`
    Tir,
    /// `tvm`, as far as it is none of the above.
    Tvm,
    /// Python's own names, and imports that mean nothing here.
    Python,
}

/// A dotted name below a root: `R.nn.conv2d`; the root alone has an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub space: Space,
    pub name: Name,
}

/// Where a dialect lives below `tvm`, over all versions.
const HOMES: [(&str, Space); 16] = [
    ("script.relax", Space::Relax),
    ("script.tirx", Space::Tir),
    ("script.tir", Space::Tir),
    ("script.ir", Space::Ir),
    ("script.parser.relax", Space::Relax),
    ("script.parser.tirx", Space::Tir),
    ("script.parser.tir", Space::Tir),
    ("script.parser.ir", Space::Ir),
    ("relax", Space::Relax),
    ("relax.op", Space::Relax),
    ("relax.script", Space::Relax),
    ("tirx", Space::Tir),
    ("tir", Space::Tir),
    ("tirx.script", Space::Tir),
    ("ir", Space::Ir),
    ("runtime", Space::Ir),
];

impl Path {
    pub fn new(space: Space, name: impl Into<Name>) -> Self {
        Path { space, name: name.into() }
    }

    /// `self.member`, with the spellings of a dialect's namespace brought to one.
    pub fn member(&self, member: &str) -> Path {
        let name = if self.name.is_empty() { member.to_owned() } else { format!("{}.{member}", self.name) };
        match self.space {
            Space::Tvm => Path::below_tvm(&name),
            // `relax.op.add` is `R.add`.
            Space::Relax if &*self.name == "op" => Path::new(Space::Relax, member),
            space => Path::new(space, name),
        }
    }

    /// What a dotted name below `tvm` stands for.
    fn below_tvm(name: &str) -> Path {
        if let Some((_, space)) = HOMES.iter().find(|(home, _)| *home == name) {
            return Path::new(*space, "");
        }
        match name.strip_prefix("script.") {
            Some("parser") | None => Path::new(Space::Tvm, name),
            Some(rest) => Path::new(Space::Ir, rest),
        }
    }

    /// The path that an absolute module name stands for.
    fn absolute(name: &str) -> Path {
        let mut parts = name.split('.');
        match parts.next() {
            Some("tvm") => parts.fold(Path::new(Space::Tvm, ""), |path, part| path.member(part)),
            _ => Path::new(Space::Python, name),
        }
    }

    /// Whether it is that name of that namespace.
    pub fn is(&self, space: Space, name: &str) -> bool {
        self.space == space && self.name == name
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = match self.space {
            Space::Ir => "I",
            Space::Relax => "R",
            Space::Tir => "T",
            Space::Tvm => "tvm",
            Space::Python => return f.write_str(&self.name),
        };
        if self.name.is_empty() { f.write_str(root) } else { write!(f, "{root}.{}", self.name) }
    }
}

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
        // `from __future__` has no meaning, and stars bring nothing that is not predeclared.
        if &*import.path == "__future__" || &*name.path == "*" || &*import.path == "typing" {
            continue;
        }
        let alias = name.alias.as_ref().map_or(&*name.path, |alias| &*alias.name);
        let path = Path::absolute(&import.path).member(&name.path);
        cx.names.define(alias, Value::Path(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_namespace_meet() {
        for (name, shown) in [
            ("tvm.script.relax", "R"),
            ("tvm.relax", "R"),
            ("tvm.relax.op.nn.conv2d", "R.nn.conv2d"),
            ("tvm.script.tir", "T"),
            ("tvm.script.tirx", "T"),
            ("tvm.tir.Var", "T.Var"),
            ("tvm.script.ir", "I"),
            ("tvm.script.ir_module", "I.ir_module"),
            ("tvm.ir.load_json", "I.load_json"),
            ("tvm.target.Target", "tvm.target.Target"),
            ("numpy.float32", "numpy.float32"),
        ] {
            assert_eq!(Path::absolute(name).to_string(), shown);
        }
    }
}
