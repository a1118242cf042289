//! Metadata sections with an entry of every kind, in the current format and that of versions before 0.21.

/// 0.25, a float32 of shape (1,).
const QUARTER: &str = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAACAPg==";

pub fn all() -> Vec<String> {
    let nodes = [
        r#"{"type": "ffi.Map", "data": [1, 2, 3, 4, 5, 6, 7, 8]}"#,
        r#"{"type": "ffi.String", "data": "ir.GenericConst"}"#,
        r#"{"type": "ffi.Array", "data": [9, 10]}"#,
        r#"{"type": "ffi.String", "data": "relax.expr.Constant"}"#,
        r#"{"type": "ffi.Array", "data": [9, 10]}"#,
        r#"{"type": "ffi.String", "data": "ir.StringImm"}"#,
        r#"{"type": "ffi.Array", "data": [12, 14, 15, 16, 17, 19]}"#,
        r#"{"type": "ffi.String", "data": "target"}"#,
        r#"{"type": "ffi.Array", "data": [20, 14]}"#,
        r#"{"type": "ir.GenericConst", "data": {"value": 11}}"#,
        r#"{"type": "relax.expr.Constant", "data": {"data": 11}}"#,
        &format!(r#"{{"type": "ffi.Tensor", "data": "{QUARTER}"}}"#),
        r#"{"type": "ir.StringImm", "data": {"value": 13}}"#,
        r#"{"type": "ffi.String", "data": "two\nlines"}"#,
        r#"{"type": "ir.IntImm", "data": {"ty": 18, "value": 7}}"#,
        r#"{"type": "float", "data": 1.5}"#,
        r#"{"type": "bool", "data": true}"#,
        r#"{"type": "int", "data": -3}"#,
        r#"{"type": "ir.PrimType", "data": {"dtype": "int64"}}"#,
        r#"{"type": "dtype", "data": "float32x4"}"#,
        r#"{"type": "target.Target", "data": {"kind": 13, "host": 18, "keys": [1, 2]}}"#,
    ];
    let legacy = [
        r#"{"type_key": ""}"#,
        r#"{"type_key": "Map", "keys": ["relax.expr.Constant", "ir.StringImm", "target"], "data": [2, 5, 7]}"#,
        r#"{"type_key": "Array", "data": [3, 4]}"#,
        r#"{"type_key": "relax.expr.Constant", "attrs": {"data": "0"}}"#,
        r#"{"type_key": "relax.expr.Constant", "attrs": {"data": "0"}}"#,
        r#"{"type_key": "Array", "data": ["6"]}"#,
        r#"{"type_key": "tir.StringImm", "attrs": {"value": "text"}}"#,
        r#"{"type_key": "Array", "data": [8]}"#,
        r#"{"type_key": "target.Target", "attrs": {"kind": "llvm"}}"#,
    ];
    vec![
        format!("{{\n  \"root_index\": 0,\n  \"nodes\": [\n    {}\n  ]\n}}", nodes.join(",\n    ")),
        format!(r#"{{"root": 1, "nodes": [{}], "b64ndarrays": ["{QUARTER}"]}}"#, legacy.join(", ")),
    ]
}
