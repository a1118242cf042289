//! Values: creation, access, copies and release.
use crate::error::{infallible, status};
use crate::pointers::{array, reference, text, value, values, write};
use hammock_runtime::{Adt, Any, Error, Shape, Tuple};
use std::ffi::{c_char, c_int, c_void};

/// Copies a value, adding a reference to its object. A borrowed value becomes an owned one.
///
/// # Safety
/// `from` is null or a value; `copy` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_any_copy(from: *const Any, copy: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(copy, "copy", value(from, "from")?.clone()) })
}

/// Releases a value and sets it to none.
///
/// # Safety
/// `value` is null or a value that the caller owns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_any_free(value: *mut Any) {
    // SAFETY: as the caller promises.
    let value = unsafe { value.as_mut() };
    infallible(|| drop(value.map(std::mem::take)));
}

/// Creates a string.
///
/// # Safety
/// `bytes` is null or points to `size` bytes; `string` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_string(bytes: *const c_char, size: usize, string: *mut Any) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let bytes = unsafe { array(bytes.cast::<u8>(), size, "bytes") }?;
        let text = std::str::from_utf8(bytes).map_err(|_| Error::value("`bytes` is not UTF-8"))?;
        // SAFETY: as the caller promises.
        unsafe { write(string, "string", text.into()) }
    })
}

/// Creates a shape.
///
/// # Safety
/// `sizes` is null or points to `count` integers; `shape` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_shape(sizes: *const i64, count: usize, shape: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe { write(shape, "shape", Shape::new(array(sizes, count, "sizes")?).into()) })
}

/// Creates a tuple of copies of the given values.
///
/// # Safety
/// `fields` is null or points to `count` values; `tuple` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tuple(fields: *const Any, count: usize, tuple: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let fields = values(fields, count, "fields")?;
        write(tuple, "tuple", Tuple::new(fields.iter().cloned()).into())
    })
}

/// Creates a tagged union value: the constructor's tag and copies of its fields.
///
/// # Safety
/// As for [`hammock_tuple`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_adt(tag: i64, fields: *const Any, count: usize, adt: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let fields = values(fields, count, "fields")?;
        write(adt, "adt", Adt::new(tag, fields.iter().cloned()).into())
    })
}

/// A tuple of strings.
pub(crate) fn strings<S: AsRef<str>>(strings: &[S]) -> Any {
    Tuple::new(strings.iter().map(|text| text.as_ref().into())).into()
}

fn wrong(value: &Any, expected: &str) -> Error {
    Error::type_error(format!("the value is {value}, not {expected}"))
}

/// Reads an integer or boolean.
///
/// # Safety
/// `from` is null or a value; `number` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_int(from: *const Any, number: *mut i64) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        write(number, "number", value.get().ok_or_else(|| wrong(value, "an integer"))?)
    })
}

/// Reads a float, integer or boolean.
///
/// # Safety
/// `from` is null or a value; `number` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_float(from: *const Any, number: *mut f64) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        write(number, "number", value.get().ok_or_else(|| wrong(value, "a number"))?)
    })
}

/// The bytes of a string, NUL-terminated. They may be inside the value, so they are valid until it is moved or
/// released.
///
/// # Safety
/// `from` is null or a value; `bytes` and `size` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_string(from: *const Any, bytes: *mut *const c_char, size: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let text = value.get::<&str>().ok_or_else(|| wrong(value, "a string"))?;
        if !size.is_null() {
            write(size, "size", text.len())?;
        }
        write(bytes, "bytes", text.as_ptr().cast())
    })
}

/// The bytes of a byte string. They may be inside the value, so they are valid until it is moved or released.
///
/// # Safety
/// `from` is null or a value; `bytes` and `size` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_bytes(from: *const Any, bytes: *mut *const c_void, size: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let found = value.as_bytes().ok_or_else(|| wrong(value, "bytes"))?;
        write(size, "size", found.len())?;
        write(bytes, "bytes", found.as_ptr().cast())
    })
}

/// The sizes of a shape, valid as long as the value.
///
/// # Safety
/// `from` is null or a value; `sizes` and `count` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_shape(from: *const Any, sizes: *mut *const i64, count: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let shape = value.get::<&Shape>().ok_or_else(|| wrong(value, "a shape"))?;
        write(count, "count", shape.len())?;
        write(sizes, "sizes", shape.as_slice().as_ptr())
    })
}

/// The fields of a tuple, borrowed from it and valid as long as the value.
///
/// # Safety
/// `from` is null or a value; `fields` and `count` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_tuple(from: *const Any, fields: *mut *const Any, count: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let tuple = value.get::<&Tuple>().ok_or_else(|| wrong(value, "a tuple"))?;
        write(count, "count", tuple.as_slice().len())?;
        write(fields, "fields", tuple.as_slice().as_ptr())
    })
}

/// Tag and fields of a tagged union value, borrowed from it and valid as long as the value.
///
/// # Safety
/// `from` is null or a value; `tag`, `fields` and `count` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_as_adt(
    from: *const Any,
    tag: *mut i64,
    fields: *mut *const Any,
    count: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let adt = value.get::<&Adt>().ok_or_else(|| wrong(value, "tagged data"))?;
        write(tag, "tag", adt.tag())?;
        write(count, "count", adt.fields().len())?;
        write(fields, "fields", adt.fields().as_ptr())
    })
}

/// One field of a tuple, borrowed from it and valid as long as the value.
///
/// # Safety
/// `from` is null or a value; `field` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_tuple_field(from: *const Any, index: usize, field: *mut *const Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let value = value(from, "from")?;
        let tuple = value.get::<&Tuple>().ok_or_else(|| wrong(value, "a tuple"))?;
        let count = tuple.as_slice().len();
        let missing = || Error::new("IndexError", format!("a tuple of {count} has no field {index}"));
        write(field, "field", reference(tuple.as_slice().get(index).ok_or_else(missing)?, "field")?)
    })
}

/// Parses a dtype: `float32`, `int64`, `bool`, …
///
/// # Safety
/// `name` is null or a C string; `dtype` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_dtype_parse(name: *const c_char, dtype: *mut hammock_runtime::DType) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let name = text(name, "name")?;
        let parsed = name.parse().map_err(|_| Error::value(format!("`{name}` is not a data type")))?;
        write(dtype, "dtype", parsed)
    })
}
