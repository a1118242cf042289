//! Names in nested scopes.

use super::value::Value;
use hammock_ir::Name;
use rustc_hash::FxHashMap;

/// Values by name, innermost scope last.
#[derive(Clone, Debug)]
pub(crate) struct Scope(Vec<FxHashMap<Name, Value>>);

impl Default for Scope {
    fn default() -> Self {
        Scope(vec![FxHashMap::default()])
    }
}

impl Scope {
    /// The value of a name, from the innermost scope that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().rev().find_map(|frame| frame.get(name))
    }

    /// Defines a name in the innermost scope.
    pub fn define(&mut self, name: impl Into<Name>, value: Value) {
        if let Some(frame) = self.0.last_mut() {
            frame.insert(name.into(), value);
        }
    }

    /// Opens a scope.
    pub fn push(&mut self) {
        self.0.push(FxHashMap::default());
    }

    /// Closes the innermost scope; the outermost stays.
    pub fn pop(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    /// Every visible name, in no order.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|frame| frame.keys())
    }
}
