//! Lowered modules to files: libraries, object code, texts of kernels, bytecode.

mod artifact;
mod graphs;
mod image;
mod kernel_files;
mod library;
mod precompiled;
mod tvm;

pub use artifact::{Artifact, Output};
pub(crate) use image::image;

use crate::{Clock, ExecMode, Failure, Options, target::check_cpu};
use hammock_diagnostics::{SourceFile, codes};
use hammock_ir::Module;
use hammock_runtime::{
    executable::{FunctionInfo, FunctionKind},
    image::{Image, Signature, SourceMap},
};

/// The kind of file to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A shared library with kernels, bytecode and weights.
    Lib,
    /// The kernels as an object file.
    Obj,
    /// The kernels as LLVM IR text.
    Llvm,
    /// The kernels as assembly; for a GPU, their host code.
    Asm,
    /// The device code of kernels as PTX.
    Ptx,
    /// The bytecode alone: the executable's section, in TVM's format.
    Bytecode,
    /// A shared library for TVM's runtime.
    Tvm,
}

/// A module at the VM's level, and what is linked with its kernels.
#[derive(Clone, Copy)]
pub struct Lowered<'a> {
    /// The module.
    pub module: &'a Module,
    /// Text that its spans point into.
    pub source: &'a SourceFile,
    /// Signatures before passes changed the module: see [`signatures`](crate::signatures).
    pub signatures: &'a [Signature],
    /// Object code from code generators: see [`Codegens`](crate::Codegens).
    pub objects: &'a [Vec<u8>],
}

/// Compiles a module at the VM's level.
///
/// # Errors
/// If something in it cannot be compiled; the diagnostic points at the text.
pub fn compile(module: &Module, source: &SourceFile, options: &Options, emit: Emit) -> Result<Artifact, Failure> {
    Lowered { module, source, signatures: &[], objects: &[] }.compile(options, emit)
}

impl Lowered<'_> {
    /// Compiles the module and links it with the objects.
    ///
    /// # Errors
    /// If something in it cannot be compiled; the diagnostic points at the text.
    pub fn compile(self, options: &Options, emit: Emit) -> Result<Artifact, Failure> {
        options.targets().try_for_each(|target| check_cpu(target))?;
        self.check_options(options, emit)?;
        let (mut clock, mut times) = (Clock::start(), Vec::new());
        let image = image(self.module, self.source, options.bytecode.as_deref(), self.signatures, options.gpu)?;
        let sources = if options.strip_source { SourceMap::default() } else { image.sources };
        let image = Image { sources, ..image };
        clock.lap("bytecode", &mut times);
        let is_bytecode = |f: &&FunctionInfo| f.kind != FunctionKind::Packed;
        let functions = image.executable.functions.iter().filter(is_bytecode);
        let instructions = functions.map(|f| (f.name.clone(), f.end - f.start)).collect();
        let artifact = match emit {
            Emit::Bytecode => Artifact::of(Output::Bytes(image.executable.save_checked())),
            Emit::Obj | Emit::Llvm | Emit::Asm | Emit::Ptx => kernel_files::compile(self, options, emit, &mut times)?,
            Emit::Lib => library::compile(self, image, options, &mut times)?,
            Emit::Tvm => tvm::compile(self, &image, options, &mut times)?,
        };
        Ok(Artifact { instructions, times, ..artifact })
    }

    fn check_options(&self, options: &Options, emit: Emit) -> Result<(), Failure> {
        options.exec_mode.check_emits_code()?;
        self.check_gpu(options, emit)?;
        if !options.others.is_empty() && emit == Emit::Tvm {
            let message = "libraries for TVM's runtime hold kernels for one processor";
            return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--emit`, or compile for one"));
        }
        if emit == Emit::Ptx && !options.others.is_empty() {
            let message = "PTX is for a GPU, whatever the CPU";
            return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--multi-version`"));
        }
        if !self.objects.is_empty() && !matches!(emit, Emit::Lib | Emit::Tvm) {
            let message = "what code generators made is linked into libraries, and no other output holds it";
            let failure = Failure::new(codes::UNSUPPORTED_OPTION, message);
            return Err(failure.help("leave out `--emit`, or the pass `RunCodegen`"));
        }
        Ok(())
    }

    /// Refuses outputs that need a GPU without one, and what is not compiled for one.
    fn check_gpu(&self, options: &Options, emit: Emit) -> Result<(), Failure> {
        let (message, help) = match options.gpu {
            None if emit == Emit::Ptx => ("PTX is code for GPUs, and this is for a CPU", "add `--target cuda`"),
            Some(_) if emit == Emit::Tvm => {
                ("libraries for TVM's runtime hold kernels for CPUs only", "leave out `--emit tvm` or `--target`")
            }
            Some(_) if options.exec_mode != ExecMode::Bytecode => {
                ("graphs as machine code call kernels of CPUs only", "leave out `--exec-mode` or `--target`")
            }
            _ => return Ok(()),
        };
        Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help(help))
    }
}
