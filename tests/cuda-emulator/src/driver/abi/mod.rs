//! The exported C functions, under the names by which programs look them up. Each checks its pointers, takes the lock and
//! calls a method of [`Driver`].
#![allow(non_snake_case, reason = "the names are the driver's")]
mod context;
mod cublas;
mod device;
mod entry;
mod event;
mod graph;
mod launch;
mod memory;
mod module;
mod pool;
mod stream;

use super::{Code, Config, Driver, Result, host};
use std::{
    ffi::{CStr, c_char},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| {
    let config = Config::read(&|name| std::env::var(name).ok()).unwrap_or_else(|error| {
        eprintln!("cuda emulator: {error}");
        std::process::exit(1)
    });
    Mutex::new(Driver::new(config))
});

fn lock() -> MutexGuard<'static, Driver> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function of the driver, initialized or not.
fn early(function: impl FnOnce(&mut Driver) -> Result) -> u32 {
    if host::is_in_callback() {
        return Code::NOT_PERMITTED.0;
    }
    function(&mut lock()).map_or_else(|code| code.0, |()| Code::SUCCESS.0)
}

/// Runs a function of the driver, once it is initialized.
fn initialized(function: impl FnOnce(&mut Driver) -> Result) -> u32 {
    early(|driver| if driver.is_initialized { function(driver) } else { Err(Code::NOT_INITIALIZED) })
}

/// Exports functions: each with its arguments, its name, and its body, which `$enter` runs.
macro_rules! exports {
    (by $enter:path; $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$driver:ident| $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> u32 {
                $enter(|$driver| $body)
            }
        )*
    };
}
use exports;

/// Exports functions of the driver, as `exports` does. `$list` returns their names and addresses.
macro_rules! abi {
    ($list:ident by $enter:path; $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$driver:ident| $body:block)*) => {
        super::exports! { by $enter; $(fn $name($($argument: $type),*) |$driver| $body)* }

        pub(super) fn $list() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),*]
        }
    };
}
use abi;

/// Where a function stores a result.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Stores what `value` returns, which does not run if there is nowhere to store it.
    fn fill(self, value: impl FnOnce() -> Result<T>) -> Result {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        self.store(value()?);
        Ok(())
    }

    /// Stores a value if there is somewhere to store it.
    fn store(self, value: T) {
        self.store_all(&[value]);
    }

    /// Stores values one after the other if there is somewhere to store them.
    fn store_all(self, values: &[T]) {
        if !self.0.is_null() {
            // SAFETY: the program passed the address of that many values, aligned as C demands.
            unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), self.0, values.len()) }
        }
    }

    fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl Out<u8> {
    /// Stores a text with a final zero byte, cut to `size` bytes.
    fn store_text(self, text: &str, size: usize) {
        let length = text.len().min(size.saturating_sub(1));
        if size > 0 {
            self.store_all(&[&text.as_bytes()[..length], &[0]].concat());
        }
    }
}

/// Where a function reads a value.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct In<T>(*const T);

impl<T: Copy> In<T> {
    fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the program passed the address of a value, aligned as C demands.
        Ok(unsafe { *self.0 })
    }

    fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the program passed the address of that many values, aligned as C demands.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) }.to_vec())
    }
}

impl In<c_char> {
    /// Returns the bytes up to the first zero byte.
    fn bytes(self) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the program passed the address of a text that ends with a zero byte.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes().to_vec())
    }

    fn text(self) -> Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| Code::INVALID_VALUE)
    }
}

/// Stores a list by the API's convention: without an array only its length, otherwise up to `count` elements, the rest
/// zero, and how many are set.
fn store_list<T: Copy + Default>(array: Out<T>, count: Out<usize>, values: &[T]) -> Result {
    let size = In(count.0).get()?;
    if array.is_null() {
        count.store(values.len());
        return Ok(());
    }
    let mut stored = values[..values.len().min(size)].to_vec();
    count.store(stored.len());
    stored.resize(size, T::default());
    array.store_all(&stored);
    Ok(())
}
