//! Targets: names of CPUs, and the devices that a module asks for.

use crate::Failure;
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{Function, Module, VDevice, prim::HOST_KINDS};
use hammock_passes::libraries::{self, LIBRARIES, Library};
use hammock_runtime::{image::MAX_DEVICES, suggest::nearest};
use hammock_target::{Family, Gpu, Target};

/// Names of targets.
pub fn targets() -> impl Iterator<Item = &'static str> {
    std::iter::once("native").chain(Target::names())
}

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    match name {
        #[cfg(feature = "native")]
        "native" => Some(hammock_codegen::llvm::host()),
        #[cfg(not(feature = "native"))]
        "native" => Some(Target::host()),
        name => Target::named(name),
    }
}

/// Version of LLVM, if kernels are compiled.
pub fn llvm_version() -> Option<String> {
    #[cfg(feature = "native")]
    return Some(hammock_codegen::llvm::version());
    #[cfg(not(feature = "native"))]
    None
}

/// Names of the architectures that code is generated for, and triples of them.
fn architectures() -> impl Iterator<Item = &'static str> {
    Family::ALL.iter().flat_map(|family| [family.architecture()].into_iter().chain(family.triples()))
}

/// Name of the target that is any GPU; one of an architecture follows a colon.
const GPU: &str = "cuda";

/// Returns the names of the targets that are GPUs: `cuda`, `cuda:sm_80`.
pub fn gpus() -> impl Iterator<Item = String> {
    [GPU.to_owned()].into_iter().chain(Gpu::ALL.iter().map(Gpu::to_string))
}

/// Returns the GPU of a target's name; `None` for the name of an architecture of CPUs, or a triple of one.
///
/// # Errors
/// If no code is generated for it.
pub fn architecture(name: &str) -> Result<Option<Gpu>, Failure> {
    match name.split_once(':') {
        None if name == GPU => return Ok(Some(Gpu::DEFAULT)),
        Some((GPU, architecture)) => return gpu(architecture).map(Some),
        _ if architectures().any(|known| known == name) => return Ok(None),
        _ => {}
    }
    let error = Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no target `{name}`"));
    Err(match (nearest(name, architectures().chain([GPU])), nearest(name, targets())) {
        _ if Gpu::named(name).is_some() => error.help(format!("did you mean `{GPU}:{name}`?")),
        _ if is_other_architecture(name) => error.help(only_supported()),
        (Some(triple), _) => error.help(format!("did you mean `{triple}`?")),
        (None, Some(cpu)) => error.help(format!("did you mean `--target-cpu {cpu}`?")),
        (None, None) => error.help(only_supported()),
    })
}

/// Returns the GPU of an architecture's name.
fn gpu(name: &str) -> Result<Gpu, Failure> {
    Gpu::named(name).ok_or_else(|| {
        let error = Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no GPU architecture `{name}`"));
        let names: Vec<String> = Gpu::names().map(|name| format!("`{GPU}:{name}`")).collect();
        error.help(format!("there are {}; a GPU runs the code of its own and earlier ones", names.join(", ")))
    })
}

/// Returns the libraries of these names, for a build with these options.
///
/// # Errors
/// If there is no library of a name, or the build has no use for them.
pub fn libraries(names: &[String], gpu: Option<Gpu>, strict_order: bool) -> Result<Vec<&'static Library>, Failure> {
    let library = |name: &String| {
        libraries::find(name).ok_or_else(|| {
            let known: Vec<String> = LIBRARIES.iter().map(|library| format!("`{}`", library.name)).collect();
            Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no library `{name}`"))
                .help(format!("there is {}", known.join(", ")))
        })
    };
    let found = names.iter().map(library).collect::<Result<Vec<_>, _>>()?;
    match found.first() {
        Some(library) if gpu.is_none() => {
            let message = format!("the library `{}` computes on CUDA devices", library.name);
            Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help(format!("add `--target {GPU}`")))
        }
        Some(library) if strict_order => {
            let message = format!("the library `{}` sums in an order of its own", library.name);
            Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave it out, or `--strict-order`"))
        }
        _ => Ok(found),
    }
}

/// States which architectures are supported.
fn only_supported() -> String {
    let names: Vec<String> = Family::ALL.iter().map(|family| format!("`{}`", family.architecture())).collect();
    let names = names.join(" and ");
    format!("Hammock generates code for {names} under Linux and for `{GPU}` only; `--target-cpu` names a CPU")
}

/// Returns true if a name begins with a common one of an unsupported architecture.
fn is_other_architecture(name: &str) -> bool {
    let first = name.split([',', ' ', '+', ':', '-']).next().unwrap_or_default();
    ARCHITECTURES.contains(&first.to_ascii_lowercase().as_str())
}

/// Common names of unsupported architectures.
const ARCHITECTURES: [&str; 14] = [
    "aarch64", "arm", "arm64", "armv7", "armv8", "hexagon", "i386", "metal", "nvptx", "opencl", "riscv32", "riscv64",
    "rocm", "vulkan",
];

/// Checks the name of a CPU.
///
/// # Errors
/// If there is no such CPU.
pub fn check_cpu(name: &str) -> Result<(), Failure> {
    let is_known = |name: &str| targets().any(|known| known == name);
    if is_known(name) {
        return Ok(());
    }
    let error = Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no CPU `{name}`"));
    Err(match nearest(name, targets()) {
        _ if name == GPU || name.starts_with("cuda:") => error.help(format!("did you mean `--target {name}`?")),
        _ if is_other_architecture(name) => {
            let families: Vec<&str> = Family::ALL.iter().map(|family| family.name()).collect();
            let families = families.join(" and ");
            error.help(format!("Hammock generates code for {families} processors only; `hammock targets` lists them"))
        }
        _ if name.split(',').all(is_known) => error.help(format!("`--multi-version={name}` compiles for several CPUs")),
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if name.contains([',', ' ', '+', '=']) => {
            error.help("a CPU is named without features or options; `hammock targets` lists them")
        }
        None => error.help("`hammock targets` lists them"),
    })
}

/// Refuses a module that places tensors or kernels on a device that it is not compiled for: a GPU without one, or a kind
/// that no code is generated for.
pub fn check_devices(module: &Module, source: &SourceFile, gpu: Option<Gpu>) -> Result<(), Failure> {
    let is_supported = |kind: &str| HOST_KINDS.contains(&kind) || gpu.is_some() && kind == GPU;
    if let Some(kind) = module.vdevices().map(|device| device.kind()).find(|kind| !is_supported(kind)) {
        let message = format!("the module puts tensors on a device of kind `{kind}`, {}", misses(kind, gpu));
        let edit = format!("declare `I.vdevice(\"{}\")`", HOST_KINDS[0]);
        return Err(Failure::new(codes::NOT_LOWERABLE, message).help(remedy(kind, gpu, &edit)).within(source));
    }
    let has_index = |device: &VDevice| (0..i64::from(MAX_DEVICES)).contains(&device.index);
    if let Some(device) = module.vdevices().find(|device| !device.is_host() && !has_index(device)) {
        let message = format!("there is no device number {} of kind `{}`", device.index, device.kind());
        let help = format!("devices have the numbers 0 to {}, in the order of `--device`", MAX_DEVICES - 1);
        return Err(Failure::new(codes::NOT_LOWERABLE, message).help(help).within(source));
    }
    let kind =
        |function: &Function| function.attrs()?.target_kind().filter(|kind| !is_supported(kind)).map(str::to_owned);
    let elsewhere = module.functions.iter().find_map(|(name, function)| Some((name, function, kind(function)?)));
    let Some((name, function, kind)) = elsewhere else { return Ok(()) };
    let message = format!("function `{name}` is for the target `{kind}`, {}", misses(&kind, gpu));
    let error = Diagnostic::error(codes::NOT_LOWERABLE, message);
    let error = match function {
        Function::Relax(f) => error.label(f.lambda.span, ""),
        Function::Tir(f) => error.label(f.span, ""),
        _ => error,
    };
    Err(Failure::from(error.help(remedy(&kind, gpu, "remove the attribute `target`"))).within(source))
}

/// States why a kind of device is not supported.
fn misses(kind: &str, gpu: Option<Gpu>) -> &'static str {
    if kind == GPU && gpu.is_none() {
        "and it is compiled for the CPU"
    } else {
        "which Hammock cannot generate code for"
    }
}

/// States what to do about a kind of device.
fn remedy(kind: &str, gpu: Option<Gpu>, edit: &str) -> String {
    match gpu {
        None if kind == GPU => format!("add `--target {GPU}`, or {edit}"),
        None => format!("Hammock generates code for the CPU: {edit}"),
        Some(_) => format!("Hammock generates code for the CPU and for `{GPU}`: {edit}"),
    }
}
