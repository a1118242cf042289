//! Builtins of features that a build leaves out.
#![cfg(not(any(feature = "strings", feature = "sorting", feature = "kv-cache", feature = "text")))]

use hammock_runtime::{
    Any, Error, Executable, Function, Image, Vm,
    executable::build::{reg, ret},
    registry,
    vm::Options,
};
use std::sync::Arc;

/// Loads a program that calls a function.
fn load(callee: &str) -> Result<Vm, Error> {
    let mut executable = Executable::default();
    let body = [executable.call(1, callee, &[reg(0)]), ret(1)];
    executable.define("main", 1, 2, &body);
    Vm::new(Arc::new(Image { executable, ..Image::default() }), Options::default(), |_| Ok(None))
}

#[test]
fn a_program_that_needs_one_is_rejected_when_it_is_loaded() {
    let calls = [
        ("hammock.strings.join", "strings"),
        ("tvm.contrib.sort.sort", "sorting"),
        ("vm.builtin.attention_kv_cache_append", "kv-cache"),
        ("hammock.kv_pages.extend", "kv-cache"),
        ("relax.run.assert_op", "text"),
    ];
    for (callee, feature) in calls {
        let error = load(callee).err().unwrap().to_string();
        let expected = format!(
            "ValueError: the program calls `{callee}`, which this build of the runtime leaves out: build it with the \
             feature `{feature}`"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn other_functions_are_found() {
    let vm = load("vm.builtin.copy").unwrap();
    assert_eq!(vm.call("main", &[Any::from(7i64)]).unwrap().get::<i64>(), Some(7));
    registry::register("hammock.strings.take", Function::new(|_| Ok(1i64.into())));
    assert!(load("hammock.strings.take").is_ok());
    registry::unregister("hammock.strings.take");
}
