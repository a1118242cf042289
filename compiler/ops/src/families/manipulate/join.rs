//! Concatenation, stacking and splitting.

use crate::{
    CallContext, dims,
    legalize::{Builder, Input},
    op::{AttrKind, Op, OperandKind},
    precision::Precision,
    relayout,
    rules::{Inferred, common_vdevice},
    text::{dim_text, shape_text},
};
use hammock_ir::{AttrValue, DType, PrimExpr, TensorShape, TensorType, Type, count, relax::InferError};

/// The operators of this file.
pub fn ops() -> Vec<Op> {
    vec![concat(), stack(), split()]
}

/// Common dtype and rank of the members of a list; `None` if unknown.
fn common(cx: &CallContext, tensors: &[TensorType]) -> Result<(Option<DType>, Option<usize>), InferError> {
    let Some(first) = tensors.first() else {
        return Err(cx.error_at("tensors", "`tensors` must not be empty"));
    };
    for (i, t) in tensors.iter().enumerate() {
        if let (Some(a), Some(b)) = (first.dtype, t.dtype)
            && a != b
        {
            return Err(cx.error_at("tensors", format_args!("`tensors[0]` is {a}, but `tensors[{i}]` is {b}")));
        }
        if let (Some(a), Some(b)) = (first.ndim(), t.ndim())
            && a != b
        {
            let text = format_args!("`tensors[0]` has {}, but `tensors[{i}]` has {b}", count(a, "dimension"));
            return Err(cx.error_at("tensors", text));
        }
    }
    let dtype = first.dtype.filter(|_| tensors.iter().all(|t| t.dtype.is_some()));
    Ok((dtype, tensors.iter().find_map(TensorType::ndim)))
}

/// Checks that members agree in every dimension but one.
fn check_others(cx: &CallContext, tensors: &[TensorType], but: Option<usize>) -> Result<(), InferError> {
    let known: Vec<(usize, &[PrimExpr])> =
        tensors.iter().enumerate().filter_map(|(i, t)| Some((i, t.dims()?))).collect();
    let Some(((first, a), others)) = known.split_first() else { return Ok(()) };
    for (i, b) in others {
        let wrong = |d: &usize| Some(*d) != but && dims::equal(&a[*d], &b[*d]) == Some(false);
        if let Some(axis) = (0..a.len()).find(wrong) {
            let (x, y) = (dim_text(&a[axis]), dim_text(&b[axis]));
            let (p, q) = (shape_text(&tensors[*first]), shape_text(&tensors[*i]));
            let text = format!(
                "`tensors[{first}]` of shape {p} and `tensors[{i}]` of shape {q} do not fit: axis {axis} is {x} \
                 against {y}"
            );
            return Err(cx.error_at("tensors", text));
        }
    }
    Ok(())
}

/// Maximum number of inputs among which each element of a result selects its own, so that the result is one stage,
/// which fuses. With more, each input is copied to its slice, since selecting among hundreds of inputs takes code for
/// each.
const MAX_SELECTED: usize = 64;

/// The same if vectors of the result span inputs: each vector then loads from all inputs, under masks.
const MAX_SELECTED_BY_LANE: usize = 16;

/// Number of float32 lanes of the widest vectors.
const LANES: i64 = 16;

/// Returns true if each element of a concatenation selects its own input.
fn selects_input(xs: &[Input], axis: usize) -> bool {
    let size = |x: &Input| x.shape()[axis].as_int();
    let inputs_end_inside = || xs.iter().rev().skip(1).any(|x| size(x).is_none_or(|size| size % LANES != 0));
    let is_contiguous = |x: &Input| x.shape()[axis + 1..].iter().all(|size| dims::is(size, 1));
    let lanes_choose = xs.len() > MAX_SELECTED_BY_LANE && xs.iter().all(is_contiguous) && inputs_end_inside();
    xs.len() <= MAX_SELECTED && !lanes_choose
}

fn concat() -> Op {
    Op::new("concat")
        .doc("Concatenates tensors along an axis; with `axis=None`, vectors.")
        .example("x: float32[2, 3]; y: float32[2, 1]", "(x, y), axis=1")
        .operand("tensors", OperandKind::Tensors)
        .attr("axis", AttrKind::OptionalInt, 0)
        .layouts(relayout::concatenation)
        .precision(Precision::Follow)
        .infer(concat_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "concatenate")?;
            let xs = b.inputs("tensors")?;
            let axis = join_axis(cx, xs.first().map_or(0, Input::ndim))?;
            let out = b.output("T_concat")?;
            for x in &xs {
                for other in (0..out.ndim()).filter(|d| *d != axis) {
                    let text = format!("`tensors` differ in axis {other}");
                    b.require_equal(&x.shape()[other], &out.shape[other], &text);
                }
            }
            if selects_input(&xs, axis) {
                b.compute(&out, |i| select_input(&xs, axis, i));
                return Ok(b.finish());
            }
            let mut begin = PrimExpr::int64(0);
            for x in &xs {
                let mut sizes = out.shape.to_vec();
                sizes[axis] = x.shape()[axis].clone();
                b.compute_slice(&out, axis, &begin, &sizes, |i| x.at(i));
                begin = dims::add(&begin, &sizes[axis]);
            }
            Ok(b.finish())
        })
}

fn join_axis(cx: &CallContext, ndim: usize) -> Result<usize, InferError> {
    match cx.optional_int("axis")? {
        Some(axis) => cx.normalize_axis("axis", axis, ndim),
        None if ndim == 1 => Ok(0),
        None => {
            Err(cx.error_at("axis", format_args!("`axis` must be given for tensors of {}", count(ndim, "dimension"))))
        }
    }
}

fn concat_type(cx: &CallContext) -> Inferred {
    let tensors = cx.tensors("tensors")?;
    let (dtype, ndim) = common(cx, &tensors)?;
    let vdevice = common_vdevice(cx, &tensors)?;
    let Some(ndim) = ndim else {
        return Ok(TensorType { shape: TensorShape::Unknown, dtype, vdevice }.into());
    };
    let axis = join_axis(cx, ndim)?;
    check_others(cx, &tensors, Some(axis))?;
    let shape = match tensors.iter().map(TensorType::dims).collect::<Option<Vec<_>>>() {
        Some(all) => {
            let mut dims = all[0].to_vec();
            dims[axis] = all.iter().fold(0i64.into(), |sum, d| dims::add(&sum, &d[axis]));
            TensorShape::Known(dims.into())
        }
        None => TensorShape::Rank(ndim),
    };
    Ok(TensorType { shape, dtype, vdevice }.into())
}

/// The element of the input whose range contains the index. Only one is read.
fn select_input(xs: &[Input], axis: usize, i: &[PrimExpr]) -> PrimExpr {
    let mut begin = PrimExpr::int64(0);
    let mut parts = Vec::new();
    for x in xs {
        let mut own = i.to_vec();
        own[axis] = dims::sub(&i[axis], &begin);
        parts.push((begin.clone(), x.at(&own)));
        begin = dims::add(&begin, &x.shape()[axis]);
    }
    search_input(&parts, &i[axis])
}

/// The element of the last input that begins at or before the index, by binary search.
fn search_input(parts: &[(PrimExpr, PrimExpr)], index: &PrimExpr) -> PrimExpr {
    match parts {
        [] => PrimExpr::int64(0),
        [(_, element)] => element.clone(),
        _ => {
            let (before, after) = parts.split_at(parts.len().div_ceil(2));
            let reached = after[0].0.clone().le(index.clone());
            reached.if_then_else(search_input(after, index), search_input(before, index))
        }
    }
}

fn stack() -> Op {
    Op::new("stack")
        .doc("Stacks tensors of the same shape along a new axis.")
        .example("x: float32[2, 3]; y: float32[2, 3]", "(x, y), axis=0")
        .operand("tensors", OperandKind::Tensors)
        .attr("axis", AttrKind::OptionalInt, 0)
        .layouts(relayout::stacked)
        .precision(Precision::Follow)
        .infer(|cx| {
            let tensors = cx.tensors("tensors")?;
            let (dtype, ndim) = common(cx, &tensors)?;
            let vdevice = common_vdevice(cx, &tensors)?;
            check_others(cx, &tensors, None)?;
            let Some(ndim) = ndim else {
                return Ok(TensorType { shape: TensorShape::Unknown, dtype, vdevice }.into());
            };
            let axis = cx.normalize_axis("axis", cx.optional_int("axis")?.unwrap_or(0), ndim + 1)?;
            let shape = match tensors.iter().find_map(TensorType::dims) {
                Some(dims) => {
                    let mut dims = dims.to_vec();
                    dims.insert(axis, (tensors.len() as i64).into());
                    TensorShape::Known(dims.into())
                }
                None => TensorShape::Rank(ndim + 1),
            };
            Ok(TensorType { shape, dtype, vdevice }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "stack")?;
            let xs = b.inputs("tensors")?;
            let out = b.output("T_stack")?;
            let axis = cx.normalize_axis("axis", cx.optional_int("axis")?.unwrap_or(0), out.ndim())?;
            for (x, first) in xs.iter().skip(1).zip(std::iter::repeat(&xs[0])) {
                x.shape()
                    .iter()
                    .zip(first.shape())
                    .for_each(|(a, c)| b.require_equal(a, c, "`tensors` differ in shape"));
            }
            b.compute(&out, |i| {
                let own = [&i[..axis], &i[axis + 1..]].concat();
                let element = |(n, x): (usize, &Input)| (PrimExpr::int64(n as i64), x.at(&own));
                search_input(&xs.iter().enumerate().map(element).collect::<Vec<_>>(), &i[axis])
            });
            Ok(b.finish())
        })
}

/// Maximum number of sections of a split: each is a separate value in the program.
const MAX_SECTIONS: i64 = 1 << 16;

fn split() -> Op {
    Op::new("split")
        .doc("Splits a tensor along an axis into a number of sections (the last may be shorter) or at indices.")
        .example("x: float32[2, 6]", "x, 3, axis=1")
        .tensor("x")
        .required("indices_or_sections", AttrKind::Any)
        .attr("axis", AttrKind::Int, 0)
        .layouts(relayout::parts)
        .precision(Precision::Follow)
        .infer(split_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "split")?;
            let x = b.input("x")?;
            let axis = cx.axis("axis", x.ndim())?;
            let mut begin = PrimExpr::int64(0);
            for (begin_at, _) in sections(cx, &x.shape()[axis])? {
                begin = begin_at.unwrap_or(begin);
                let out = b.output("T_split")?;
                let next = dims::add(&begin, &out.shape[axis]);
                b.compute(&out, |i| {
                    let mut own = i.to_vec();
                    own[axis] = dims::add(&i[axis], &begin);
                    x.at(&own)
                });
                begin = next;
            }
            Ok(b.finish())
        })
}

fn split_type(cx: &CallContext) -> Inferred {
    let x = cx.tensor("x")?;
    let part = |shape| Type::from(TensorType { shape, ..x.clone() });
    let Some(dims) = x.dims() else {
        if let Some(ndim) = x.ndim() {
            cx.axis("axis", ndim)?;
        }
        let count = sections(cx, &PrimExpr::int64(0))?.len();
        let shape = x.ndim().map_or(TensorShape::Unknown, TensorShape::Rank);
        return Ok(Type::Tuple(vec![part(shape); count]));
    };
    let axis = cx.axis("axis", dims.len())?;
    let sized = |(_, size)| {
        let mut dims = dims.to_vec();
        dims[axis] = size;
        part(TensorShape::Known(dims.into()))
    };
    Ok(Type::Tuple(sections(cx, &dims[axis])?.into_iter().map(sized).collect()))
}

/// Begin (`None` for the end of the section before) and size of each section of an axis.
fn sections(cx: &CallContext, extent: &PrimExpr) -> Result<Vec<(Option<PrimExpr>, PrimExpr)>, InferError> {
    let zero = PrimExpr::int64(0);
    match cx.attr("indices_or_sections")? {
        AttrValue::List(_) | AttrValue::Tuple(_) => {
            let ends = cx.ints("indices_or_sections")?;
            let clamped = |v: &i64| dims::min(&PrimExpr::int64((*v).max(0)), extent);
            let begins = std::iter::once(zero.clone()).chain(ends.iter().map(clamped));
            let ends = ends.iter().map(clamped).chain([extent.clone()]);
            let size = |(begin, end): (PrimExpr, PrimExpr)| {
                let size = dims::max(&dims::sub(&end, &begin), &zero);
                (Some(begin), size)
            };
            Ok(begins.zip(ends).map(size).collect())
        }
        _ => {
            let count = cx.int("indices_or_sections")?;
            if count <= 0 {
                return Err(cx.error_at(
                    "indices_or_sections",
                    format_args!("`indices_or_sections` must be positive, not {count}"),
                ));
            }
            if count > MAX_SECTIONS {
                return Err(cx.error_at(
                    "indices_or_sections",
                    format_args!("`indices_or_sections` asks for {count} parts; {MAX_SECTIONS} may be"),
                ));
            }
            let size = dims::ceildiv(extent, &count.into());
            let before = dims::mul(&size, &PrimExpr::int64(count - 1));
            let last = match extent.as_int() {
                Some(_) => dims::max(&dims::sub(extent, &before), &zero),
                None => dims::sub(extent, &before),
            };
            let mut all = vec![(None, size); count as usize - 1];
            all.push((None, last));
            Ok(all)
        }
    }
}
