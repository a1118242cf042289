//! Objects by handle. Handles are never reused, so that a destroyed object is recognised.
use super::code::{Code, Result};
use rustc_hash::FxHashMap;

/// A handle as the program sees it: an opaque pointer, never dereferenced.
pub type Handle = usize;

/// Objects of one kind.
#[derive(Debug)]
pub struct Table<T>(FxHashMap<Handle, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T> Table<T> {
    /// Adds an object.
    pub fn insert(&mut self, handle: Handle, object: T) {
        self.0.insert(handle, object);
    }

    /// Returns an object.
    ///
    /// # Errors
    /// If there is none, or it was destroyed.
    pub fn get(&self, handle: Handle) -> Result<&T> {
        self.0.get(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// Returns an object to be changed.
    ///
    /// # Errors
    /// If there is none, or it was destroyed.
    pub fn get_mut(&mut self, handle: Handle) -> Result<&mut T> {
        self.0.get_mut(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// Removes an object.
    ///
    /// # Errors
    /// If there is none, or it was destroyed.
    pub fn remove(&mut self, handle: Handle) -> Result<T> {
        self.0.remove(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// Returns all objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.0.iter().map(|(&handle, object)| (handle, object))
    }

    /// Returns all objects to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }

    /// Removes objects for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|_, object| keep(object));
    }
}
