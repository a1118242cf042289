//! Names that a text can use, for editors.

use super::{
    builtins, intrinsics,
    path::{Form, Path, Space},
    relax, types,
};

/// A namespace of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// `I`: modules and what both dialects share.
    Ir,
    /// `R`: graphs.
    Relax,
    /// `T`: kernels.
    Tir,
}

/// Names of dtypes, without those of vectors.
const DTYPES: [&str; 24] = [
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "int4",
    "uint4",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "handle",
];

impl Namespace {
    /// All namespaces.
    pub const ALL: [Namespace; 3] = [Namespace::Ir, Namespace::Relax, Namespace::Tir];

    /// The name that texts give it.
    pub fn alias(self) -> &'static str {
        match self {
            Namespace::Ir => "I",
            Namespace::Relax => "R",
            Namespace::Tir => "T",
        }
    }

    /// The names in it, dotted below it (`nn.relu`), sorted.
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<&str> = match self {
            Namespace::Ir => ["ir_module"].into_iter().chain(builtins::IR_CALLS).collect(),
            Namespace::Relax => {
                let others = ["function", "device_mesh"]
                    .into_iter()
                    .chain(types::TYPES)
                    .chain(relax::OTHER_FORMS.map(|form| form.name));
                hammock_ops::ops().map(|op| op.name).chain(others).collect()
            }
            Namespace::Tir => intrinsics::names().chain(DTYPES).collect(),
        };
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The form of this name, if it is no operator, intrinsic or dtype.
    pub fn form(self, name: &str) -> Option<Form> {
        match self {
            Namespace::Ir => None,
            Namespace::Relax => relax::OTHER_FORMS.into_iter().find(|form| form.name == name),
            Namespace::Tir => intrinsics::forms().find(|form| form.name == name),
        }
    }

    /// Returns true if a name in it is a type.
    pub fn is_type(self, name: &str) -> bool {
        match self {
            Namespace::Ir => name == "StringType",
            Namespace::Relax => types::TYPES.contains(&name),
            Namespace::Tir => matches!(name, "Buffer" | "handle") || super::dtypes::of_name(name).is_some(),
        }
    }
}

/// Names of dtypes, the usual ones first; vectors (`float32x4`) are not listed.
pub fn dtype_names() -> impl Iterator<Item = &'static str> {
    DTYPES.into_iter()
}

/// The namespace and the name in it that a dotted name denotes; the name is empty for the namespace itself. Accepts the
/// namespaces' usual aliases and the absolute names of all versions: `R.add`, `tvm.script.relax.add`, `tvm.tir.exp`.
pub fn namespace_of(dotted: &str) -> Option<(Namespace, String)> {
    let (root, rest) = dotted.split_once('.').unwrap_or((dotted, ""));
    let path = match Namespace::ALL.into_iter().find(|namespace| namespace.alias() == root) {
        Some(namespace) => {
            let root = Path::new(space(namespace), "");
            rest.split('.').filter(|part| !part.is_empty()).fold(root, |path, part| path.member(part))
        }
        None => Path::absolute(dotted),
    };
    let namespace = Namespace::ALL.into_iter().find(|namespace| space(*namespace) == path.space)?;
    Some((namespace, path.name.to_string()))
}

fn space(namespace: Namespace) -> Space {
    match namespace {
        Namespace::Ir => Space::Ir,
        Namespace::Relax => Space::Relax,
        Namespace::Tir => Space::Tir,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_names_have_namespaces() {
        let names = |dotted| namespace_of(dotted).map(|(namespace, name)| format!("{} {name}", namespace.alias()));
        assert_eq!(names("R.nn.relu").as_deref(), Some("R nn.relu"));
        assert_eq!(names("tvm.relax.op.add").as_deref(), Some("R add"));
        assert_eq!(names("tvm.script.tir").as_deref(), Some("T "));
        assert_eq!(names("numpy.add"), None);
    }

    /// The usage of a form has its name, and is a statement or the start of one.
    #[test]
    fn forms_are_used_as_they_say() {
        let forms = relax::OTHER_FORMS.into_iter().map(|form| (Namespace::Relax, form));
        for (namespace, Form { name, usage, doc }) in
            forms.chain(intrinsics::forms().map(|form| (Namespace::Tir, form)))
        {
            assert!(usage.contains(&format!("{}.{name}", namespace.alias())), "{name}: {usage}");
            assert!(doc.ends_with('.'), "{name}: {doc}");
            let text = match usage {
                _ if usage.ends_with(':') => format!("{usage}\n    pass\n"),
                _ if usage.starts_with('@') => format!("{usage}\ndef f():\n    pass\n"),
                _ => format!("{usage}\n"),
            };
            let source = hammock_diagnostics::SourceFile::new("usage.py", &*text).unwrap();
            assert!(hammock_syntax::parse(&source).1.is_empty(), "{usage}");
        }
    }

    #[test]
    fn listed_names_exist() {
        assert!(dtype_names().all(|name| name == "handle" || super::super::dtypes::of_name(name).is_some()));
        for (namespace, name) in
            [(Namespace::Ir, "ir_module"), (Namespace::Relax, "nn.softmax"), (Namespace::Relax, "Tensor")]
        {
            assert!(namespace.names().contains(&name), "{name}");
        }
        assert!(Namespace::Tir.names().contains(&"if_then_else") && Namespace::Tir.is_type("float32"));
    }
}
