//! Modules as values: their properties and functions, under tvm-ffi's names.
use crate::ffi::Error;
use crate::module::Module;
use crate::value::{Any, Function, Tuple};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("ffi.ModuleGetKind", kind(module: &Module) -> "str", "Returns a module's kind."),
    builtin!("ffi.ModuleGetPropertyMask", properties(module: &Module) -> "int",
        "Returns a module's property bits: serializable (1), runnable (2)."),
    builtin!("ffi.ModuleGetFunction", function(module: &Module, name: &str, imports: Option<bool>) -> "Function?",
        "Looks up a function in a module and, if asked, in its imports."),
    builtin!("ffi.ModuleImplementsFunction", implements(module: &Module, name: &str, imports: Option<bool>) -> "bool",
        "Tests whether a module or, if asked, one of its imports has a function."),
    builtin!("vm.builtin.module_imports", imports(module: &Module) -> "Tuple", "Returns a module's imports."),
];

fn kind(module: &Module) -> Result<Any, Error> {
    Ok(module.kind().into())
}

fn properties(module: &Module) -> Result<i64, Error> {
    Ok(module.properties().into())
}

fn function(module: &Module, name: &str, imports: Option<bool>) -> Result<Option<Function>, Error> {
    if imports == Some(true) { module.find(name) } else { module.function(name) }
}

fn implements(module: &Module, name: &str, imports: Option<bool>) -> Result<bool, Error> {
    Ok(function(module, name, imports)?.is_some())
}

fn imports(module: &Module) -> Result<Tuple, Error> {
    Ok(Tuple::new(module.imports().iter().map(|module| module.clone().into())))
}
