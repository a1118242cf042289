//! `hammock._hammock._compiler`: the compiler, one step at a time. The package's `compiler.py` puts the steps together.
//!
//! - [`source`] reads models; [`module`] is the class that holds one, and [`describe`] shows its functions.
//! - [`passes`] lists and runs passes; [`build`] compiles to a model that runs.
//! - [`options`] are those of the compiler, read from [`keywords`].
//! - [`control`] runs each step on a thread, which signals and a time limit stop; [`failure`] makes exceptions.
mod build;
mod control;
mod describe;
mod failure;
mod keywords;
mod module;
mod options;
mod passes;
mod source;

use pyo3::prelude::*;

/// The compiler.
#[pymodule(submodule)]
pub mod _compiler {
    #[pymodule_export]
    use super::{
        build::build,
        module::ModuleHandle,
        passes::{level_passes, list_passes, run_passes, split_passes},
        source::read,
    };
}
