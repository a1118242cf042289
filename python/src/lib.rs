//! `hammock._hammock`, the native half of the Python packages `hammock` and `hammock-runtime`.
//!
//! - [`model`]: loaded models and their functions; [`arguments`] matches a call's arguments to parameters.
//! - [`convert`]: values to and from Python; [`array`]: NumPy; [`dlpack`]: DLPack; [`tensor`]: the class `Tensor`.
//! - [`function`]: packed functions in both directions.
//! - [`error`]: exceptions.
//! - [`compiler`]: the compiler (feature `compiler`).
//! - [`command_line`]: the command line.
mod arguments;
mod array;
mod command_line;
#[cfg(feature = "compiler")]
mod compiler;
mod convert;
mod dlpack;
mod error;
mod function;
mod model;
mod tensor;

use pyo3::prelude::*;

/// The native half of `hammock`.
#[pymodule]
mod _hammock {
    #[cfg(feature = "compiler")]
    #[pymodule_export]
    use crate::compiler::_compiler;
    #[pymodule_export]
    use crate::{
        command_line::main,
        error::{CancelledError, InternalError},
        function::Function,
        model::{Model, load, set_threads, threads},
        tensor::Tensor,
    };

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python names it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
