//! Dtypes and scalar types as the text spells them.

use hammock_ir::{DType, Name, prim::PrimType};

pub(crate) use hammock_runtime::suggest::nearest_dtype as nearest;

/// The dtype that a name of `T` denotes: `float32`, `int8x4`, `bool`, `f16`; `None` for other names of `T`.
pub(crate) fn of_name(name: &str) -> Option<DType> {
    match name {
        "boolean" => Some(DType::BOOL),
        "void" => Some(DType::VOID),
        // `T.handle` is a type of its own, `T.int` and `T.float` do not exist.
        "handle" | "int" | "float" | "uint" | "bfloat" | "" => None,
        name => name.parse().ok().filter(|t| is_valid(*t)),
    }
}

/// Returns true if a dtype exists: there are no 33-bit floats, and no vectors of handles.
pub(crate) fn is_valid(dtype: DType) -> bool {
    let t = dtype.element();
    match t.bits {
        _ if t.is_handle() => dtype == DType::HANDLE,
        _ if t.is_void() || t.is_bool() => true,
        bits if t.is_integer() => matches!(bits, 1 | 2 | 4 | 8 | 16 | 32 | 64),
        bits => bits <= 16 || matches!(bits, 32 | 64),
    }
}

/// The type of a pointer: `T.handle("float32", "global")`; without an element type, an opaque handle.
pub(crate) fn pointer(element: Option<DType>, scope: &str) -> PrimType {
    match element {
        None if scope == "global" => PrimType::Scalar(DType::HANDLE),
        Some(t) if t.is_void() => PrimType::Pointer(None, Name::from(scope)),
        element => PrimType::Pointer(element, Name::from(scope)),
    }
}

/// Returns true if the dtype is valid for loop bounds, axes and indices: pointers and floats are not.
pub(crate) fn is_index_dtype(dtype: DType) -> bool {
    dtype.is_integer() || dtype.is_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_t_are_dtypes_only_when_they_look_so() {
        assert_eq!(of_name("int8x4"), Some(DType::INT8.with_lanes(4)));
        assert_eq!(of_name("f16"), Some(DType::FLOAT16));
        assert_eq!(of_name("float8_e4m3fn"), Some(DType::FLOAT8_E4M3FN));
        for name in ["handle", "handle4", "handlex2", "floor", "int", "if_then_else", "fma"] {
            assert_eq!(of_name(name), None, "{name}");
        }
    }
}
