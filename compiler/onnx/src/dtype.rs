//! Element types: ONNX's numbers for them.

use hammock_ir::DType;

/// ONNX's number for strings, which tensors of ours do not hold.
pub const STRING: i32 = 8;

/// The numbers of ONNX's `TensorProto.DataType`, with our dtypes.
const DTYPES: &[(i32, DType)] = &[
    (1, DType::FLOAT32),
    (2, DType::UINT8),
    (3, DType::INT8),
    (4, DType::UINT16),
    (5, DType::INT16),
    (6, DType::INT32),
    (7, DType::INT64),
    (9, DType::BOOL),
    (10, DType::FLOAT16),
    (11, DType::FLOAT64),
    (12, DType::UINT32),
    (13, DType::UINT64),
    (16, DType::BFLOAT16),
];

/// The dtype with that number; none for those that operators do not compute with: strings, complex numbers, floats of 8
/// bits and less, integers of 4 bits and less.
pub fn of(number: i64) -> Option<DType> {
    DTYPES.iter().find(|(n, _)| i64::from(*n) == number).map(|(_, dtype)| *dtype)
}

/// The name of a number, for messages.
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
