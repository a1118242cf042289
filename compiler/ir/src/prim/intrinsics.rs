//! TIR's intrinsics, each declared once: arity, result type, side effect and cost.
//!
//! The importer, the printer, the verifier, passes and code generation use this table. The semantics of intrinsics are
//! implemented in the reference interpreter (`interp/`) and in native code (`kernels/src/math/`,
//! `codegen/src/llvm/emit/`); tests check that both implement every lane-wise intrinsic. A text can name intrinsics
//! that are not here (`T.Call("tirx.ptx.ldmatrix", …)`): these are opaque.

use crate::DType;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// An intrinsic.
#[derive(Clone, Copy, Debug)]
pub struct Intrinsic {
    /// Its name in TIR, without prefix.
    pub name: &'static str,
    /// Minimum and maximum number of arguments, not counting a named dtype.
    pub arity: (usize, usize),
    /// The type of its result.
    pub result: ResultType,
    /// Operand kind of a lane-wise intrinsic; `None` for others.
    pub lanes: Option<LaneKind>,
    /// Side effect.
    pub effect: Effect,
    /// True if the result is one of the arguments, unchanged.
    pub forwards_argument: bool,
    /// Approximate cost per lane, in additions.
    pub cost: u32,
}

/// The type of an intrinsic's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// That of the argument at this index.
    Arg(usize),
    /// Bool, with the lanes of the first argument.
    Truth,
    /// This dtype.
    Is(DType),
    /// A pointer to elements of this dtype.
    PointerTo(DType),
    /// A pointer into memory given by the arguments.
    Into,
    /// Named by the call.
    Named(DTypePosition),
}

/// Position of the result dtype in the text of a call: `T.call_extern("int32", "f", x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypePosition {
    /// Before the arguments.
    First,
    /// After the arguments.
    Last,
}

/// Operand kind of a lane-wise intrinsic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// Floats, all of one dtype.
    Floats,
    /// The bits of integers, all of one dtype.
    Integers,
    /// Numbers of any kind, all of one dtype.
    Numbers,
    /// Anything; its operands and its result may be of different dtypes.
    Any,
}

/// Side effect of evaluating an intrinsic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the value follows from the arguments.
    Pure,
    /// Exposes an address, through which memory may be read and written.
    Address,
    /// Calls a function passed to it.
    Runs,
    /// Synchronizes or communicates with other threads.
    Cooperates,
    /// Anything else.
    Opaque,
}

/// Cost of a square root: one slow instruction.
pub const SQRT_COST: u32 = 8;
/// Cost of a math function: range reduction and polynomial.
pub const MATH_COST: u32 = 16;

/// The intrinsic of flat host code that launches a device function. Its first [`LAUNCH_ARGS`] arguments are the
/// function's name, the grid's extents in blocks, a block's extents in threads (x, y and z as int64) and the bytes of
/// dynamic shared memory; the function's arguments follow.
pub const LAUNCH_KERNEL: &str = "launch_kernel";
/// Number of arguments of [`LAUNCH_KERNEL`] before those of the device function.
pub const LAUNCH_ARGS: usize = 8;
/// Names of the thread axes, in the order of a launch's extents.
pub const THREAD_AXES: [&str; 6] =
    ["blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"];
/// Threads of a warp, among which the shuffles exchange values.
pub const WARP_THREADS: i64 = 32;

const ANY: usize = usize::MAX;
const SAME: ResultType = ResultType::Arg(0);
const INT32: ResultType = ResultType::Is(DType::INT32);
const VOID: ResultType = ResultType::Is(DType::VOID);
const HANDLE: ResultType = ResultType::Is(DType::HANDLE);
const BOOL: ResultType = ResultType::Is(DType::BOOL);
const NAMED: ResultType = ResultType::Named(DTypePosition::First);

/// Intrinsics that differ only in their names.
struct Family {
    names: &'static [&'static str],
    like: Intrinsic,
}

/// Intrinsics with only a known signature.
const fn opaque(names: &'static [&'static str], arity: (usize, usize), result: ResultType) -> Family {
    let effect = Effect::Opaque;
    Family {
        names,
        like: Intrinsic { name: "", arity, result, lanes: None, effect, forwards_argument: false, cost: MATH_COST },
    }
}

/// Intrinsics whose value follows from their arguments.
const fn pure(names: &'static [&'static str], arity: usize, result: ResultType) -> Family {
    opaque(names, (arity, arity), result).effect(Effect::Pure).cost(1)
}

/// Lane-wise intrinsics, whose result has the operands' type.
const fn lanewise(names: &'static [&'static str], arity: usize, of: LaneKind) -> Family {
    pure(names, arity, SAME).of(of)
}

impl Family {
    const fn of(mut self, of: LaneKind) -> Family {
        self.like.lanes = Some(of);
        self
    }

    const fn result(mut self, result: ResultType) -> Family {
        self.like.result = result;
        self
    }

    const fn effect(mut self, effect: Effect) -> Family {
        self.like.effect = effect;
        self
    }

    const fn forwards_argument(mut self) -> Family {
        self.like.forwards_argument = true;
        self
    }

    const fn cost(mut self, cost: u32) -> Family {
        self.like.cost = cost;
        self
    }

    fn each(&self) -> impl Iterator<Item = Intrinsic> {
        self.names.iter().map(|name| Intrinsic { name, ..self.like })
    }
}

const FAMILIES: &[Family] = &[
    // Selection.
    pure(&["if_then_else"], 3, ResultType::Arg(1)).forwards_argument(),
    pure(&["likely"], 1, SAME).forwards_argument().cost(0),
    // Mathematics.
    lanewise(
        &["exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "erf", "sigmoid"],
        1,
        LaneKind::Floats,
    )
    .cost(MATH_COST),
    lanewise(&["sin", "cos", "tan", "sinh", "cosh", "tanh"], 1, LaneKind::Floats).cost(MATH_COST),
    lanewise(&["asin", "acos", "atan", "asinh", "acosh", "atanh"], 1, LaneKind::Floats).cost(MATH_COST),
    lanewise(&["atan2", "hypot", "nextafter", "fmod"], 2, LaneKind::Floats).cost(MATH_COST),
    lanewise(&["sqrt", "rsqrt"], 1, LaneKind::Floats).cost(SQRT_COST),
    lanewise(&["copysign"], 2, LaneKind::Floats),
    lanewise(&["pow"], 2, LaneKind::Numbers).cost(MATH_COST),
    lanewise(&["abs", "fabs", "floor", "ceil", "trunc", "round", "nearbyint"], 1, LaneKind::Numbers),
    lanewise(&["fma"], 3, LaneKind::Numbers),
    lanewise(&["ldexp"], 2, LaneKind::Any).cost(MATH_COST),
    lanewise(&["isnan", "isinf", "isfinite"], 1, LaneKind::Any).result(ResultType::Truth),
    lanewise(&["q_multiply_shift"], 4, LaneKind::Any).result(INT32).cost(MATH_COST),
    opaque(&["q_multiply_shift_per_axis"], (7, 7), INT32),
    // Bits.
    lanewise(&["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"], 2, LaneKind::Integers),
    lanewise(&["bitwise_not", "popcount", "clz"], 1, LaneKind::Integers),
    lanewise(&["reinterpret"], 1, LaneKind::Any).result(NAMED),
    // Vectors.
    pure(&["vectorlow", "vectorhigh"], 1, NAMED),
    pure(&["vectorcombine", "get_active_lane_mask"], 2, NAMED),
    pure(&["vscale"], 0, INT32),
    opaque(&["masked_load"], (2, ANY), NAMED),
    opaque(&["masked_store"], (3, ANY), VOID),
    opaque(&["dp4a"], (2, 3), NAMED),
    // Assumptions and undefined values.
    opaque(&["assume", "ignore_loop_partition"], (1, 1), BOOL),
    opaque(&["tvm_thread_invariant"], (1, 1), SAME),
    opaque(&["undef"], (0, 0), INT32),
    opaque(&["filter"], (2, 2), BOOL),
    opaque(&["selector"], (2, 2), SAME),
    // Addresses.
    opaque(&["address_of"], (1, 1), ResultType::Into).effect(Effect::Address),
    opaque(&["handle_add_byte_offset"], (2, 2), ResultType::Into).effect(Effect::Address),
    opaque(&["ptr_byte_offset"], (3, 3), ResultType::Into).effect(Effect::Address),
    opaque(&["tvm_access_ptr"], (5, 5), ResultType::Into).effect(Effect::Address),
    opaque(&["tvm_stack_alloca"], (2, 2), ResultType::Into).effect(Effect::Address),
    opaque(&["tvm_stack_make_array"], (6, 6), HANDLE).effect(Effect::Address),
    opaque(&["tvm_stack_make_shape"], (0, ANY), ResultType::PointerTo(DType::INT64)).effect(Effect::Address),
    opaque(&["isnullptr"], (1, 1), BOOL),
    // Calls of other code.
    opaque(&["call_extern", "call_pure_extern"], (1, ANY), NAMED).effect(Effect::Runs),
    opaque(&["call_llvm_intrin", "call_llvm_pure_intrin", "call_spirv_pure_glsl450"], (1, ANY), NAMED)
        .effect(Effect::Runs),
    opaque(&["call_packed", "call_cpacked", "call_packed_lowered", "call_cpacked_lowered"], (1, ANY), INT32)
        .effect(Effect::Runs),
    opaque(&["tvm_call_trace_packed"], (1, ANY), INT32).effect(Effect::Runs),
    // Lists of values of the virtual machine.
    opaque(&["anylist_getitem"], (2, 2), HANDLE),
    opaque(&["anylist_resetitem"], (2, 2), INT32),
    opaque(&["anylist_setitem_call_packed", "anylist_setitem_call_cpacked"], (3, ANY), INT32).effect(Effect::Runs),
    opaque(&["tirx.TVMBackendAnyListSetPackedArg", "tirx.TVMBackendAnyListMoveFromPackedReturn"], (3, 4), INT32),
    // The lowered calling convention.
    opaque(&["type_annotation"], (0, 0), NAMED),
    opaque(&["tvm_struct_get"], (3, 3), ResultType::Named(DTypePosition::Last)),
    opaque(&["tvm_struct_set"], (4, 4), INT32),
    opaque(&["lookup_param"], (1, 1), HANDLE),
    opaque(&["tvm_tuple"], (0, ANY), VOID),
    opaque(&["tvm_throw_last_error", "tvm_kernel_replace_point", "tvm_global_barrier_kinit"], (0, 0), VOID),
    opaque(&["tvm_static_handle", "tvm_context_id"], (0, 0), HANDLE),
    opaque(&["thread_return"], (0, 0), VOID),
    opaque(&["TVMBackendAllocWorkspace"], (5, 5), HANDLE),
    opaque(&["TVMBackendFreeWorkspace"], (3, 3), INT32),
    opaque(&["nd_mem_alloc_with_scope"], (3, ANY), HANDLE),
    opaque(&["start_profile_intrinsic", "end_profile_intrinsic"], (1, 1), VOID),
    opaque(&["print_buffer"], (5, ANY), VOID),
    opaque(&["prefetch"], (1, ANY), VOID),
    // GPUs.
    opaque(&[LAUNCH_KERNEL], (LAUNCH_ARGS, ANY), VOID).effect(Effect::Runs),
    opaque(&["tvm_storage_sync"], (1, 3), VOID).effect(Effect::Cooperates),
    opaque(&["tvm_thread_allreduce"], (3, ANY), VOID).effect(Effect::Cooperates),
    opaque(&["tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down"], (5, 5), ResultType::Arg(1))
        .effect(Effect::Cooperates),
    opaque(&["tvm_warp_shuffle_xor"], (5, 5), ResultType::Arg(1)).effect(Effect::Cooperates),
    opaque(&["tvm_warp_activemask"], (0, 0), ResultType::Is(DType::UINT32)).effect(Effect::Cooperates),
    opaque(&["ptx_ldmatrix"], (7, 7), NAMED).effect(Effect::Cooperates),
    opaque(&["ptx_mma"], (13, 14), NAMED).effect(Effect::Cooperates),
    opaque(&["ptx_cp_async"], (5, 6), NAMED),
    opaque(&["ptx_commit_group"], (0, 0), VOID),
    opaque(&["ptx_wait_group"], (1, 1), VOID),
    opaque(&["tvm_load_matrix_sync", "tvm_store_matrix_sync", "tvm_mma_sync", "tvm_bmma_sync"], (8, 8), VOID),
    opaque(&["tvm_fill_fragment"], (6, 6), VOID),
    opaque(&["mma_store"], (6, 6), NAMED),
    opaque(&["mma_fill"], (3, 3), NAMED),
    opaque(&["webgpu.subgroup_shuffle", "webgpu.subgroup_shuffle_up", "webgpu.subgroup_shuffle_down"], (2, 2), SAME),
    opaque(&["atomic_add"], (2, 2), ResultType::Arg(1)),
    opaque(&["dma_copy", "dma_wait", "dma_start_group", "dma_end_group"], (0, ANY), INT32),
    opaque(&["cooperative_tensor_fill"], (5, 5), VOID),
    opaque(&["cooperative_tensor_load", "cooperative_tensor_store"], (6, 11), VOID),
    opaque(&["cooperative_tensor_multiply_accumulate"], (11, 13), VOID),
    opaque(&["metal.make_filled_simdgroup_matrix"], (3, 5), VOID),
    opaque(&["metal.simdgroup_load", "metal.simdgroup_store"], (4, 8), VOID),
    opaque(&["metal.simdgroup_multiply_accumulate"], (8, 8), VOID),
];

/// The intrinsic of that name.
pub fn lookup(name: &str) -> Option<&'static Intrinsic> {
    static BY_NAME: LazyLock<FxHashMap<&str, Intrinsic>> =
        LazyLock::new(|| all().map(|intrinsic| (intrinsic.name, intrinsic)).collect());
    BY_NAME.get(name)
}

/// Every intrinsic, in the table's order.
pub fn all() -> impl Iterator<Item = Intrinsic> {
    FAMILIES.iter().flat_map(Family::each)
}

/// Operand kind of the lane-wise intrinsic of that name; `None` for others.
pub fn lanes(name: &str) -> Option<LaneKind> {
    lookup(name)?.lanes
}

/// Side effect of the intrinsic of that name.
pub fn effect(name: &str) -> Effect {
    lookup(name).map_or(Effect::Opaque, |intrinsic| intrinsic.effect)
}

/// Approximate cost per lane of the intrinsic of that name, in additions.
pub fn cost(name: &str) -> u32 {
    lookup(name).map_or(MATH_COST, |intrinsic| intrinsic.cost)
}

/// Position of the result dtype in calls of the intrinsic; `None` if it follows from the arguments.
pub fn dtype_position(name: &str) -> Option<DTypePosition> {
    match lookup(name)?.result {
        ResultType::Named(position) => Some(position),
        _ => None,
    }
}

/// The operator symbol of an intrinsic: `<<` for `shift_left`.
pub fn infix(name: &str) -> Option<&'static str> {
    Some(match name {
        "shift_left" => "<<",
        "shift_right" => ">>",
        "bitwise_and" => "&",
        "bitwise_or" => "|",
        "bitwise_xor" => "^",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_declared_once() {
        assert_eq!(all().count(), all().filter_map(|own| lookup(own.name)).map(|i| i.name).collect::<Vec<_>>().len());
        let mut names: Vec<&str> = all().map(|intrinsic| intrinsic.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn what_works_lane_by_lane_does_nothing_else() {
        for intrinsic in all().filter(|intrinsic| intrinsic.lanes.is_some()) {
            assert_eq!(intrinsic.effect, Effect::Pure, "{}", intrinsic.name);
            assert_eq!(intrinsic.arity.0, intrinsic.arity.1, "{}", intrinsic.name);
        }
        assert_eq!(lanes("clz"), Some(LaneKind::Integers));
        assert_eq!((lanes("call_extern"), effect("call_extern")), (None, Effect::Runs));
        assert_eq!((lanes("no_such"), effect("no_such"), cost("no_such")), (None, Effect::Opaque, MATH_COST));
    }
}
