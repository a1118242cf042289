//! Targets: names of CPUs, and the devices that a module asks for.

use crate::Failure;
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{AttrValue, Function, GlobalInfo, Module};
use hammock_runtime::suggest::nearest;
use hammock_target::{Family, Target};

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

/// Names of the architectures that code is generated for, and triples of them.
fn architectures() -> impl Iterator<Item = &'static str> {
    Family::ALL.iter().flat_map(|family| [family.architecture()].into_iter().chain(family.triples()))
}

/// Checks the name of an architecture, or a triple.
///
/// # Errors
/// If no code is generated for it.
pub fn check_architecture(name: &str) -> Result<(), Failure> {
    if architectures().any(|known| known == name) {
        return Ok(());
    }
    let error = Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no target `{name}`"));
    Err(match (nearest(name, architectures()), nearest(name, targets())) {
        _ if is_other_architecture(name) => error.help(only_supported()),
        (Some(triple), _) => error.help(format!("did you mean `{triple}`?")),
        (None, Some(cpu)) => error.help(format!("did you mean `--target-cpu {cpu}`?")),
        (None, None) => error.help(only_supported()),
    })
}

/// States which architectures are supported.
fn only_supported() -> String {
    let names: Vec<String> = Family::ALL.iter().map(|family| format!("`{}`", family.architecture())).collect();
    format!("Hammock generates code for {} under Linux only; `--target-cpu` names a CPU", names.join(" and "))
}

/// Returns true if a name begins with a common one of an unsupported architecture.
fn is_other_architecture(name: &str) -> bool {
    let first = name.split([',', ' ', '+', ':', '-']).next().unwrap_or_default();
    ARCHITECTURES.contains(&first.to_ascii_lowercase().as_str())
}

/// Common names of unsupported architectures.
const ARCHITECTURES: [&str; 15] = [
    "aarch64", "arm", "arm64", "armv7", "armv8", "cuda", "hexagon", "i386", "metal", "nvptx", "opencl", "riscv32",
    "riscv64", "rocm", "vulkan",
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

/// Kinds of devices that are the CPU.
const HOST_KINDS: [&str; 3] = ["llvm", "c", "cpu"];

/// Refuses a module that places tensors or kernels on a device other than the CPU.
pub fn check_devices(module: &Module, source: &SourceFile) -> Result<(), Failure> {
    let devices = module.global_infos.values().flatten().filter_map(|info| match info {
        GlobalInfo::VDevice(device) => Some(device.kind()),
        _ => None,
    });
    if let Some(kind) = devices.into_iter().find(|kind| !HOST_KINDS.contains(kind)) {
        let message =
            format!("the module puts tensors on a device of kind `{kind}`, which Hammock cannot generate code for");
        return Err(Failure::new(codes::NOT_LOWERABLE, message)
            .help("Hammock generates code for the CPU: declare `I.vdevice(\"llvm\")`")
            .within(source));
    }
    let elsewhere = module.functions.iter().find_map(|(name, function)| Some((name, function, kind_of(function)?)));
    let Some((name, function, kind)) = elsewhere else { return Ok(()) };
    let message = format!("function `{name}` is for the target `{kind}`, which Hammock cannot generate code for");
    let error = Diagnostic::error(codes::NOT_LOWERABLE, message);
    let error = match function {
        Function::Relax(f) => error.label(f.lambda.span, ""),
        Function::Tir(f) => error.label(f.span, ""),
        _ => error,
    };
    Err(Failure::from(error.help("Hammock generates code for the CPU: remove the attribute `target`")).within(source))
}

/// Kind of a function's target, if it is not the CPU.
fn kind_of(function: &Function) -> Option<&str> {
    let AttrValue::Target(entries) = function.attrs()?.get("target")? else { return None };
    let kind = entries.iter().find(|(key, _)| key.as_str() == Some("kind")).and_then(|(_, kind)| kind.as_str());
    kind.filter(|kind| !HOST_KINDS.contains(kind))
}
