//! What libraries for TVM's runtime may use: kernels of the module, TVM's builtins, functions that others register.

use crate::{Failure, kernels};
use hammock_diagnostics::{SourceFile, codes};
use hammock_ir::Module;
use hammock_runtime::{Image, executable::FunctionKind};
use std::collections::HashSet;

/// Builtins of ours that TVM 0.27 has not.
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

/// Can TVM's runtime run the executable?
pub fn check_callees(image: &Image, module: &Module, source: &SourceFile) -> Result<(), Failure> {
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
