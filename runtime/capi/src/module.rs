//! Modules: one interface to everything that holds functions.
use crate::error::status;
use crate::function::callable;
use crate::library::hammock_library;
use crate::pointers::{array, reference, text, value, values, write};
use crate::value::strings;
use crate::vm::hammock_vm;
use hammock_runtime::module::{self, Module};
use hammock_runtime::{Any, Error, Tuple, value::Bytes};
use std::ffi::{c_char, c_int, c_void};

fn module_in(value: &Any) -> Result<&Module, Error> {
    value.get().ok_or_else(|| Error::type_error(format!("the value is {value}, not a module")))
}

/// The module of a compiled model: an executable that imports its kernels.
///
/// # Safety
/// `library` is null or open; `module` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_library_module(library: *const hammock_library, module: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(module, "module", Module::from_library(reference(library, "library")?.0.clone()).into()) })
}

/// The module of a virtual machine: the functions of its model.
///
/// # Safety
/// `vm` is null or alive; `module` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_module(vm: *const hammock_vm, module: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(module, "module", Module::from_vm(reference(vm, "vm")?.0.clone()).into()) })
}

/// Creates a module of functions of the host program, with a kind of its own.
///
/// # Safety
/// `kind` is null or a C string; `names` is null or points to `count` C strings, `functions` to `count` values;
/// `module` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module(
    kind: *const c_char,
    names: *const *const c_char,
    functions: *const Any,
    count: usize,
    module: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (names, functions) = (array(names, count, "names")?, values(functions, count, "functions")?);
        let pair = |(name, function): (&*const c_char, _)| Ok((text(*name, "names")?, callable(function)?.clone()));
        let functions = names.iter().zip(functions).map(pair).collect::<Result<Vec<_>, Error>>()?;
        write(module, "module", Module::host_of_kind(text(kind, "kind")?, functions).into())
    })
}

/// The module's kind: a string.
///
/// # Safety
/// `module` is null or a value; `kind` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_kind(module: *const Any, kind: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(kind, "kind", module_in(value(module, "module")?)?.kind().into()) })
}

/// The module's property flags.
///
/// # Safety
/// `module` is null or a value; `properties` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_properties(module: *const Any, properties: *mut i64) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(properties, "properties", i64::from(module_in(value(module, "module")?)?.properties())) })
}

/// The names of the module's own functions: a tuple of strings.
///
/// # Safety
/// `module` is null or a value; `names` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_functions(module: *const Any, names: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(names, "names", strings(&module_in(value(module, "module")?)?.names())) })
}

/// Looks up a function in the module, then in its imports; writes none if it is in neither.
///
/// # Safety
/// `module` is null or a value; `name` is null or a C string; `function` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_function(module: *const Any, name: *const c_char, function: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let found = module_in(value(module, "module")?)?.find(text(name, "name")?)?;
        write(function, "function", found.map_or(Any::NONE, Any::from))
    })
}

/// The modules that the module imports: a tuple.
///
/// # Safety
/// `module` is null or a value; `imports` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_imports(module: *const Any, imports: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let imported = module_in(value(module, "module")?)?.imports().iter();
        write(imports, "imports", Tuple::new(imported.map(|module| module.clone().into())).into())
    })
}

/// Serializes the module and all its imports.
///
/// # Safety
/// `module` is null or a value; `bytes` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_save(module: *const Any, bytes: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(bytes, "bytes", Bytes::new(&module_in(value(module, "module")?)?.save()?).into()) })
}

/// Loads a module that `hammock_module_save` serialized.
///
/// # Safety
/// `bytes` is null or points to `size` bytes; `module` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_module_load(bytes: *const c_void, size: usize, module: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(module, "module", module::load(array(bytes.cast::<u8>(), size, "bytes")?)?.into()) })
}
