//! Functions that passes make: equal ones are made once.

use hammock_ir::{Function, Module, Name, equal, hash};
use rustc_hash::FxHashMap;

/// Functions made so far, by structural hash.
#[derive(Default)]
pub struct SharedFunctions(FxHashMap<u64, Vec<Name>>);

impl SharedFunctions {
    /// Those functions of a module that `is` holds for, as if they had been made.
    pub fn of(module: &Module, is: impl Fn(&Function) -> bool) -> Self {
        let mut shared = SharedFunctions::default();
        for (name, function) in module.functions.iter().filter(|(_, function)| is(function)) {
            shared.0.entry(hash::function(function)).or_default().push(name.clone());
        }
        shared
    }

    /// The name of a function equal to this one: an earlier one's, or a new one's.
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
