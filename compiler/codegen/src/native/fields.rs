//! Offsets of fields that machine code accesses.
use hammock_runtime::value::DLTensor;
use hammock_runtime::vm::native::NativeContext;
use std::mem::offset_of;

/// Offset of a field of a tensor's descriptor from the start of the object.
macro_rules! tensor_field {
    ($field:ident) => {
        hammock_runtime::vm::native::layout::TENSOR + std::mem::offset_of!(hammock_runtime::value::DLTensor, $field)
    };
}
pub(super) use tensor_field;

/// Offset in the context of a result that replaces an argument or is unused.
pub(super) const RESULT: usize = offset_of!(NativeContext, result);

const _: () = assert!(size_of::<DLTensor>() == 48);
