//! Shared libraries for TVM's runtime. They may call kernels of the module, TVM's builtins and registered functions.

use super::{
    Artifact, Lowered, Output,
    library::{artifact, compile_kernels, every, link_failure},
};
use crate::{Clock, Failure, Options, Timing, kernels};
use hammock_codegen::llvm::Host;
use hammock_diagnostics::codes;
use hammock_runtime::{Image, executable::FunctionKind, library::tvm::modules};
use std::collections::HashSet;

/// Builtins that TVM 0.27 does not have.
const OURS_ALONE: &[&str] = &[
    "relax.inspect.tensor_byte_offset",
    "relax.inspect.tensor_dtype_bits",
    "relax.inspect.tensor_dtype_code",
    "relax.inspect.tensor_dtype_lanes",
    "relax.inspect.tensor_elem_offset",
    "relax.inspect.tensor_ndim",
    "relax.inspect.tensor_shape_i",
    "relax.inspect.tensor_stride_i",
    "relax.run.dynamic_strided_slice",
    "vm.builtin.all_class_non_max_suppression",
    "vm.builtin.alloc_adt",
    "vm.builtin.get_field",
    "vm.builtin.get_tag",
    "vm.builtin.has_tag",
];

/// Compiles the kernels, which TVM runs on one thread, and links them with the bytecode.
pub fn compile(
    lowered: Lowered,
    image: &Image,
    options: &Options,
    times: &mut Vec<Timing>,
) -> Result<Artifact, Failure> {
    let mut clock = Clock::start();
    check_callees(image, lowered)?;
    let versions = compile_kernels(lowered, options, Host::Tvm, 1)?;
    clock.lap("kernels to machine code", times);
    let others = lowered.objects.iter().map(Vec::as_slice);
    let objects: Vec<&[u8]> = every(&versions).map(|kernel| kernel.object.as_slice()).chain(others).collect();
    let library = hammock_link::link_for_tvm(&objects, &modules(&image.executable.save()));
    let library = library.map_err(|e| link_failure(&e, lowered))?;
    clock.lap("linking", times);
    Ok(artifact(Output::Bytes(library), &versions))
}

/// Refuses an executable that TVM's runtime cannot run.
fn check_callees(image: &Image, Lowered { module, source, .. }: Lowered) -> Result<(), Failure> {
    let kernels: HashSet<&str> = kernels::functions(module).map(|(name, _)| name).collect();
    let functions = &image.executable.functions;
    let fault = functions.iter().find_map(|f| match f.kind {
        FunctionKind::Compiled => Some(format!("function `{}` is machine code, which TVM cannot call", f.name)),
        FunctionKind::Packed if !kernels.contains(f.name.as_str()) && OURS_ALONE.contains(&f.name.as_str()) => {
            Some(format!("the module calls the builtin `{}`, which TVM's runtime does not have", f.name))
        }
        _ => None,
    });
    match fault {
        Some(message) => Err(Failure::new(codes::NOT_FOR_TVM, message)
            .help("compile it for Hammock's own runtime: leave out `--emit tvm`")
            .within(source)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_runtime::builtins;

    #[test]
    fn the_list_names_builtins() {
        for name in OURS_ALONE {
            assert!(builtins().any(|b| b.name == *name), "{name}");
        }
    }
}
