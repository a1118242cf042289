//! Intrinsics: how many arguments each takes, and the type of its result.

use hammock_ir::{
    DType,
    prim::intrinsics::{self, DTypePosition},
};

/// The type of an intrinsic's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    /// That of the argument of this number.
    Arg(usize),
    /// This dtype.
    Is(DType),
    /// A pointer to elements of this dtype.
    PointerTo(DType),
    /// Named by the call: see [`intrinsics::dtype_position`].
    Named,
}

/// An intrinsic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intrinsic {
    pub name: &'static str,
    /// Fewest and most arguments, a named dtype not counted.
    pub arity: (usize, usize),
    pub result: Result,
}

const ANY: usize = usize::MAX;
const INT32: Result = Result::Is(DType::INT32);
const VOID: Result = Result::Is(DType::VOID);
const HANDLE: Result = Result::Is(DType::HANDLE);
const BOOL: Result = Result::Is(DType::BOOL);
const SAME: Result = Result::Arg(0);

/// Families of equal signatures: names, arity, result.
const FAMILIES: &[(&[&str], (usize, usize), Result)] = &[
    // Mathematics.
    (&["exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "sigmoid"], (1, 1), SAME),
    (&["sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"], (1, 1), SAME),
    (&["popcount", "clz", "likely", "tvm_thread_invariant"], (1, 1), SAME),
    (&["atan2", "copysign", "hypot", "ldexp", "nextafter", "fmod", "selector"], (2, 2), SAME),
    (&["fma"], (3, 3), SAME),
    (&["q_multiply_shift"], (4, 4), INT32),
    (&["q_multiply_shift_per_axis"], (7, 7), INT32),
    (&["isnullptr", "assume", "ignore_loop_partition"], (1, 1), BOOL),
    (&["filter"], (2, 2), BOOL),
    (&["vscale", "undef"], (0, 0), INT32),
    // Calls of other code.
    (&["call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin"], (1, ANY), Result::Named),
    (&["call_packed", "call_cpacked", "call_packed_lowered", "call_cpacked_lowered"], (1, ANY), INT32),
    (&["call_spirv_pure_glsl450"], (1, ANY), Result::Named),
    (&["tvm_call_trace_packed"], (1, ANY), INT32),
    // Lists of values of the virtual machine.
    (&["anylist_getitem"], (2, 2), HANDLE),
    (&["anylist_resetitem"], (2, 2), INT32),
    (&["anylist_setitem_call_packed", "anylist_setitem_call_cpacked"], (3, ANY), INT32),
    (&["tirx.TVMBackendAnyListSetPackedArg", "tirx.TVMBackendAnyListMoveFromPackedReturn"], (3, 4), INT32),
    // Pointers and the lowered calling convention.
    (&["reinterpret", "vectorlow", "vectorhigh"], (1, 1), Result::Named),
    (&["vectorcombine"], (2, 2), Result::Named),
    (&["get_active_lane_mask"], (2, 2), Result::Named),
    (&["masked_load"], (2, ANY), Result::Named),
    (&["masked_store"], (3, ANY), VOID),
    (&["dp4a"], (2, 3), Result::Named),
    (&["type_annotation"], (0, 0), Result::Named),
    (&["tvm_struct_get"], (3, 3), Result::Named),
    (&["tvm_struct_set"], (4, 4), INT32),
    (&["tvm_stack_make_shape"], (0, ANY), Result::PointerTo(DType::INT64)),
    (&["tvm_stack_make_array"], (6, 6), HANDLE),
    (&["lookup_param"], (1, 1), HANDLE),
    (&["tvm_tuple"], (0, ANY), VOID),
    (&["tvm_throw_last_error", "tvm_kernel_replace_point", "tvm_global_barrier_kinit"], (0, 0), VOID),
    (&["tvm_static_handle", "tvm_context_id"], (0, 0), HANDLE),
    (&["thread_return"], (0, 0), VOID),
    (&["TVMBackendAllocWorkspace"], (5, 5), HANDLE),
    (&["TVMBackendFreeWorkspace"], (3, 3), INT32),
    (&["nd_mem_alloc_with_scope"], (3, ANY), HANDLE),
    (&["start_profile_intrinsic", "end_profile_intrinsic"], (1, 1), VOID),
    (&["print_buffer"], (5, ANY), VOID),
    (&["prefetch"], (1, ANY), VOID),
    // GPUs.
    (&["tvm_storage_sync"], (1, 3), VOID),
    (&["tvm_thread_allreduce"], (3, ANY), VOID),
    (&["tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down"], (5, 5), Result::Arg(1)),
    (&["tvm_warp_shuffle_xor"], (5, 5), Result::Arg(1)),
    (&["tvm_warp_activemask"], (0, 0), Result::Is(DType::UINT32)),
    (&["tvm_load_matrix_sync", "tvm_store_matrix_sync", "tvm_mma_sync", "tvm_bmma_sync"], (8, 8), VOID),
    (&["tvm_fill_fragment"], (6, 6), VOID),
    (&["webgpu.subgroup_shuffle", "webgpu.subgroup_shuffle_up", "webgpu.subgroup_shuffle_down"], (2, 2), SAME),
    (&["atomic_add"], (2, 2), Result::Arg(1)),
    (&["dma_copy", "dma_wait", "dma_start_group", "dma_end_group"], (0, ANY), INT32),
    (&["cooperative_tensor_fill"], (5, 5), VOID),
    (&["cooperative_tensor_load", "cooperative_tensor_store"], (6, 11), VOID),
    (&["cooperative_tensor_multiply_accumulate"], (11, 13), VOID),
    (&["metal.make_filled_simdgroup_matrix"], (3, 5), VOID),
    (&["metal.simdgroup_load", "metal.simdgroup_store"], (4, 8), VOID),
    (&["metal.simdgroup_multiply_accumulate"], (8, 8), VOID),
];

/// Other spellings of an intrinsic's name, over all versions.
const ALIASES: [(&str, &str); 11] = [
    ("tvm_call_packed", "call_packed"),
    ("tvm_call_cpacked", "call_cpacked"),
    ("tvm_call_packed_lowered", "call_packed_lowered"),
    ("tvm_call_cpacked_lowered", "call_cpacked_lowered"),
    ("make_filled_simdgroup_matrix", "metal.make_filled_simdgroup_matrix"),
    ("simdgroup_load", "metal.simdgroup_load"),
    ("simdgroup_store", "metal.simdgroup_store"),
    ("simdgroup_multiply_accumulate", "metal.simdgroup_multiply_accumulate"),
    ("power", "pow"),
    ("broadcast", "Broadcast"),
    ("ramp", "Ramp"),
];

/// The one spelling of an intrinsic's name.
pub(super) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// The intrinsic of that name.
pub(super) fn lookup(name: &str) -> Option<Intrinsic> {
    FAMILIES.iter().find_map(|(names, arity, result)| {
        let name = names.iter().find(|n| **n == name)?;
        Some(Intrinsic { name, arity: *arity, result: *result })
    })
}

/// Every intrinsic's name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|(names, ..)| names.iter().copied())
}

/// Where calls of the intrinsic name a dtype. One that the printer does not know names none.
pub(super) fn dtype_position(name: &str) -> Option<DTypePosition> {
    intrinsics::dtype_position(name).or_else(|| {
        let named = lookup(name).is_some_and(|i| i.result == Result::Named);
        named.then_some(DTypePosition::First)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_canonical() {
        let mut all: Vec<&str> = names().collect();
        assert!(all.iter().all(|n| canonical(n) == *n));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn dtypes_are_named_where_the_printer_names_them() {
        for name in names() {
            let named = lookup(name).is_some_and(|i| i.result == Result::Named);
            assert!(named || intrinsics::dtype_position(name).is_none(), "{name}");
        }
    }
}
