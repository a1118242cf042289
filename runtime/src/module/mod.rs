//! Modules: one interface to everything that holds functions.
//!
//! A module has a kind, functions by name, properties, and imports, which are modules too; most can be saved. The rest
//! depends on its [`Node`]:
//!
//! | kind | node | functions |
//! |---|---|---|
//! | `library` | a linked library | its kernels |
//! | `relax.VMExecutable` | an image | views of the bytecode, and `vm_load_executable`, which creates a virtual machine
//! |
//! | `relax.VirtualMachine` | a virtual machine | the program's |
//! | `host` | functions of the host program | those |
//!
//! Imports are passed when a module is created, so no module can import itself. [`Module::find`] searches them depth
//! first, and caches the results.
mod nodes;
mod save;

pub use save::{Loader, load, register_loader};

use crate::ffi::Error;
use crate::sorted_map::SortedMap;
use crate::value::object::{Cell, Ref};
use crate::value::{Any, Function, drop_nested, index};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Property: [`Module::save`] is supported.
pub const SERIALIZABLE: u32 = 1;
/// Property: it has functions that can be called.
pub const RUNNABLE: u32 = 2;

/// The implementation of a module.
pub trait Node: Send + Sync + 'static {
    /// Its kind.
    fn kind(&self) -> &str;

    /// [`SERIALIZABLE`], [`RUNNABLE`], or both.
    fn properties(&self) -> u32;

    /// Names of its own functions.
    fn names(&self) -> Vec<String>;

    /// Its own function `name`. `module` is the module of this node.
    fn function(&self, module: &Module, name: &str) -> Result<Option<Function>, Error>;

    /// Serializes the contents, without imports, for a [`Loader`] of its kind.
    fn save(&self) -> Result<Vec<u8>, Error> {
        Err(Error::type_error(format!("modules of kind `{}` cannot be saved", self.kind())))
    }
}

/// The cell of a module.
pub struct ModuleCell {
    node: Box<dyn Node>,
    imports: Vec<Module>,
    found: RwLock<SortedMap<String, Function>>,
}

// SAFETY: the type index belongs to Hammock, and only `Module::new` creates such objects; nodes may be used from any
// thread.
unsafe impl Cell for ModuleCell {
    const TYPE_INDEX: i32 = index::OWN_MODULE;
}

impl Drop for ModuleCell {
    fn drop(&mut self) {
        drop_nested(std::mem::take(&mut self.imports).into_iter().map(Any::from));
    }
}

/// A module. Cheap to clone.
#[derive(Clone)]
#[repr(transparent)]
pub struct Module(pub(crate) Ref<ModuleCell>);

impl Module {
    /// Creates a module from its implementation and its imports.
    pub fn new(node: impl Node, imports: Vec<Module>) -> Module {
        Module::of_box(Box::new(node), imports)
    }

    fn of_box(node: Box<dyn Node>, imports: Vec<Module>) -> Module {
        Module(Ref::allocate::<(), u8>(0, |_| (ModuleCell { node, imports, found: RwLock::default() }, ())))
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        self.0.node.kind()
    }

    /// [`SERIALIZABLE`], [`RUNNABLE`], or both.
    pub fn properties(&self) -> u32 {
        self.0.node.properties()
    }

    /// Names of its own functions.
    pub fn names(&self) -> Vec<String> {
        self.0.node.names()
    }

    /// The modules it imports.
    pub fn imports(&self) -> &[Module] {
        &self.0.imports
    }

    /// Its own function `name`.
    pub fn function(&self, name: &str) -> Result<Option<Function>, Error> {
        self.0.node.function(self, name)
    }

    /// The function `name`: its own, or the first one among its imports, depth first.
    pub fn find(&self, name: &str) -> Result<Option<Function>, Error> {
        if let Some(found) = self.0.found.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(Some(found.clone()));
        }
        let mut rest = vec![self];
        while let Some(module) = rest.pop() {
            if let Some(function) = module.function(name)? {
                let mut found = self.0.found.write().unwrap_or_else(PoisonError::into_inner);
                found.insert(name.to_owned(), function.clone());
                return Ok(Some(function));
            }
            rest.extend(module.imports().iter().rev());
        }
        Ok(None)
    }

    /// Serialized contents of this module, without imports.
    pub(crate) fn contents(&self) -> Result<Vec<u8>, Error> {
        self.0.node.save()
    }

    /// Returns true if both refer to the same object.
    pub fn ptr_eq(&self, other: &Module) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({}, {} imports)", self.kind(), self.imports().len())
    }
}

#[cfg(test)]
mod tests;
