//! Global functions by name: what programs call beyond their own functions and kernels.
//!
//! Look-ups happen while a program is loaded, never while it runs.
use crate::value::Function;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

static FUNCTIONS: RwLock<BTreeMap<String, Function>> = RwLock::new(BTreeMap::new());

/// Makes `function` known as `name`; returns the one known so before.
pub fn register(name: &str, function: Function) -> Option<Function> {
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), function)
}

/// Forgets the function known as `name`.
pub fn unregister(name: &str) -> Option<Function> {
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).remove(name)
}

/// The function known as `name`.
pub fn get(name: &str) -> Option<Function> {
    FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// All names, sorted.
pub fn names() -> Vec<String> {
    FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
}
