//! What the printer and the importer need to know about intrinsics.

/// Where the text of an intrinsic's call names the dtype of its result: `T.call_extern("int32", "f", x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypePosition {
    /// Before the arguments.
    First,
    /// After the arguments.
    Last,
}

/// Where calls of the intrinsic name their result's dtype; `None` for those whose dtype follows from the arguments.
pub fn dtype_position(intrinsic: &str) -> Option<DTypePosition> {
    match intrinsic {
        "reinterpret"
        | "call_extern"
        | "call_pure_extern"
        | "call_llvm_intrin"
        | "call_llvm_pure_intrin"
        | "vectorhigh"
        | "vectorlow"
        | "vectorcombine"
        | "dp4a"
        | "get_active_lane_mask"
        | "type_annotation"
        | "mma_store"
        | "mma_fill" => Some(DTypePosition::First),
        "tvm_struct_get" => Some(DTypePosition::Last),
        _ => None,
    }
}

/// The operator that stands for a call of the intrinsic: `<<` for `shift_left`.
pub fn infix(intrinsic: &str) -> Option<&'static str> {
    Some(match intrinsic {
        "shift_left" => "<<",
        "shift_right" => ">>",
        "bitwise_and" => "&",
        "bitwise_or" => "|",
        "bitwise_xor" => "^",
        _ => return None,
    })
}
