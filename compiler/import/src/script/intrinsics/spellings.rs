//! Spellings of intrinsics, whose signatures are in [`hammock_ir::prim::intrinsics`].

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

/// The canonical spelling of an intrinsic's name.
pub(super) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::prim::intrinsics;

    #[test]
    fn names_are_canonical() {
        assert!(intrinsics::all().all(|intrinsic| canonical(intrinsic.name) == intrinsic.name));
    }
}
