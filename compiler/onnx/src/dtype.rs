//! Element types: the codes of ONNX's `TensorProto.DataType`.

use hammock_ir::DType;
use hammock_tools::ElementType;

/// Code of strings, which our tensors cannot hold.
pub const STRING: i32 = 8;

/// Returns the dtype with this code, or `None` if operators cannot compute with it: strings, complex numbers, and
/// sub-byte types that are stored in wider ones.
pub fn of(number: i64) -> Option<DType> {
    ElementType::of(number).filter(|element| !element.is_narrow()).map(|element| element.held)
}

/// Returns the code of a name in `TensorProto.DataType`.
pub fn number(name: &str) -> Option<i64> {
    const NAMES: [&str; 16] = [
        "FLOAT",
        "UINT8",
        "INT8",
        "UINT16",
        "INT16",
        "INT32",
        "INT64",
        "STRING",
        "BOOL",
        "FLOAT16",
        "DOUBLE",
        "UINT32",
        "UINT64",
        "COMPLEX64",
        "COMPLEX128",
        "BFLOAT16",
    ];
    NAMES.iter().position(|own| *own == name).map(|at| at as i64 + 1)
}

/// Returns the name of a code, for messages.
pub fn name(number: i64) -> String {
    let other = match number {
        0 => "undefined",
        8 => "string",
        14 => "complex64",
        15 => "complex128",
        17 => "float8e4m3fn",
        18 => "float8e4m3fnuz",
        19 => "float8e5m2",
        20 => "float8e5m2fnuz",
        21 => "uint4",
        22 => "int4",
        23 => "float4e2m1",
        24 => "float8e8m0",
        25 => "uint2",
        26 => "int2",
        _ => return of(number).map_or(format!("number {number}"), |dtype| dtype.to_string()),
    };
    other.to_owned()
}
