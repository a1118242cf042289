//! What is visible where.

use rustc_hash::FxHashSet;
use std::hash::Hash;

/// Things that come into sight one after the other and go out of sight when their scope ends.
pub(super) struct Scopes<T> {
    visible: FxHashSet<T>,
    ever: FxHashSet<T>,
    order: Vec<T>,
    starts: Vec<usize>,
}

impl<T: Clone + Eq + Hash> Scopes<T> {
    pub fn new() -> Self {
        Scopes { visible: FxHashSet::default(), ever: FxHashSet::default(), order: Vec::new(), starts: Vec::new() }
    }

    /// Opens a scope.
    pub fn enter(&mut self) {
        self.starts.push(self.order.len());
    }

    /// Closes the innermost scope.
    pub fn leave(&mut self) {
        let start = self.starts.pop().unwrap_or(0);
        for thing in self.order.drain(start..) {
            self.visible.remove(&thing);
        }
    }

    /// Brings something into sight until its scope ends; false when it is in sight already.
    pub fn define(&mut self, thing: T) -> bool {
        self.ever.insert(thing.clone());
        let new = self.visible.insert(thing.clone());
        if new {
            self.order.push(thing);
        }
        new
    }

    /// Brings something into sight until its scope ends, where it is not already.
    pub fn ensure(&mut self, thing: &T) {
        self.define(thing.clone());
    }

    /// Takes something out of sight before its scope ends.
    pub fn hide(&mut self, thing: &T) {
        self.visible.remove(thing);
    }

    /// Returns true if it is in sight.
    pub fn sees(&self, thing: &T) -> bool {
        self.visible.contains(thing)
    }

    /// Returns true if it is in sight or was.
    pub fn knows(&self, thing: &T) -> bool {
        self.ever.contains(thing)
    }
}
