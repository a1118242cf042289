//! Dotted names below `R`, `T`, `I` and `tvm`, in canonical form.

use hammock_ir::Name;
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
    /// `tvm`, other than the above.
    Tvm,
    /// Python's own names, and imports without a meaning here.
    Python,
}

/// A dotted name below a root: `R.nn.conv2d`; the root alone has an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub space: Space,
    pub name: Name,
}

/// The modules of the dialects below `tvm`, over all versions.
const DIALECT_MODULES: [(&str, Space); 16] = [
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

    /// `self.member`, with the dialect's namespace in canonical form.
    pub fn member(&self, member: &str) -> Path {
        let name = if self.name.is_empty() { member.to_owned() } else { format!("{}.{member}", self.name) };
        match self.space {
            Space::Tvm => Path::below_tvm(&name),
            // `relax.op.add` is `R.add`.
            Space::Relax if &*self.name == "op" => Path::new(Space::Relax, member),
            space => Path::new(space, name),
        }
    }

    /// The path of a dotted name below `tvm`.
    fn below_tvm(name: &str) -> Path {
        if let Some((_, space)) = DIALECT_MODULES.iter().find(|(home, _)| *home == name) {
            return Path::new(*space, "");
        }
        match name.strip_prefix("script.") {
            Some("parser") | None => Path::new(Space::Tvm, name),
            Some(rest) => Path::new(Space::Ir, rest),
        }
    }

    /// The path of an absolute module name.
    pub fn absolute(name: &str) -> Path {
        let mut parts = name.split('.');
        match parts.next() {
            Some("tvm") => parts.fold(Path::new(Space::Tvm, ""), |path, part| path.member(part)),
            _ => Path::new(Space::Python, name),
        }
    }

    /// Returns true if it is that name of that namespace.
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

/// A function, statement, declaration or type of a namespace that is no operator or intrinsic, as editors describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its name, without that of its namespace.
    pub name: &'static str,
    /// How a text uses it.
    pub usage: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
}

impl Form {
    pub(crate) const fn new(name: &'static str, usage: &'static str, doc: &'static str) -> Form {
        Form { name, usage, doc }
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
