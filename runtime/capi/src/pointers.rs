//! Validation of the pointers that C passes: non-null pointers, texts, arrays, values.
use hammock_runtime::{Any, Error};
use std::ffi::{CStr, c_char};

fn null(name: &str) -> Error {
    Error::value(format!("`{name}` is null"))
}

/// Dereferences a pointer, or fails if it is null.
///
/// # Safety
/// The pointer is null or points to a `T` that is not modified for `'a`.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Error> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Writes a result. The value that was there is not dropped.
///
/// # Safety
/// The pointer is null or valid for writes of a `T`.
pub(crate) unsafe fn write<T>(destination: *mut T, name: &str, value: T) -> Result<(), Error> {
    if destination.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller promises.
    unsafe { destination.write(value) };
    Ok(())
}

/// Reads a C string.
///
/// # Safety
/// The pointer is null or points to a C string that is not modified for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Error::value(format!("`{name}` is not UTF-8")))
}

/// Reads an array.
///
/// # Safety
/// The pointer is null or points to `count` values that are not modified for `'a`.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Error::value(format!("`{name}` cannot have {count} members")));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Reads a value.
///
/// # Safety
/// The pointer is null or points to a value.
pub(crate) unsafe fn value<'a>(pointer: *const Any, name: &str) -> Result<&'a Any, Error> {
    // SAFETY: as the caller promises.
    let value = unsafe { reference(pointer, name) }?;
    check(value, name)?;
    Ok(value)
}

/// Reads an array of values.
///
/// # Safety
/// The pointer is null or points to `count` values.
pub(crate) unsafe fn values<'a>(pointer: *const Any, count: usize, name: &str) -> Result<&'a [Any], Error> {
    // SAFETY: as the caller promises.
    let values = unsafe { array(pointer, count, name) }?;
    values.iter().try_for_each(|value| check(value, name))?;
    Ok(values)
}

fn check(value: &Any, name: &str) -> Result<(), Error> {
    value.check().map_err(|error| Error::new(error.kind().to_owned(), format!("`{name}`: {}", error.message())))
}
