//! Names in nested scopes: predeclared ones, imported ones, and those that the text defines.

use super::{
    path::{Path, Space},
    value::Value,
};
use hammock_ir::Name;
use hammock_syntax::ast;
use rustc_hash::FxHashMap;

/// Values by name, innermost scope last.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    frames: Vec<FxHashMap<Name, Value>>,
    /// Names of closed scopes, for messages.
    ended: Vec<(ClosedScope, FxHashMap<Name, Value>)>,
}

/// Kind of a closed scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedScope {
    /// A dataflow block; only the names in its `R.output` remain visible.
    Dataflow,
    /// A branch of an `if`.
    Branch,
    /// A loop or a block of a kernel.
    Kernel,
    /// A nested function.
    Function,
}

impl ClosedScope {
    /// Advice about a name of the closed scope.
    pub fn advice(self, name: &str) -> String {
        match self {
            ClosedScope::Dataflow => {
                format!("it is bound in a dataflow block above, which must give it out: `R.output({name})` at its end")
            }
            ClosedScope::Branch => format!(
                "it is bound in a branch of an `if` above and ends with that; give both branches `{name}` as their last \
                 assignment"
            ),
            ClosedScope::Kernel => "it ended with the loop or block above that defines it".into(),
            ClosedScope::Function => "it belongs to the function above that defines it".into(),
        }
    }
}

impl Default for Scope {
    fn default() -> Self {
        Scope { frames: vec![FxHashMap::default()], ended: Vec::new() }
    }
}

impl Scope {
    /// The names that a printed file uses without importing them: its imports are comments.
    pub fn predeclared() -> Scope {
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
    pub fn import(&mut self, imports: &[ast::Import]) {
        for import in imports {
            match &import.alias {
                Some(alias) => self.define(&*alias.name, Value::Path(Path::absolute(&import.path))),
                None => {
                    let root = import.path.split('.').next().unwrap_or_default();
                    self.define(root, Value::Path(Path::absolute(root)));
                }
            }
        }
    }

    /// `from a.b import c as d`
    pub fn import_from(&mut self, import: &ast::FromImport) {
        for name in &import.names {
            // `from __future__` is ignored, and star imports add nothing that is not predeclared.
            if &*import.path == "__future__" || &*name.path == "*" || &*import.path == "typing" {
                continue;
            }
            let alias = name.alias.as_ref().map_or(&*name.path, |alias| &*alias.name);
            let path = Path::absolute(&import.path).member(&name.path);
            self.define(alias, Value::Path(path));
        }
    }

    /// The value of a name, from the innermost scope that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    /// Defines a name in the innermost scope.
    pub fn define(&mut self, name: impl Into<Name>, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name.into(), value);
        }
    }

    /// Opens a scope.
    pub fn push(&mut self) {
        self.frames.push(FxHashMap::default());
    }

    /// Number of open scopes.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Values defined in the scopes inside the outermost `depth`.
    pub fn inside(&self, depth: usize) -> impl Iterator<Item = &Value> {
        self.frames.iter().skip(depth).flat_map(FxHashMap::values)
    }

    /// Closes the innermost scope; the outermost stays.
    pub fn pop(&mut self, closed_scope: ClosedScope) {
        if self.frames.len() > 1 {
            let names = self.frames.pop().filter(|frame| !frame.is_empty());
            self.ended.extend(names.map(|frame| (closed_scope, frame)));
        }
    }

    /// Kind of the closed scope that defined a name.
    pub fn closed_scope(&self, name: &str) -> Option<ClosedScope> {
        self.ended.iter().rev().find(|(_, frame)| frame.contains_key(name)).map(|(closed_scope, _)| *closed_scope)
    }

    /// Every visible name, in no order.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.frames.iter().flat_map(|frame| frame.keys())
    }
}
