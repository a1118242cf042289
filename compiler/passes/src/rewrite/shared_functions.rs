//! Deduplication of functions that passes create.

use hammock_ir::{Function, Module, Name, equal, hash};
use rustc_hash::FxHashMap;

/// Functions created so far, by structural hash.
#[derive(Default)]
pub struct SharedFunctions(FxHashMap<u64, Vec<Name>>);

impl SharedFunctions {
    /// Starts with the functions of a module for which `is` is true.
    pub fn of(module: &Module, is: impl Fn(&Function) -> bool) -> Self {
        let mut shared = SharedFunctions::default();
        for (name, function) in module.functions.iter().filter(|(_, function)| is(function)) {
            shared.0.entry(hash::function(function)).or_default().push(name.clone());
        }
        shared
    }

    /// Returns the name of an equal function, which is added to the module if there is none.
    pub fn share(&mut self, module: &mut Module, wanted: &str, function: Function) -> Name {
        let names = self.0.entry(hash::function(&function)).or_default();
        let same = |n: &&Name| module.functions.get(*n).is_some_and(|f| equal::functions(f, &function).is_ok());
        if let Some(name) = names.iter().find(same) {
            return name.clone();
        }
        let name = module.add_unique(wanted, function);
        names.push(name.clone());
        name
    }
}
