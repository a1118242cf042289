//! Compiled models.
use crate::error::{infallible, status};
use crate::pointers::{array, text, write};
use hammock_runtime::image::Integrity;
use hammock_runtime::value::SharedBytes;
use hammock_runtime::{Error, Library};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

/// A compiled model.
pub struct hammock_library(pub(crate) Arc<Library>);

/// Opens a compiled model.
///
/// # Safety
/// `path` is null or a C string; `library` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_library_open(path: *const c_char, library: *mut *mut hammock_library) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let opened = Library::open(Path::new(text(path, "path")?)).map_err(refused)?;
        write_result(library, opened)
    })
}

/// Loads a compiled model from memory; the bytes are copied.
///
/// # Safety
/// `bytes` is null or points to `size` bytes; `library` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_library_load(
    bytes: *const c_void,
    size: usize,
    library: *mut *mut hammock_library,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let owner: SharedBytes = Arc::new(array(bytes.cast::<u8>(), size, "bytes")?.to_vec());
        write_result(library, Library::from_bytes(owner, Integrity::Check).map_err(refused)?)
    })
}

unsafe fn write_result(destination: *mut *mut hammock_library, library: Library) -> Result<(), Error> {
    if destination.is_null() {
        return Err(Error::value("`library` is null"));
    }
    let library = Box::into_raw(Box::new(hammock_library(Arc::new(library))));
    // SAFETY: this function's callers forward what their callers promise.
    unsafe { write(destination, "library", library) }
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::value(error.to_string())
}

/// Releases a library. Virtual machines created from it keep their own reference.
///
/// # Safety
/// `library` is null, or was opened here and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_library_free(library: *mut hammock_library) {
    if !library.is_null() {
        // SAFETY: not null, so it was boxed here and belongs to the caller.
        let library = unsafe { Box::from_raw(library) };
        infallible(|| drop(library));
    }
}
