//! The result of compiling a module.

use crate::{Timing, kernels::Temporaries};
use hammock_kernels::Accesses;
use hammock_link::Linked;
use hammock_runtime::{
    Library,
    image::Integrity,
    library::{LibraryError, seal},
};
use hammock_tools::{ExternalWeights, RunOptions, Session, ToolError};
use std::{
    io::{self, Write},
    sync::Arc,
};

/// The result of compiling a module.
pub struct Artifact {
    /// The file.
    pub file: Output,
    /// Files for [`Options::others`](crate::Options::others) by target, if one file cannot hold kernels for several CPUs.
    pub others: Vec<(String, Output)>,
    /// The file of weights next to it: see [`Options::external_weights`](crate::Options::external_weights).
    pub weights: Option<ExternalWeights>,
    /// Number of kernels.
    pub kernels: usize,
    /// Number of kernels that were compiled; the others were in the cache.
    pub compiled: usize,
    /// For each kernel, the number of accesses that are proved to be in bounds, and that are checked.
    pub accesses: Vec<(String, Accesses)>,
    /// Number of instructions of each function of bytecode.
    pub instructions: Vec<(String, usize)>,
    /// Temporaries of kernels.
    pub temporaries: Temporaries,
    /// Time of each stage.
    pub times: Vec<Timing>,
}

impl Artifact {
    /// A file without kernels.
    pub(super) fn of(file: Output) -> Artifact {
        Artifact {
            file,
            others: Vec::new(),
            weights: None,
            kernels: 0,
            compiled: 0,
            accesses: Vec::new(),
            instructions: Vec::new(),
            temporaries: Temporaries::default(),
            times: Vec::new(),
        }
    }

    /// Loads a library without writing it to a file.
    ///
    /// # Errors
    /// If it is not a library, or the runtime rejects it.
    pub fn load(&self, run: &RunOptions) -> Result<Session, ToolError> {
        Session::from_library(self.file.library()?, run)
    }
}

/// The contents of a file.
pub enum Output {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A library whose constants were not copied.
    Library(Linked),
}

impl Output {
    /// Writes the contents.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Output::Bytes(bytes) => out.write_all(bytes),
            Output::Library(library) => library.try_each(|bytes| out.write_all(bytes)),
        }
    }

    /// Writes a program: a runner's executable file, with these contents appended.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_program(&self, mut runner: Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
        seal::pad_runner(&mut runner);
        out.write_all(&runner)?;
        self.write(out)?;
        out.write_all(&seal::footer(runner.len(), self.len()))
    }

    /// Number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "no file is empty")]
    pub fn len(&self) -> usize {
        match self {
            Output::Bytes(bytes) => bytes.len(),
            Output::Library(library) => {
                let (before, constants, after) = library.parts();
                before.len() + constants.len() + after.len()
            }
        }
    }

    /// The library, loaded without writing it to a file. Constants are not copied.
    ///
    /// # Errors
    /// If it is not a library, or the runtime rejects it.
    pub fn library(&self) -> Result<Library, LibraryError> {
        match self {
            Output::Library(linked) => {
                let (before, constants, after) = linked.parts();
                Library::from_linked(before, constants, after)
            }
            Output::Bytes(bytes) => Library::from_bytes(Arc::new(bytes.clone()), Integrity::Trust),
        }
    }

    /// The contents as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Output::Bytes(bytes) => bytes,
            Output::Library(library) => library.into_bytes(),
        }
    }
}
