//! Reflection on values: fields by name, equality, hashes, JSON.
use crate::error::status;
use crate::pointers::{text, value, write};
use crate::value::strings;
use hammock_runtime::{Any, Error, Str, reflect};
use std::ffi::{c_char, c_int};

/// The names of an object's fields: a tuple of strings, empty for values without declared fields.
///
/// # Safety
/// `from` is null or a value; `names` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_fields(from: *const Any, names: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let fields = reflect::fields(value(from, "from")?);
        write(names, "names", strings(&fields.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
    })
}

/// A field of an object by its name.
///
/// # Safety
/// `from` is null or a value; `name` is null or a C string; `field` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_field(from: *const Any, name: *const c_char, field: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (value, name) = (value(from, "from")?, text(name, "name")?);
        let found = reflect::fields(value).into_iter().find(|(known, _)| *known == name);
        let missing = || Error::new("AttributeError", format!("{value} has no field `{name}`"));
        write(field, "field", found.ok_or_else(missing)?.1)
    })
}

/// Compares two values by their contents: writes 1 if they are equal and 0 otherwise.
///
/// # Safety
/// Both are null or values; `equal` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_equal(left: *const Any, right: *const Any, equal: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        write(equal, "equal", c_int::from(reflect::equal(value(left, "left")?, value(right, "right")?)))
    })
}

/// A hash that is the same for values with equal contents.
///
/// # Safety
/// `from` is null or a value; `hash` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_hash(from: *const Any, hash: *mut u64) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(hash, "hash", reflect::hash(value(from, "from")?)) })
}

/// Saves the value as a JSON graph: a string.
///
/// # Safety
/// `from` is null or a value; `json` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_to_json(from: *const Any, json: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(json, "json", Str::new(&reflect::save(value(from, "from")?)?).into()) })
}

/// Loads the value of a JSON graph.
///
/// # Safety
/// `json` is null or a C string; `loaded` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_from_json(json: *const c_char, loaded: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(loaded, "loaded", reflect::load(text(json, "json")?)?) })
}
