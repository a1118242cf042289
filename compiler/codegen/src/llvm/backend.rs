//! Interface to LLVM: parses, verifies, optimizes and emits the textual IR.
//!
//! Pass pipelines are fixed strings, because LLVM aborts the process on an invalid one.

use super::{
    DeviceEntry, Host, LlvmError, add,
    arch::{self, nvptx},
    ir_text, module,
};
use hammock_kernels::FlatKernel;
use hammock_target::{Family, Features, Gpu, Target};
use inkwell::{
    OptimizationLevel,
    context::Context,
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{CodeModel, FileType, RelocMode, Target as Backend, TargetMachine, TargetTriple},
};
use std::sync::Once;

/// LLVM optimization level. Kernels are already vectorized and unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptLevel {
    /// No optimization, for readable code.
    None,
    /// Passes that explicit vectors need: mem2reg, CSE, LICM.
    Lean,
    /// The same, and unrolling of inner loops with constant bounds.
    Unroll,
    /// LLVM's full pipeline.
    Full,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A relocatable object.
    Object,
    /// Optimised textual IR.
    Ir,
    /// Assembly.
    Assembly,
}

const LEAN: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm,simple-loop-unswitch),instcombine<no-verify-fixpoint>)";
const UNROLL: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm,simple-loop-unswitch),instcombine<no-verify-fixpoint>,\
                      loop(loop-unroll-full),sroa,instcombine<no-verify-fixpoint>,gvn,dse)";

impl OptLevel {
    fn passes(self) -> Option<&'static str> {
        match self {
            OptLevel::None => None,
            OptLevel::Lean => Some(LEAN),
            OptLevel::Unroll => Some(UNROLL),
            OptLevel::Full => Some("default<O3>"),
        }
    }

    /// Passes for device code: those for CPUs, and inference of alignment, which the full pipeline includes. Aligned vector
    /// accesses become single instructions.
    fn device_passes(self) -> Option<String> {
        let passes = self.passes()?;
        Some(match self {
            OptLevel::Full => passes.to_owned(),
            _ => format!("{passes},function(infer-alignment)"),
        })
    }

    fn codegen(self) -> OptimizationLevel {
        match self {
            OptLevel::None => OptimizationLevel::None,
            OptLevel::Lean | OptLevel::Unroll => OptimizationLevel::Default,
            OptLevel::Full => OptimizationLevel::Aggressive,
        }
    }
}

/// Returns the target for this machine, by LLVM's name of its processor.
pub fn host() -> Target {
    let attributes = TargetMachine::get_host_cpu_features().to_string();
    let features = Features::listed(&attributes);
    Target::new(Family::host(), TargetMachine::get_host_cpu_name().to_string(), attributes, features).here()
}

/// Compiles kernels as one module.
///
/// # Errors
/// When a kernel uses an unsupported operation, or LLVM fails.
pub fn compile<'k>(
    kernels: impl IntoIterator<Item = &'k FlatKernel>,
    target: &Target,
    host: Host,
    level: OptLevel,
    emit: Emit,
) -> Result<Vec<u8>, LlvmError> {
    compile_text(&ir_text(kernels, target, host)?, target, level, emit)
}

/// A kernel's object code.
pub struct Object {
    /// The object.
    pub bytes: Vec<u8>,
    /// True if its messages contain names. If not, all kernels with the same structure and symbol have the same object.
    pub has_names: bool,
    /// Device functions in its device code.
    pub device: Vec<DeviceEntry>,
}

/// Compiles one kernel to an object.
///
/// # Errors
/// As [`compile`].
pub fn object(kernel: &FlatKernel, target: &Target, host: Host, level: OptLevel) -> Result<Object, LlvmError> {
    let mut module = module(target);
    let has_names = add(&mut module, kernel, target, host)?;
    let bytes = compile_text(&module.finish(), target, level, Emit::Object)?;
    Ok(Object { bytes, has_names, device: Vec::new() })
}

/// LLVM's version.
pub fn version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

/// Compiles the text of a module for a CPU.
pub fn compile_text(text: &str, target: &Target, level: OptLevel, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    let (name, attributes) = (&target.cpu, &target.attributes);
    let machine = machine(target.family.triple(), name, attributes, level)?;
    let machine = machine.ok_or_else(|| LlvmError::UnknownCpu { family: target.family, cpu: name.clone() })?;
    compile_for(text, &machine, level.passes(), emit)
}

/// Compiles the text of a module of device code to PTX.
pub fn emit_assembly(text: &str, gpu: &Gpu, level: OptLevel) -> Result<Vec<u8>, LlvmError> {
    let machine = machine(Gpu::TRIPLE, gpu.name, &nvptx::features(gpu), level)?;
    let machine = machine.ok_or_else(|| LlvmError::Failed(format!("it knows no GPU `{}`", gpu.name)))?;
    compile_for(text, &machine, level.device_passes().as_deref(), Emit::Assembly)
}

fn compile_for(text: &str, machine: &TargetMachine, passes: Option<&str>, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "kernels");
    let module = context.create_module_from_ir(buffer).map_err(|e| LlvmError::Invalid(e.to_string()))?;
    module.verify().map_err(|e| LlvmError::Invalid(e.to_string()))?;
    if let Some(passes) = passes {
        let failed = |e: inkwell::support::LLVMString| LlvmError::Failed(e.to_string());
        module.run_passes(passes, machine, PassBuilderOptions::create()).map_err(failed)?;
    }
    emit_module(&module, machine, emit)
}

fn emit_module(module: &Module<'_>, machine: &TargetMachine, emit: Emit) -> Result<Vec<u8>, LlvmError> {
    let file_type = match emit {
        Emit::Ir => return Ok(module.print_to_string().to_bytes().to_vec()),
        Emit::Object => FileType::Object,
        Emit::Assembly => FileType::Assembly,
    };
    let bytes = machine.write_to_memory_buffer(module, file_type).map_err(|e| LlvmError::Failed(e.to_string()))?;
    Ok(bytes.as_slice().to_vec())
}

/// Returns LLVM's description of a processor; `None` if LLVM does not know it.
fn machine(triple: &str, cpu: &str, features: &str, level: OptLevel) -> Result<Option<TargetMachine>, LlvmError> {
    static INITIALIZED: Once = Once::new();
    INITIALIZED.call_once(|| {
        Family::ALL.iter().for_each(|family| arch::of(*family).initialize());
        nvptx::initialize();
    });
    let triple = TargetTriple::create(triple);
    let backend = Backend::from_triple(&triple).map_err(|e| LlvmError::Failed(e.to_string()))?;
    Ok(backend.create_target_machine(&triple, cpu, features, level.codegen(), RelocMode::PIC, CodeModel::Default))
}
