//! Graphs as machine code.

use crate::{ExecMode, Failure, Options};
use hammock_diagnostics::codes;
use hammock_runtime::{
    Executable,
    executable::{FunctionInfo, FunctionKind},
    image::KernelSignature,
};

/// Sets the kind of each function in the function table; returns an object with the code of those that are compiled.
pub fn compile(
    executable: &mut Executable,
    kernels: &[KernelSignature],
    options: &Options,
) -> Result<Option<Vec<u8>>, Failure> {
    check_names(executable, options)?;
    let mut compiled = Vec::new();
    let has_code = |info: &FunctionInfo| info.kind != FunctionKind::Packed && info.start < info.end;
    for (index, info) in executable.functions.iter_mut().enumerate().filter(|(_, info)| has_code(info)) {
        let is_compiled = options.exec_mode.compiles(&info.name);
        info.kind = if is_compiled { FunctionKind::Compiled } else { FunctionKind::Bytecode };
        compiled.extend(is_compiled.then_some(index));
    }
    if compiled.is_empty() { Ok(None) } else { generate(executable, kernels, &compiled, options).map(Some) }
}

fn check_names(executable: &Executable, options: &Options) -> Result<(), Failure> {
    let ExecMode::Mixed(names) = &options.exec_mode else { return Ok(()) };
    match names.iter().find(|name| executable.function(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let graphs = executable.functions.iter().filter(|f| f.kind != FunctionKind::Packed);
            let known: Vec<String> = graphs.map(|f| format!("`{}`", f.name)).collect();
            Err(Failure::new(codes::UNKNOWN_NAME, format!("there is no function `{name}` to compile"))
                .help(format!("the module has {}; -O1 leaves private functions as they are", known.join(", "))))
        }
    }
}

#[cfg(feature = "cranelift")]
fn generate(
    executable: &Executable,
    kernels: &[KernelSignature],
    functions: &[usize],
    options: &Options,
) -> Result<Vec<u8>, Failure> {
    let family = crate::kernels::target(options, 1).family;
    hammock_codegen::native::compile(family, executable, kernels, functions)
        .map_err(|error| Failure::new(codes::NOT_LOWERABLE, error.to_string()))
}

#[cfg(not(feature = "cranelift"))]
fn generate(_: &Executable, _: &[KernelSignature], _: &[usize], _: &Options) -> Result<Vec<u8>, Failure> {
    let message = "this build of Hammock cannot compile graphs: it was made without the feature `cranelift`";
    Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("use `--exec-mode bytecode`, the default"))
}
