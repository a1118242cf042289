//! `hammock._hammock`, the native half of the Python packages `hammock` and `hammock-runtime`.
//!
//! - [`model`]: loaded models and their functions; [`arguments`] matches a call's arguments to parameters, [`check`]
//!   says why they do not fit, [`signature`] describes them, [`timing`] and [`profile`] measure calls.
//! - [`convert`]: values to and from Python: the class `Tensor`, with NumPy, DLPack and buffers; packed functions in both
//!   directions.
//! - [`executable`]: the contents of compiled models.
//! - [`html`]: tables for notebooks.
//! - [`registry`]: global functions.
//! - [`machine`]: the virtual machine under `hammock.relax`.
//! - [`signals`]: calls with the interpreter released, and Ctrl-C meanwhile; [`interrupt`]: the class `Interrupt`.
//! - [`error`]: errors as exceptions; [`interpreter`]: sub-interpreters are refused.
//! - [`compiler`]: the compiler (feature `compiler`).
//! - [`command_line`]: the command line.
mod arguments;
mod check;
mod command_line;
#[cfg(feature = "compiler")]
mod compiler;
mod convert;
mod error;
mod executable;
mod html;
mod interpreter;
mod interrupt;
mod machine;
mod model;
mod profile;
mod registry;
mod signals;
mod signature;
mod timing;

use pyo3::pymodule;

/// The native half of `hammock`.
#[pymodule]
mod _hammock {
    use pyo3::prelude::*;

    #[cfg(feature = "compiler")]
    #[pymodule_export]
    use crate::compiler::_compiler;
    #[pymodule_export]
    use crate::{
        command_line::main,
        convert::{
            Object,
            function::{Function, convert},
            tensor::Tensor,
        },
        error::{CancelledError, InternalError},
        executable::{Executable, inspect},
        interrupt::Interrupt,
        machine::Machine,
        model::{Model, ModelFunction, device_exists, load, set_threads, threads, unpickle},
        profile::{FlameGraph, Profile, ProfileRow},
        registry::{get_global_func, list_global_func_names, register_function, remove_global_func},
        signature::{Parameter, Signature},
        timing::Timing,
    };

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python names it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn initialize(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpreter::claim(module.py())?;
        crate::signals::register_at_fork(module)
    }
}
