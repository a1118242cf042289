//! Layout transformation by an index map.
//!
//! The kernel is a gather: it inverts the map and reads, for each index of the result, the element mapped to it. Maps
//! that split axes (`i // 4, i % 4`), fuse them (`i * 4 + j`) and reorder them are inverted; others are rejected.

use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized},
    op::{AttrKind, NONE, Op},
    precision::Precision,
    rules::Inferred,
};
use hammock_ir::{
    AttrValue, PrimExpr, TensorShape, TensorType, count,
    prim::{BinaryOp, IndexMap, PrimKind, Substitution, Var},
    relax::InferError,
};

/// `layout_transform`
pub fn layout_transform() -> Op {
    Op::new("layout_transform")
        .doc(
            "Moves each element to the index that an index map gives; the result has the minimum size, padded with `pad_value`.",
        )
        .example("x: float32[4, 6]", "x, index_map=lambda i, j: (j, i)")
        .tensor("x")
        .required("index_map", AttrKind::IndexMap)
        .attr("pad_value", AttrKind::Any, NONE)
        .precision(Precision::Follow)
        .infer(layout_type)
        .legalize(layout_tir)
}

fn index_map<'a>(cx: &CallContext<'a>, ndim: usize) -> Result<&'a IndexMap, InferError> {
    let AttrValue::IndexMap(map) = cx.attr("index_map")? else {
        return Err(cx.error_at("index_map", "`index_map` must be an index map"));
    };
    let takes = map.params.len();
    if ndim != takes {
        return Err(cx.error_at(
            "index_map",
            format_args!("`index_map` takes {}, but `x` has {}", count(takes, "index"), count(ndim, "dimension")),
        ));
    }
    Ok(map)
}

fn layout_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    let Some(ndim) = x.ndim() else { return Ok(x.into()) };
    let map = index_map(cx, ndim)?;
    let shape = x.dims().and_then(|dims| mapped_shape(map, dims));
    let shape = shape.map_or(TensorShape::Rank(map.results.len()), |s| TensorShape::Known(s.into()));
    Ok(TensorType { shape, ..x }.into())
}

/// The shape that contains every mapped index, rounded up to whole groups: an axis of remainders covers all remainders,
/// one of multiples whole strides.
pub fn mapped_shape(map: &IndexMap, shape: &[PrimExpr]) -> Option<Vec<PrimExpr>> {
    let extents: Vec<(&Var, &PrimExpr)> = map.params.iter().zip(shape).collect();
    map.results.iter().map(|r| whole_extent(r, &extents)).collect()
}

/// The extent of an axis.
fn whole_extent(e: &PrimExpr, params: &[(&Var, &PrimExpr)]) -> Option<PrimExpr> {
    match e.kind() {
        PrimKind::Cast(e) => whole_extent(e, params),
        PrimKind::Binary(BinaryOp::Mul, a, b) if part(a, params).is_some() => {
            Some(dims::mul(&extent(a, params)?, &divisor(b)?))
        }
        _ => extent(e, params),
    }
}

/// Exclusive upper bound of an expression over indices that begin at zero, rounded up to a whole group for a part of an
/// index.
fn extent(e: &PrimExpr, params: &[(&Var, &PrimExpr)]) -> Option<PrimExpr> {
    let one = PrimExpr::int64(1);
    match e.kind() {
        PrimKind::Int(v) => Some(PrimExpr::int64(v + 1)),
        PrimKind::Var(v) => params.iter().find(|(p, _)| *p == v).map(|(_, d)| (*d).clone()),
        PrimKind::Cast(e) => extent(e, params),
        PrimKind::Binary(BinaryOp::FloorMod, a, b) if part(a, params).is_some() => divisor(b),
        PrimKind::Binary(op, a, b) => {
            let a = extent(a, params)?;
            match op {
                BinaryOp::Add => Some(dims::sub(&dims::add(&a, &extent(b, params)?), &one)),
                BinaryOp::Mul => Some(dims::add(&dims::mul(&dims::sub(&a, &one), &divisor(b)?), &one)),
                BinaryOp::FloorDiv => Some(dims::ceildiv(&a, &divisor(b)?)),
                BinaryOp::FloorMod => {
                    let b = divisor(b)?;
                    Some(if a.as_int().is_some() { dims::min(&a, &b) } else { b })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn divisor(e: &PrimExpr) -> Option<PrimExpr> {
    e.as_int().filter(|v| *v > 0).map(PrimExpr::int64)
}

fn layout_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "te_layout_transform")?;
    let x = b.input("x")?;
    let map = index_map(cx, x.ndim())?;
    let out = b.output("te_layout_transform")?;
    let pad = match cx.attr("pad_value")?.as_float() {
        Some(v) => PrimExpr::constant(v, out.dtype),
        None => PrimExpr::constant(0.0, out.dtype),
    };
    let unsupported =
        || cx.error_at("index_map", "`index_map` can be compiled only where it splits, joins or reorders axes");
    let exact = dims::equal(&dims::product(x.shape()), &dims::product(&out.shape)) == Some(true);
    let mut inverse = None;
    b.compute(&out, |i| {
        inverse = invert(map, x.shape(), i);
        let own = inverse.clone().unwrap_or_else(|| vec![0i64.into(); x.ndim()]);
        let inside = own.iter().zip(x.shape()).map(|(i, d)| i.clone().lt(d)).reduce(PrimExpr::and);
        match inside.filter(|_| !exact) {
            Some(inside) => inside.if_then_else(x.at(&own), pad),
            None => x.at(&own),
        }
    });
    inverse.map(|_| b.finish()).ok_or_else(unsupported)
}

/// A part of an index: `index // over % extent`.
struct IndexPart {
    param: Var,
    over: i64,
    extent: PrimExpr,
    /// True if it is the most significant part of the index.
    is_last: bool,
}

/// The inverse map from indices of the [`mapped_shape`], and whether it is a bijection: otherwise the result is padded.
/// `None` if the map is not a combination of parts of indices.
pub fn inverse(map: &IndexMap, shape: &[PrimExpr]) -> Option<(IndexMap, bool)> {
    let moved = mapped_shape(map, shape)?;
    let params: Vec<Var> = (0..map.results.len()).map(|axis| Var::int64(format!("axis{axis}"))).collect();
    let results = invert(map, shape, &params.iter().map(Var::expr).collect::<Vec<_>>())?;
    let is_full = dims::equal(&dims::product(shape), &dims::product(&moved)) == Some(true);
    Some((IndexMap { params, results, inverse: None }, is_full))
}

/// The indices that are mapped to `to`; `None` if the map is not a combination of parts of indices.
fn invert(map: &IndexMap, shape: &[PrimExpr], to: &[PrimExpr]) -> Option<Vec<PrimExpr>> {
    if let Some(inverse) = &map.inverse {
        let values: Substitution = inverse.params.iter().cloned().zip(to.iter().cloned()).collect();
        return Some(inverse.results.iter().map(|r| r.substitute(&values).cast(hammock_ir::DType::INT64)).collect());
    }
    let params: Vec<(&Var, &PrimExpr)> = map.params.iter().zip(shape).collect();
    let mut known: Vec<(IndexPart, PrimExpr)> = Vec::new();
    for (result, value) in map.results.iter().zip(to) {
        let mut terms = Vec::new();
        collect_terms(result, 1, &params, &mut terms)?;
        known.extend(split_parts(terms, value)?);
    }
    map.params.iter().map(|p| join_parts(p, &known)).collect()
}

/// Collects the summands of `part * factor + …`.
fn collect_terms(
    e: &PrimExpr,
    factor: i64,
    params: &[(&Var, &PrimExpr)],
    to: &mut Vec<(i64, IndexPart)>,
) -> Option<()> {
    match e.kind() {
        PrimKind::Binary(BinaryOp::Add, a, b) => {
            collect_terms(a, factor, params, to)?;
            collect_terms(b, factor, params, to)
        }
        PrimKind::Binary(BinaryOp::Mul, a, b) => collect_terms(a, factor * b.as_int()?, params, to),
        PrimKind::Int(0) => Some(()),
        _ => {
            to.push((factor, part(e, params)?));
            Some(())
        }
    }
}

fn part(e: &PrimExpr, params: &[(&Var, &PrimExpr)]) -> Option<IndexPart> {
    match e.kind() {
        PrimKind::Var(v) => {
            let extent = params.iter().find(|(p, _)| *p == v)?.1.clone();
            Some(IndexPart { param: v.clone(), over: 1, extent, is_last: true })
        }
        PrimKind::Cast(e) => part(e, params),
        PrimKind::Binary(BinaryOp::FloorDiv, a, b) => {
            let (inner, by) = (part(a, params)?, divisor(b)?);
            let over = inner.over.checked_mul(by.as_int()?)?;
            Some(IndexPart { over, extent: dims::ceildiv(&inner.extent, &by), ..inner })
        }
        PrimKind::Binary(BinaryOp::FloorMod, a, b) => {
            let (inner, by) = (part(a, params)?, divisor(b)?);
            let is_whole = matches!((inner.extent.as_int(), by.as_int()), (Some(n), Some(by)) if n <= by);
            Some(IndexPart { extent: by, is_last: inner.is_last && is_whole, ..inner })
        }
        _ => None,
    }
}

/// The value of each part of a sum, from the largest factor down; each factor must be the next smaller one times its
/// extent.
fn split_parts(mut terms: Vec<(i64, IndexPart)>, value: &PrimExpr) -> Option<Vec<(IndexPart, PrimExpr)>> {
    terms.sort_by_key(|(factor, _)| std::cmp::Reverse(*factor));
    let chained = |w: &[(i64, IndexPart)]| Some(w[0].0) == w[1].1.extent.as_int().map(|e| e * w[1].0);
    if !terms.windows(2).all(chained) || terms.last().is_some_and(|(factor, _)| *factor != 1) {
        return None;
    }
    let mut first = true;
    let part = |(factor, part): (i64, IndexPart)| {
        let quotient = dims::floordiv(value, &factor.into());
        let value = if std::mem::take(&mut first) { quotient } else { quotient.floormod(part.extent.clone()) };
        (part, value)
    };
    Some(terms.into_iter().map(part).collect())
}

/// Rebuilds an index from its parts, which must be adjacent, without gaps or overlap.
fn join_parts(param: &Var, known: &[(IndexPart, PrimExpr)]) -> Option<PrimExpr> {
    let mut parts: Vec<_> = known.iter().filter(|(part, _)| part.param == *param).collect();
    parts.sort_by_key(|(part, _)| part.over);
    let mut expected = Some(1);
    let mut is_whole = false;
    for (part, _) in &parts {
        if expected != Some(part.over) {
            return None;
        }
        expected = part.extent.as_int().map(|e| e * part.over);
        is_whole |= part.is_last;
    }
    let terms = parts.iter().rev().map(|(part, value)| dims::mul(value, &part.over.into()));
    is_whole.then(|| terms.fold(PrimExpr::int64(0), |sum, term| dims::add(&sum, &term)))
}
