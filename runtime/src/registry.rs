//! The registry of global functions: functions that programs call in addition to their own functions and kernels.
//!
//! Functions are looked up when a program is loaded, never while it runs.
use crate::ffi::Error;
use crate::fork::Table;
use crate::sorted_map::SortedMap;
use crate::value::Function;

static FUNCTIONS: Table<SortedMap<String, Function>> = Table::new(SortedMap::new());

/// Registers `function` as `name`; returns the previous function of that name.
pub fn register(name: &str, function: Function) -> Option<Function> {
    FUNCTIONS.write().insert(name.to_owned(), function)
}

/// Registers `function` as `name`; fails if the name is taken.
pub fn register_new(name: &str, function: Function) -> Result<(), Error> {
    let mut functions = FUNCTIONS.write();
    if functions.get(name).is_some() {
        return Err(Error::value(format!("global function `{name}` already exists")));
    }
    functions.insert(name.to_owned(), function);
    Ok(())
}

/// Removes the function `name`.
pub fn unregister(name: &str) -> Option<Function> {
    FUNCTIONS.write().remove(name)
}

/// The function `name`.
pub fn get(name: &str) -> Option<Function> {
    FUNCTIONS.read().get(name).cloned()
}

/// All names, sorted.
pub fn names() -> Vec<String> {
    FUNCTIONS.read().keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Any;

    fn constant(value: i64) -> Function {
        Function::new(move |_| Ok(Any::from(value)))
    }

    #[test]
    fn functions_are_registered_replaced_and_forgotten() {
        let name = "test.registry";
        let called = || get(name).map(|function| function.call(&[]).unwrap().get::<i64>().unwrap());
        register_new(name, constant(1)).unwrap();
        assert!(register_new(name, constant(2)).unwrap_err().message().contains("test.registry"));
        assert!(called() == Some(1) && names().contains(&name.to_owned()));
        assert!(register(name, constant(3)).is_some() && called() == Some(3));
        assert!(unregister(name).is_some() && unregister(name).is_none() && called().is_none());
    }
}
