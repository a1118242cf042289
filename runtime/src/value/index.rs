//! tvm-ffi type indices: the possible values of the first word of an `Any` and of an object header.
#![allow(missing_docs, reason = "each name is tvm-ffi's, without `kTVMFFI`")]

pub const NONE: i32 = 0;
pub const INT: i32 = 1;
pub const BOOL: i32 = 2;
pub const FLOAT: i32 = 3;
pub const OPAQUE_PTR: i32 = 4;
pub const DATA_TYPE: i32 = 5;
pub const DEVICE: i32 = 6;
pub const DL_TENSOR_PTR: i32 = 7;
pub const RAW_STR: i32 = 8;
pub const BYTE_ARRAY_PTR: i32 = 9;
pub const OBJECT_RVALUE_REF: i32 = 10;
pub const SMALL_STR: i32 = 11;
pub const SMALL_BYTES: i32 = 12;
/// First index of heap objects.
pub const OBJECT_BEGIN: i32 = 64;
pub const OBJECT: i32 = 64;
pub const STR: i32 = 65;
pub const BYTES: i32 = 66;
pub const ERROR: i32 = 67;
pub const FUNCTION: i32 = 68;
pub const SHAPE: i32 = 69;
pub const TENSOR: i32 = 70;
pub const ARRAY: i32 = 71;
pub const MAP: i32 = 72;
pub const MODULE: i32 = 73;
/// First index that is assigned at run time.
pub const DYNAMIC_BEGIN: i32 = 128;

/// First index of Hammock's own kinds. tvm-ffi assigns run-time kinds from 128 upwards, so the two do not collide.
pub const OURS_BEGIN: i32 = 0x4841_4D00;
pub const STORAGE: i32 = OURS_BEGIN;
pub const CLOSURE: i32 = OURS_BEGIN + 1;
pub const OPAQUE: i32 = OURS_BEGIN + 2;
pub const ADT: i32 = OURS_BEGIN + 3;
/// Hammock's modules; those of tvm-ffi have a C++ implementation.
pub const OWN_MODULE: i32 = OURS_BEGIN + 4;

/// Name of a kind of values in messages.
pub fn name(index: i32) -> &'static str {
    match index {
        NONE => "None",
        INT => "int",
        BOOL => "bool",
        FLOAT => "float",
        OPAQUE_PTR => "handle",
        DATA_TYPE => "dtype",
        DEVICE => "Device",
        DL_TENSOR_PTR | TENSOR => "Tensor",
        RAW_STR | SMALL_STR | STR => "str",
        BYTE_ARRAY_PTR | SMALL_BYTES | BYTES => "bytes",
        ERROR => "Error",
        FUNCTION => "Function",
        SHAPE => "Shape",
        ARRAY => "Tuple",
        MAP => "Map",
        MODULE | OWN_MODULE => "Module",
        STORAGE => "Storage",
        CLOSURE => "Closure",
        ADT => "Adt",
        _ => "Object",
    }
}
