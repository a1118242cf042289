//! Nested scopes of visible entities.

use rustc_hash::FxHashSet;
use std::hash::Hash;

/// Entities that are visible from their definition to the end of their scope.
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

    /// Makes an entity visible until its scope ends; false if it already is.
    pub fn define(&mut self, thing: T) -> bool {
        self.ever.insert(thing.clone());
        let new = self.visible.insert(thing.clone());
        if new {
            self.order.push(thing);
        }
        new
    }

    /// Makes an entity visible until its scope ends, unless it already is.
    pub fn ensure(&mut self, thing: &T) {
        self.define(thing.clone());
    }

    /// Hides an entity before its scope ends.
    pub fn hide(&mut self, thing: &T) {
        self.visible.remove(thing);
    }

    /// Returns true if it is visible.
    pub fn sees(&self, thing: &T) -> bool {
        self.visible.contains(thing)
    }

    /// Returns true if it is or was visible.
    pub fn knows(&self, thing: &T) -> bool {
        self.ever.contains(thing)
    }
}
