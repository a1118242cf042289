//! Functions instead of the unwinder's, so that none is linked: panics end this program at once, and it has no tables
//! for unwinding, so there are no frames to find and no exceptions to catch.
#![allow(unsafe_code)]
use std::{
    ffi::{c_int, c_void},
    process::abort,
    ptr::null_mut,
};

/// `_URC_END_OF_STACK`.
const END_OF_STACK: c_int = 5;

/// Calls `trace` for no frame.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_trace: *const c_void, _argument: *mut c_void) -> c_int {
    END_OF_STACK
}

/// Functions that take a frame or an exception; there are none.
macro_rules! never_called {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> *mut c_void {
                abort()
            }
        )*
    };
}

never_called! {
    _Unwind_DeleteException _Unwind_GetCFA _Unwind_GetDataRelBase _Unwind_GetIP _Unwind_GetIPInfo
    _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase _Unwind_RaiseException
    _Unwind_Resume _Unwind_SetGR _Unwind_SetIP
}

/// The function that contains an address; null: it is not known.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_FindEnclosingFunction(_address: *mut c_void) -> *mut c_void {
    null_mut()
}
