//! Indexing: gather, scatter, arg-reductions, scans.

use super::{Op, Result, activation::axis_attr, dynamic_shape, op, strings};
use crate::node::Node;
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("ArgMax", |n| arg(n, "argmax")).attributes("axis keepdims select_last_index@12"),
    op("ArgMin", |n| arg(n, "argmin")).attributes("axis keepdims select_last_index@12"),
    op("CumProd", |n| cumulative(n, "cumprod")).attributes("exclusive reverse"),
    op("CumSum", |n| cumulative(n, "cumsum")).attributes("exclusive reverse"),
    op("Gather", gather).on_strings(strings::gather).moves_elements().attributes("axis"),
    op("GatherElements", gather_elements).moves_elements().attributes("axis"),
    op("GatherND", gather_nd).moves_elements().attributes("batch_dims@12"),
    op("NonZero", nonzero),
    op("OneHot", one_hot).attributes("axis"),
    op("Scatter", scatter_elements).attributes("axis"),
    op("ScatterElements", scatter_elements).attributes("axis reduction@16"),
    op("ScatterND", scatter_nd).attributes("reduction@16"),
    op("TopK", topk).attributes("axis k@-9 largest@11 sorted@11"),
    op("Unique", unique).attributes("axis sorted"),
];

fn gather(n: &mut Node) -> Result {
    let axis = n.attrs.int_or("axis", 0)?;
    if let (Some(x), Some(indices)) = (n.known(0), n.known(1))
        && let Some(known) = x.take(&indices, n.axis(axis, x.shape.len())?)
    {
        return Ok(known.into());
    }
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let axis = n.axis(axis, n.rank(&x)?)?;
    Ok(n.call_with("take", [x, indices], &[("axis", axis_attr(axis))])?.into())
}

fn gather_elements(n: &mut Node) -> Result {
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let axis = n.attrs.int_or("axis", 0)?;
    let axis = n.axis(axis, n.rank(&x)?)?;
    Ok(n.call_with("gather_elements", [x, indices], &[("axis", axis_attr(axis))])?.into())
}

fn gather_nd(n: &mut Node) -> Result {
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let batch = n.attrs.int_or("batch_dims", 0)?;
    Ok(n.call_with("gather_nd", [x, indices], &[("batch_dims", batch.into())])?.into())
}

/// Returns our name of a scatter reduction.
fn reduction(n: &Node) -> crate::node::Result<&'static str> {
    match n.attrs.str_or("reduction", "none")? {
        "none" => Ok("update"),
        "add" => Ok("add"),
        "mul" => Ok("mul"),
        "max" => Ok("max"),
        "min" => Ok("min"),
        other => n.error(format!("its `reduction` is `{other}`, which is not supported")),
    }
}

fn scatter_elements(n: &mut Node) -> Result {
    let reduction = reduction(n)?;
    let args = [n.input(0)?, n.input(1)?, n.input(2)?];
    let axis = n.attrs.int_or("axis", 0)?;
    let axis = n.axis(axis, n.rank(&args[0])?)?;
    let attrs = [("axis", axis_attr(axis)), ("reduction", reduction.into())];
    Ok(n.call_with("scatter_elements", args, &attrs)?.into())
}

fn scatter_nd(n: &mut Node) -> Result {
    let reduction = reduction(n)?;
    let args = [n.input(0)?, n.input(1)?, n.input(2)?];
    Ok(n.call_with("scatter_nd", args, &[("reduction", reduction.into())])?.into())
}

/// To select the last of equal elements, the axis is flipped.
fn arg(n: &mut Node, ours: &'static str) -> Result {
    let keep = n.attrs.int_or("keepdims", 1)? != 0;
    let axis = n.attrs.int_or("axis", 0)?;
    let last = n.attrs.flag("select_last_index")?;
    let mut x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.axis(axis, dims.len())?;
    if last {
        x = n.call_with("flip", [x], &[("axis", axis_attr(axis))])?;
    }
    let at = n.call_with(ours, [x], &[("axis", axis_attr(axis)), ("keepdims", keep.into())])?;
    if !last {
        return Ok(at.into());
    }
    let Some(size) = dims[axis].as_int() else { return n.error("`select_last_index` needs a size that is known") };
    let end = n.scalar_like((size - 1) as f64, &at)?;
    Ok(n.call("subtract", [end, at])?.into())
}

fn topk(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let axis = n.attrs.int_or("axis", -1)?;
    let axis = n.axis(axis, n.rank(&x)?)?;
    let largest = n.attrs.int_or("largest", 1)? != 0;
    let k = if n.opset < 10 { n.attrs.int("k").map(|k| k.map(|k| vec![k])) } else { n.ints(1, "k") };
    let Ok(k) = k else { return dynamic_shape::topk(n, axis, largest) };
    let Some(k) = k.and_then(|k| k.first().copied()) else { return n.error("its `k` is missing") };
    if k < 0 {
        return n.error(format!("its `k` is {k}, and has to be at least 0"));
    }
    if k == 0 {
        let empty = n.strided_slice(x, axis, 0i64.into(), 0i64.into(), 1)?;
        let indices = n.cast(empty.clone(), DType::INT64)?;
        return Ok(vec![empty, indices].into());
    }
    let attrs =
        [("k", k.into()), ("axis", axis_attr(axis)), ("largest", largest.into()), ("dtype", DType::INT64.into())];
    let both = n.call_with("topk", [x], &attrs)?;
    Ok(n.importer.build.members(&both)?.into())
}

/// Negative indices count from the end; out-of-range indices give a row of `off` values.
fn one_hot(n: &mut Node) -> Result {
    let axis = n.attrs.int_or("axis", -1)?;
    let (indices, values) = (n.input_as_int64(0)?, n.input(2)?);
    let depth = match n.floats(1, "depth") {
        Ok(depth) => depth.and_then(|depth| depth.first().copied()).map(|depth| PrimExpr::int64(depth as i64)),
        Err(_) => {
            let depth = n.input_as_int64(1)?;
            n.symbolic_dims(depth)?.into_iter().next()
        }
    };
    let Some(depth) = depth else { return n.error("its `depth` is missing") };
    let mut dims = n.dims(&indices)?;
    let axis = n.axis(axis, dims.len() + 1)?;
    let size = n.dims_vector(std::slice::from_ref(&depth))?;
    let raised = n.call("add", [indices.clone(), size])?;
    let zero = n.scalar_like(0.0, &indices)?;
    let negative = n.call("less", [indices.clone(), zero])?;
    let indices = n.call("where", [negative, raised, indices])?;
    let mut along = vec![PrimExpr::int64(1); dims.len() + 1];
    along[axis] = depth.clone();
    dims.insert(axis, 1i64.into());
    let indices = n.reshape(indices, dims)?;
    let positions = n.arange(depth)?;
    let positions = n.reshape(positions, along)?;
    let hot = n.call("equal", [indices, positions])?;
    let value = |n: &mut Node, at: f64| {
        let at = crate::node::scalar(at, DType::INT64)?;
        n.call_with("take", [values.clone(), at], &[("axis", 0i64.into())])
    };
    let (off, on) = (value(n, 0.0)?, value(n, 1.0)?);
    Ok(n.call("where", [hot, on, off])?.into())
}

/// Cumulative sum or product; the axis is an input.
fn cumulative(n: &mut Node, ours: &'static str) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    match n.ints(1, "axis") {
        Ok(Some(axis)) if !axis.is_empty() => {
            let axis = n.axis(axis[0], rank)?;
            Ok(cumulative_along(n, ours, axis)?.into())
        }
        Ok(_) => n.error("its `axis` is missing"),
        Err(_) => dynamic_shape::select_axis(n, 1, rank, rank, |n, axis| cumulative_along(n, ours, axis)),
    }
}

fn cumulative_along(n: &mut Node, ours: &'static str, axis: usize) -> crate::node::Result<Operand> {
    let mut x = n.input(0)?;
    let axis = axis_attr(axis);
    let (exclusive, reverse) = (n.attrs.flag("exclusive")?, n.attrs.flag("reverse")?);
    let dtype = n.dtype(&x)?;
    if reverse {
        x = n.call_with("flip", [x], &[("axis", axis.clone())])?;
    }
    let attrs = [("axis", axis.clone()), ("dtype", dtype.into()), ("exclusive", exclusive.into())];
    let sums = n.call_with(ours, [x], &attrs)?;
    if reverse { n.call_with("flip", [sums], &[("axis", axis)]) } else { Ok(sums) }
}

/// Unique elements, or slices of an axis, with their indices and counts.
fn unique(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let truth = |value: bool| Operand::Prim(PrimExpr::bool(value));
    let x = if dtype.is_bfloat16() || dtype.is_float16() { n.cast(x, DType::FLOAT32)? } else { x };
    let mut args = vec![x.clone(), truth(n.attrs.int_or("sorted", 1)? != 0), truth(true), truth(true), truth(true)];
    let axis = n.attrs.int("axis")?.map(|axis| n.axis(axis, n.rank(&x)?)).transpose()?;
    args.extend(axis.map(|axis| Operand::int(axis as i64)));
    let all = n.call("unique", args)?;
    let mut members = n.importer.build.members(&all)?;
    if let Some(axis) = axis {
        let own = n.dims(&x)?.into_iter().enumerate().filter(|(at, _)| *at != axis).collect::<Vec<_>>();
        members[0] = n.assert_dims(members[0].clone(), &own)?;
    }
    members[0] = n.cast(members[0].clone(), dtype)?;
    Ok(members.into())
}

/// Indices of the nonzero elements: a row for each axis; a scalar has no axes, so its indices have no rows.
fn nonzero(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let indices = n.call("nonzero", [x])?;
    let indices = n.assert_dims(indices, &[(0, PrimExpr::int64(rank.max(1) as i64))])?;
    match rank {
        0 => Ok(n.strided_slice(indices, 0, 0i64.into(), 0i64.into(), 1)?.into()),
        _ => Ok(indices.into()),
    }
}
