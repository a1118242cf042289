//! Names of variables and buffers: unique among those visible at once.

use crate::{prim, relax, tir::Buffer};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Reserved words: names with a meaning in the text, and Python's keywords.
pub const RESERVED: &[&str] = &[
    "I", "Module", "R", "T", "cls", "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
    "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Something that has a name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Entity {
    /// A scalar variable.
    Scalar(prim::Var),
    /// A buffer.
    Buffer(Buffer),
    /// A variable of the Relax function being printed.
    Relax(relax::Var),
}

/// The names in use, by nested scope. A name is free again when its scope ends.
#[derive(Default)]
pub(super) struct Names {
    texts: FxHashMap<Entity, Rc<str>>,
    taken: FxHashSet<Rc<str>>,
    /// For a taken name, the smallest suffix that may be free. Keeps numbering linear.
    next: FxHashMap<Rc<str>, u32>,
    scopes: Vec<Scope>,
}

#[derive(Default)]
struct Scope {
    entities: Vec<Entity>,
    names: Vec<Rc<str>>,
}

impl Names {
    /// Names for one text.
    pub fn new() -> Self {
        let taken = RESERVED.iter().map(|word| Rc::from(*word)).collect();
        Names { taken, scopes: vec![Scope::default()], ..Names::default() }
    }

    /// Opens a scope.
    pub fn enter(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes the innermost scope and frees its names.
    pub fn leave(&mut self) {
        let scope = self.scopes.pop().unwrap_or_default();
        for entity in scope.entities {
            self.texts.remove(&entity);
        }
        for name in scope.names {
            self.release(&name);
        }
    }

    /// Index of the innermost scope.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// The text of a defined entity.
    pub fn get(&self, entity: &Entity) -> Option<Rc<str>> {
        self.texts.get(entity).cloned()
    }

    /// Names an entity in the innermost scope; one that has a name keeps it.
    pub fn define(&mut self, entity: Entity, wanted: &str) -> Rc<str> {
        self.define_in(self.depth(), entity, wanted)
    }

    /// Names an entity in the scope of that index.
    pub fn define_in(&mut self, scope: usize, entity: Entity, wanted: &str) -> Rc<str> {
        if let Some(name) = self.get(&entity) {
            return name;
        }
        let name = self.reserve(scope, wanted);
        self.alias_in(scope, entity, name.clone());
        name
    }

    /// Reserves a name in a scope.
    pub fn reserve(&mut self, scope: usize, wanted: &str) -> Rc<str> {
        let name = self.unique(&sanitize(wanted));
        self.taken.insert(name.clone());
        self.scopes[scope].names.push(name.clone());
        name
    }

    /// Prints an entity in a scope as an expression of other names.
    pub fn alias_in(&mut self, scope: usize, entity: Entity, text: Rc<str>) {
        self.texts.insert(entity.clone(), text);
        self.scopes[scope].entities.push(entity);
    }

    /// `wanted`, or `wanted` with the smallest number that makes it free: `x_1`, `x_2`.
    fn unique(&mut self, wanted: &str) -> Rc<str> {
        if !self.taken.contains(wanted) {
            return Rc::from(wanted);
        }
        let base: Rc<str> = Rc::from(wanted);
        let mut number = self.next.get(&base).copied().unwrap_or(1);
        loop {
            let name = format!("{base}_{number}");
            number += 1;
            if !self.taken.contains(name.as_str()) {
                self.next.insert(base, number);
                return Rc::from(name);
            }
        }
    }

    fn release(&mut self, name: &Rc<str>) {
        self.taken.remove(name);
        if let Some((base, number)) = name.rsplit_once('_')
            && let Ok(number) = number.parse::<u32>()
            && let Some(next) = self.next.get_mut(base)
        {
            *next = number.min(*next);
        }
    }
}

/// The name as an identifier: other bytes become `_`, and a digit cannot come first.
fn sanitize(name: &str) -> String {
    let letter = |b: u8| if b.is_ascii_alphanumeric() { char::from(b) } else { '_' };
    let prefix = if name.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    prefix.chars().chain(name.bytes().map(letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str) -> Entity {
        Entity::Scalar(prim::Var::int64(name))
    }

    #[test]
    fn names_are_unique_and_freed() {
        let mut names = Names::new();
        let x = var("x");
        assert_eq!(&*names.define(x.clone(), "x"), "x");
        assert_eq!(&*names.define(x, "y"), "x");
        names.enter();
        assert_eq!(&*names.define(var("x"), "x"), "x_1");
        assert_eq!(&*names.define(var("x"), "x"), "x_2");
        names.leave();
        assert_eq!(&*names.define(var("x"), "x"), "x_1");
        assert_eq!(&*names.define(var("x"), "x_2"), "x_2");
        assert_eq!(&*names.define(var("x"), "x"), "x_3");
    }

    #[test]
    fn identifiers_are_made() {
        let mut names = Names::new();
        assert_eq!(&*names.define(var(""), "é 1"), "___1");
        assert_eq!(&*names.define(var(""), "lambda"), "lambda_1");
        assert_eq!(&*names.define(var(""), "1x"), "_1x");
        assert_eq!(&*names.define(var(""), "T"), "T_1");
    }
}
