//! cuBLASLt: a library of the system that is loaded at first use, its objects and its statuses.
use libloading::os::unix::Library as Loaded;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Names under which the library is installed, the newest version first.
const NAMES: [&str; 4] = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"];

/// An object of the library.
pub(super) type Object = *mut c_void;

/// A status that the library returns.
pub(super) type Status = u32;

/// Declares the functions that are used.
macro_rules! functions {
    ($($field:ident = $name:literal: fn($($arg:ty),*);)*) => {
        /// The functions of the library. All but those of handles may be called in any thread.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl Functions {
            /// # Safety
            /// The library is cuBLASLt, which is never unloaded.
            unsafe fn find(library: &Loaded) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of the library's header.
                unsafe { Ok(Functions { $($field: *library.get($name)?,)* }) }
            }
        }
    };
}

functions! {
    create = b"cublasLtCreate\0": fn(*mut Object);
    create_matmul = b"cublasLtMatmulDescCreate\0": fn(*mut Object, u32, u32);
    set_matmul = b"cublasLtMatmulDescSetAttribute\0": fn(Object, u32, *const c_void, usize);
    destroy_matmul = b"cublasLtMatmulDescDestroy\0": fn(Object);
    create_layout = b"cublasLtMatrixLayoutCreate\0": fn(*mut Object, u32, u64, u64, i64);
    set_layout = b"cublasLtMatrixLayoutSetAttribute\0": fn(Object, u32, *const c_void, usize);
    destroy_layout = b"cublasLtMatrixLayoutDestroy\0": fn(Object);
    create_preference = b"cublasLtMatmulPreferenceCreate\0": fn(*mut Object);
    set_preference = b"cublasLtMatmulPreferenceSetAttribute\0": fn(Object, u32, *const c_void, usize);
    destroy_preference = b"cublasLtMatmulPreferenceDestroy\0": fn(Object);
    find_algorithm = b"cublasLtMatmulAlgoGetHeuristic\0":
        fn(Object, Object, Object, Object, Object, Object, Object, i32, *mut Heuristic, *mut i32);
    matmul = b"cublasLtMatmul\0":
        fn(Object, Object, *const c_void, *const c_void, Object, *const c_void, Object, *const c_void, *const c_void,
           Object, *mut c_void, Object, *const Algorithm, *mut c_void, usize, *mut c_void);
}

/// An algorithm, as the library describes it to itself.
pub(super) type Algorithm = [u64; 8];

/// Algorithm, with the workspace that it needs.
#[repr(C)]
#[derive(Default)]
pub(super) struct Heuristic {
    pub(super) algorithm: Algorithm,
    pub(super) workspace_bytes: usize,
    pub(super) status: Status,
    waves: f32,
    reserved: [i32; 4],
}

/// Loads the library, once.
///
/// # Errors
/// If it is missing, or lacks a function.
pub(super) fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Functions, String> {
    // SAFETY: loading the library runs its initializers, which are made for any process.
    let Some(library) = NAMES.iter().find_map(|name| unsafe { Loaded::new(*name) }.ok()) else {
        return Err(
            "the library cuBLASLt (libcublasLt.so.12 or .13) is missing; install it with the CUDA toolkit, or \
                    compile the model without `--libs cublas`"
                .to_owned(),
        );
    };
    // SAFETY: it has the name of cuBLASLt, and is not unloaded.
    let functions = unsafe { Functions::find(&library) };
    std::mem::forget(library);
    functions.map_err(|error| format!("the library cuBLASLt cannot be used: {error}"))
}

/// Name of a status.
pub(super) fn describe(status: Status) -> String {
    let name = match status {
        1 => "NOT_INITIALIZED",
        3 => "ALLOC_FAILED",
        7 => "INVALID_VALUE",
        8 => "ARCH_MISMATCH",
        11 => "MAPPING_ERROR",
        13 => "EXECUTION_FAILED",
        14 => "INTERNAL_ERROR",
        15 => "NOT_SUPPORTED",
        16 => "LICENSE_ERROR",
        other => return format!("status {other}"),
    };
    format!("CUBLAS_STATUS_{name}")
}
