//! Cases of the type rules.

use crate::notation::{
    A,
    A::{B, D, F, L, Of, P, Ps, Rank, S, SRank, Scalar, T},
    Case,
};
use hammock_ir::{AttrValue, DType};

const F32: &str = "float32";
const I64: &str = "int64";

fn case(op: &'static str, args: impl IntoIterator<Item = A>) -> Case {
    Case(op, args.into_iter().collect(), Vec::new())
}

impl Case {
    fn with(mut self, name: &'static str, value: impl Into<AttrValue>) -> Self {
        self.2.push((name, value.into()));
        self
    }
}

fn list(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

pub fn elementwise() -> Vec<Case> {
    vec![
        case("exp", [T("n 4", F32)]),
        case("exp", [Rank(2, "float16")]),
        case("exp", [Of("")]),
        case("exp", [T("4", I64)]),
        case("exp", [S("4")]),
        case("isnan", [T("n", F32)]),
        case("add", [T("n 4", F32), T("4", F32)]),
        case("add", [T("n 1", F32), T("1 m", F32)]),
        case("add", [T("n", F32), T("m", F32)]),
        case("add", [T("n*2", F32), T("2*n", F32)]),
        case("add", [T("n", F32), T("n+1", F32)]),
        case("add", [T("n 8", F32), T("4", F32)]),
        case("add", [T("4", F32), T("4", I64)]),
        case("add", [T("4", F32), Rank(3, F32)]),
        case("add", [Rank(2, F32), Of("")]),
        case("add", [T("4", F32), P("2")]),
        case("add", [Ps("1 2"), T("4", F32)]),
        case("multiply", [T("4", I64), F(0.5)]),
        case("less", [T("n 4", I64), T("1 4", I64)]),
        case("logical_and", [T("4", "bool"), T("4", "bool")]),
        case("where", [T("n 1", "bool"), T("4", F32), T("", F32)]),
        case("where", [T("n", F32), T("n", F32), T("n", F32)]),
        case("where", [T("2", "bool"), T("3", F32), T("3", F32)]),
        case("clip", [T("n", F32), P("0"), P("6")]),
        case("clip", [T("n", F32), P("0"), T("n", F32)]),
        case("ewise_fma", [T("n", F32), T("n", F32), T("n", F32)]),
        case("ewise_fma", [T("n", F32), T("n 1", F32), T("n", F32)]),
    ]
}

pub fn creation() -> Vec<Case> {
    vec![
        case("astype", [T("n 4", F32)]).with("dtype", DType::INT8),
        case("full", [S("n 2"), T("", F32)]),
        case("full", [S("n 2"), P("1")]).with("dtype", DType::INT32),
        case("full", [SRank(2), T("", F32)]),
        case("full", [S("2"), T("2", F32)]),
        case("full_like", [T("n", F32), T("", I64)]),
        case("zeros", [S("n+1 n")]).with("dtype", DType::FLOAT16),
        case("ones_like", [Rank(3, F32)]).with("dtype", DType::BOOL),
        case("eye", [P("n")]),
        case("eye", [P("3"), P("n"), P("1")]).with("dtype", DType::INT32),
        case("eye_like", [T("2 3", F32)]),
        case("eye_like", [T("2", F32)]),
        case("arange", [P("n")]),
        case("arange", [Scalar("n")]),
        case("arange", [P("1"), P("n"), P("2")]).with("dtype", DType::FLOAT32),
        case("arange", [P("10"), P("0"), P("-3")]),
        case("arange", [P("n"), P("0"), P("-2")]),
        case("arange", [P("5"), P("2")]),
        case("arange", [F(0.5), P("3")]),
        case("arange", [P("0"), P("3"), P("0")]),
        case("tril", [T("2 n n", F32), P("1")]),
        case("tril", [T("n", F32)]),
        case("hamming_window", [P("20"), B(true), F(0.5), F(0.25)]).with("dtype", DType::FLOAT32),
        case("hamming_window", [P("0"), B(true), F(0.5), F(0.25)]).with("dtype", DType::FLOAT32),
        case("one_hot", [T("n 2", I64), F(1.0), F(0.0)]).with("depth", 5i64),
        case("one_hot", [T("n 2", I64), F(1.0), F(0.0)]).with("depth", 5i64).with("axis", 0i64),
        case("one_hot", [T("n", I64), F(1.0), P("0")]).with("depth", 5i64),
        case("one_hot", [T("n", F32), F(1.0), F(0.0)]).with("depth", 5i64),
        case("one_hot", [T("n", I64), F(1.0), F(0.0)]).with("depth", 0i64),
        case("meshgrid", [L(vec![T("n", F32), T("4", F32)])]),
        case("meshgrid", [L(vec![T("n", F32), T("4", F32)])]).with("indexing", "xy"),
        case("meshgrid", [L(vec![T("n", F32), T("4", F32)])]).with("indexing", "yx"),
        case("meshgrid", [L(vec![T("n 2", F32), T("4", F32)])]),
        case("wrap_param", [T("n", "float16")]),
    ]
}

pub fn products() -> Vec<Case> {
    vec![
        case("matmul", [T("n 4", F32), T("4 8", F32)]),
        case("matmul", [T("b n 4", F32), T("4 8", F32)]),
        case("matmul", [T("b 1 n 4", F32), T("h 4 8", F32)]),
        case("matmul", [T("4", F32), T("b 4 8", F32)]),
        case("matmul", [T("b n 4", F32), T("4", F32)]),
        case("matmul", [T("4", F32), T("4", F32)]),
        case("matmul", [T("n m", F32), T("k 8", F32)]),
        case("matmul", [T("a 2 3", F32), T("b 3 4", F32)]),
        case("matmul", [Rank(3, F32), T("4 8", F32)]),
        case("matmul", [Of(F32), T("4 8", F32)]),
        case("matmul", [T("n 4", "float16"), T("4 8", "float16")]).with("out_dtype", DType::FLOAT32),
        case("matmul", [T("n 4", F32), T("5 8", F32)]),
        case("matmul", [T("n n+1", F32), T("n 8", F32)]),
        case("matmul", [T("n 4", F32), T("5", F32)]),
        case("matmul", [T("2 3 4", F32), T("5 4 8", F32)]),
        case("matmul", [T("", F32), T("4", F32)]),
        case("matmul", [T("n 4", F32), T("4 8", "float16")]),
        case("linear", [T("n 4", F32), T("8 4", F32), T("8", F32)]),
        case("linear", [T("n 4", F32), T("8 4", F32)]),
        case("linear", [T("n 4", F32), T("4 8", F32)]),
        case("outer", [T("n", F32), T("4", F32)]),
        case("outer", [T("n 1", F32), T("4", F32)]),
        case("einsum", [L(vec![T("n 4", F32), T("m 4", F32)])]).with("subscripts", "ij,kj->ik"),
        case("einsum", [L(vec![T("b n 4", F32), T("4 5", F32)])]).with("subscripts", "...ij,jk"),
        case("einsum", [L(vec![T("n n", F32)])]).with("subscripts", "ii"),
        case("einsum", [L(vec![T("n 4", F32), T("5 m", F32)])]).with("subscripts", "ij,jk"),
        case("einsum", [L(vec![T("n 4", F32)])]).with("subscripts", "ijk->i"),
        case("einsum", [L(vec![T("n 4", F32)])]).with("subscripts", "ij->ik"),
        case("einsum", [L(vec![T("n 4", F32)])]).with("subscripts", "i1"),
        case("einsum", [L(vec![T("n 4", F32)])]).with("subscripts", "ij,jk"),
        case("einsum", [L(vec![Rank(2, F32), T("4 m", F32)])]).with("subscripts", "ij,jk"),
    ]
}

pub fn shapes() -> Vec<Case> {
    vec![
        case("permute_dims", [T("2 n 4", F32)]),
        case("permute_dims", [T("2 n 4", F32)]).with("axes", list(&[0, -1, 1])),
        case("permute_dims", [Rank(3, F32)]).with("axes", list(&[2, 1, 0])),
        case("permute_dims", [T("2 n 4", F32)]).with("axes", list(&[0, 1])),
        case("permute_dims", [T("2 n 4", F32)]).with("axes", list(&[0, 0, 1])),
        case("permute_dims", [T("2 n 4", F32)]).with("axes", list(&[0, 1, 3])),
        case("expand_dims", [T("n 4", F32)]).with("axis", list(&[0, -1])),
        case("expand_dims", [T("n 4", F32)]).with("axis", list(&[3])),
        case("squeeze", [T("1 n 1", F32)]).with("axis", list(&[0, -1])),
        case("squeeze", [T("1 4 1", F32)]),
        case("squeeze", [T("1 n 1", F32)]),
        case("squeeze", [T("n 4", F32)]).with("axis", list(&[0, 1])),
        case("squeeze", [Rank(3, F32)]).with("axis", list(&[0])),
        case("flatten", [T("n 4 m", F32)]),
        case("flatten", [T("", F32)]),
        case("reshape", [T("n 4", F32), S("2 n*2")]),
        case("reshape", [T("n 4", F32), S("-1")]),
        case("reshape", [T("n 4", F32), S("-1 2")]),
        case("reshape", [T("2 n 4", F32), S("0 -1")]),
        case("reshape", [T("b n 6", F32), S("b n 2 -1")]),
        case("reshape", [T("n 4", F32), SRank(3)]),
        case("reshape", [T("n 4", F32), S("n 5")]),
        case("reshape", [T("6", F32), S("4 -1")]),
        case("reshape", [T("6", F32), S("-1 -1")]),
        case("reshape", [Rank(2, F32), S("-1")]),
        case("reshape", [Rank(2, F32), S("n 2")]),
        case("broadcast_to", [T("n 1", F32), S("2 n m")]),
        case("broadcast_to", [T("3", F32), S("2")]),
        case("broadcast_to", [T("2 3", F32), S("3")]),
        case("collapse_sum_to", [T("2 n 4", F32), S("n 1")]),
        case("collapse_sum_to", [T("2 4", F32), S("3")]),
        case("collapse_sum_like", [T("n 4", F32), T("4", F32)]),
    ]
}

pub fn joins() -> Vec<Case> {
    let pair = |a, b| [L(vec![T(a, F32), T(b, F32)])];
    vec![
        case("concat", pair("n 4", "m 4")),
        case("concat", pair("n 4", "n 2")).with("axis", -1i64),
        case("concat", pair("n", "m")).with("axis", AttrValue::None),
        case("concat", pair("2 4", "3 5")),
        case("concat", pair("2 4", "3")),
        case("concat", pair("2 4", "2 4")).with("axis", 2i64),
        case("concat", [L(vec![T("2", F32), T("2", I64)])]),
        case("concat", [L(vec![T("2 n", F32), Rank(2, F32)])]),
        case("concat", [L(vec![])]),
        case("concat", [T("2", F32)]),
        case("stack", pair("n 4", "n 4")).with("axis", 1i64),
        case("stack", pair("3 4", "2 4")),
        case("split", [T("n 6", F32)]).with("indices_or_sections", 3i64).with("axis", 1i64),
        case("split", [T("n 7", F32)]).with("indices_or_sections", 3i64).with("axis", 1i64),
        case("split", [T("n 4", F32)]).with("indices_or_sections", 2i64),
        case("split", [T("n 7", F32)]).with("indices_or_sections", list(&[2, 5])).with("axis", -1i64),
        case("split", [T("n 4", F32)]).with("indices_or_sections", list(&[1, 3])),
        case("split", [Rank(2, F32)]).with("indices_or_sections", 2i64),
        case("split", [T("n 4", F32)]).with("indices_or_sections", 0i64),
        case("split", [T("n 4", F32)]).with("indices_or_sections", i64::MAX),
        case("repeat", [T("n 4", F32)]).with("repeats", 2i64).with("axis", 0i64),
        case("repeat", [T("n 4", F32)]).with("repeats", 2i64),
        case("repeat", [T("n 4", F32)]).with("repeats", 0i64),
        case("tile", [T("n 4", F32)]).with("repeats", list(&[2, 1, 3])),
        case("tile", [T("n 4", F32)]).with("repeats", list(&[3])),
        case("flip", [T("n 4", F32)]).with("axis", 2i64),
        case("reverse_sequence", [T("n 4", F32), T("n", I64)]),
        case("reverse_sequence", [T("3 4", F32), T("4", I64)]),
    ]
}

pub fn indexing() -> Vec<Case> {
    let slice = |a, b, e| case("strided_slice", [T("n 4", F32), Ps(a), Ps(b), Ps(e)]);
    vec![
        case("take", [T("n 4", F32), T("b 2", I64)]).with("axis", 1i64),
        case("take", [T("n", F32), P("0")]),
        case("take", [T("n 4", F32), P("-4")]).with("axis", 1i64),
        case("take", [T("n 4", F32), P("4")]).with("axis", 1i64),
        case("take", [T("n 4", F32), T("2", I64)]),
        case("take", [T("n", F32), T("2", F32)]),
        case("take", [T("n", F32), T("2", I64)]).with("mode", "raise"),
        slice("0", "1", "n"),
        slice("0", "0", "n-1"),
        slice("0", "-2", "-1"),
        slice("1", "1", "9223372036854775807"),
        slice("0 1", "m 0", "m+1 2"),
        slice("0", "m", "m+1").with("assume_inbound", true),
        slice("1", "3", "1"),
        slice("2", "0", "1"),
        slice("0 0", "0 0", "1 1"),
        slice("0", "0 1", "1"),
        case("strided_slice", [T("n 10", F32), Ps("1"), Ps("-1"), Ps("-100"), Ps("-3")]),
        case("strided_slice", [T("n 10", F32), Ps("0"), Ps("0"), Ps("n"), Ps("2")]),
        case("strided_slice", [T("n 10", F32), Ps("0"), Ps("0"), Ps("n"), Ps("0")]),
        case("strided_slice", [Rank(2, F32), Ps("0"), Ps("0"), Ps("1")]),
        case("dynamic_strided_slice", [T("n 4", F32), T("2", I64), T("2", I64), T("2", I64)]),
        case("dynamic_strided_slice", [T("n 4", F32), T("3", I64), T("2", I64), T("2", I64)]),
        case("gather_elements", [T("n 4", F32), T("n 2", I64)]).with("axis", 1i64),
        case("gather_elements", [T("3 4", F32), T("4 2", I64)]).with("axis", 1i64),
        case("gather_nd", [T("n 4 5", F32), T("b 2", I64)]),
        case("gather_nd", [T("n 4 5", F32), T("n 7 1", I64)]).with("batch_dims", 1i64),
        case("gather_nd", [T("n 4", F32), T("b 3", I64)]),
        case("gather_nd", [T("n 4", F32), T("b k", I64)]),
        case("index_tensor", [T("n 4 5", F32), L(vec![T("2 1", I64), T("3", I64)])]),
        case("index_tensor", [T("n 4", F32), L(vec![T("2", I64), T("3", I64)])]),
        case("index_tensor", [T("n", F32), L(vec![T("2", I64), T("2", I64)])]),
        case("index_put", [T("n 4", F32), L(vec![T("2", I64)]), T("4", F32)]),
        case("index_put", [T("n 4", F32), L(vec![T("2", I64)]), T("4", I64)]),
        case("scatter_elements", [T("n 4", F32), T("2 4", I64), T("2 4", F32)]).with("reduction", "add"),
        case("scatter_elements", [T("n 4", F32), T("2 4", I64), T("2 3", F32)]),
        case("scatter_elements", [T("n 4", F32), T("2 4", I64), T("2 4", F32)]).with("reduction", "sum"),
        case("scatter_nd", [T("n 4", F32), T("b 1", I64), T("b 4", F32)]),
        case("scatter_nd", [T("n 4", F32), T("b 1", I64), T("b", F32)]),
        case("slice_scatter", [T("n 4", F32), T("2 4", F32), P("0"), P("2"), P("1")]),
        case("slice_scatter", [T("n 4", F32), T("2 5", F32), P("0"), P("2"), P("1")]),
    ]
}

pub fn reductions() -> Vec<Case> {
    vec![
        case("sum", [T("n 4 m", F32)]),
        case("sum", [T("n 4 m", F32)]).with("axis", list(&[-1, 0])),
        case("sum", [T("n 4 m", F32)]).with("axis", list(&[1])).with("keepdims", true),
        case("sum", [T("n 4", F32)]).with("axis", list(&[])),
        case("sum", [Rank(3, F32)]).with("axis", list(&[1])),
        case("sum", [Of(F32)]).with("axis", list(&[1])),
        case("sum", [Of(F32)]),
        case("sum", [T("n 4", F32)]).with("axis", list(&[2])),
        case("sum", [T("n 4", F32)]).with("axis", list(&[1, -1])),
        case("mean", [T("n 4", F32)]).with("axis", list(&[1])),
        case("argmax", [T("n 4", F32)]).with("axis", -1i64),
        case("argmax", [T("n 4", F32)]),
        case("argmin", [T("n 4", F32)]).with("axis", 5i64),
        case("median", [T("n 4", F32)]).with("axis", list(&[0])),
        case("median", [T("n 4", F32)]),
        case("median", [T("n 4", F32)]).with("axis", list(&[0, 1])),
        case("size", [T("n 4", F32)]),
        case("cumsum", [T("n 4", F32)]),
        case("cumsum", [T("n 4", "bool")]).with("axis", 0i64).with("dtype", DType::INT32),
        case("cumprod", [T("n 4", F32)]).with("axis", 2i64),
        case("multinomial_from_uniform", [T("b 10", F32), T("n 1", F32), T("n 1", I64)]),
        case("multinomial_from_uniform", [T("b 10", F32), T("3 1", F32), T("2 1", I64)]),
    ]
}

pub fn sorting() -> Vec<Case> {
    vec![
        case("sort", [T("n 4", F32)]),
        case("sort", [T("n 4", F32)]).with("axis", 2i64),
        case("argsort", [T("n 4", F32)]).with("dtype", DType::INT64),
        case("topk", [T("n 40", F32)]).with("k", 5i64),
        case("topk", [T("n 40", F32)]).with("k", 5i64).with("axis", 0i64).with("ret_type", "values"),
        case("topk", [T("n 40", F32)]).with("k", 0i64).with("ret_type", "indices"),
        case("topk", [T("n 4", F32)]).with("k", 5i64),
        case("topk", [T("n 4", F32)]).with("ret_type", "all"),
        case("bucketize", [T("n 4", F32), T("m", F32)]),
        case("bucketize", [T("n 4", F32), T("m 2", F32)]),
        case("unique", [T("n 4", F32)]),
        case("unique", [T("n 4", F32), B(true), B(true), B(false), B(true), P("0")]),
        case("unique", [T("n 4", F32), B(true), B(true), B(false), B(true), P("3")]),
        case("nonzero", [T("n 4", F32)]),
    ]
}

pub fn sequences() -> Vec<Case> {
    let pair = || L(vec![T("n", F32), T("3 m", I64)]);
    vec![
        case("sequence_construct", [T("n", F32), T("m", F32)]),
        case("sequence_insert", [pair(), T("n", F32)]),
        case("sequence_insert", [pair(), T("n", F32), T("", I64)]),
        case("sequence_insert", [pair(), T("n", F32), T("", F32)]),
        case("sequence_insert", [T("n", F32), T("n", F32)]),
        case("sequence_erase", [pair(), P("-1")]),
        case("sequence_erase", [S("n"), P("-1")]),
        case("sequence_at", [pair(), P("-1")]),
        case("sequence_at", [pair(), T("1", I64)]),
        case("sequence_at", [pair(), P("2")]),
        case("sequence_length", [pair()]),
        case("sequence_concat", [pair(), P("0")]),
        case("sequence_concat", [pair(), P("2"), B(true), D(DType::FLOAT32), S("3 m")]),
        case("sequence_concat", [pair(), P("2"), B(false), D(DType::FLOAT32), S("3 m")]),
        case("sequence_split", [T("n 4", F32)]),
        case("sequence_split", [T("n 4", F32), P("1"), B(true), T("", I64)]),
        case("sequence_split", [T("n 4", F32), P("1"), B(true), T("2", F32)]),
        case("sequence_split", [T("n 4", F32), P("2")]),
    ]
}
