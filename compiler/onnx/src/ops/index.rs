//! Elements by their indices.

use super::{Op, Result, activation::axis_attr, op};
use crate::node::Node;
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("ArgMax", |n| arg(n, "argmax")),
    op("ArgMin", |n| arg(n, "argmin")),
    op("CumSum", cumulative_sum),
    op("Gather", gather),
    op("GatherElements", gather_elements),
    op("GatherND", gather_nd),
    op("NonZero", nonzero),
    op("OneHot", one_hot),
    op("Scatter", scatter_elements),
    op("ScatterElements", scatter_elements),
    op("ScatterND", scatter_nd),
    op("TopK", topk),
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

/// The names that our operators have for how values are combined.
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

/// The last of equal elements is found from the other end.
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
    let end = n.number((size - 1) as f64, &at)?;
    Ok(n.call("subtract", [end, at])?.into())
}

fn topk(n: &mut Node) -> Result {
    let k = if n.opset < 10 { n.attrs.int("k")? } else { n.ints(1, "k")?.and_then(|k| k.first().copied()) };
    let Some(k) = k else { return n.error("its `k` is missing") };
    let x = n.input(0)?;
    let axis = n.attrs.int_or("axis", -1)?;
    let axis = n.axis(axis, n.rank(&x)?)?;
    let largest = n.attrs.int_or("largest", 1)? != 0;
    if k < 1 {
        return n.error(format!("its `k` is {k}, which is not supported"));
    }
    let attrs =
        [("k", k.into()), ("axis", axis_attr(axis)), ("largest", largest.into()), ("dtype", DType::INT64.into())];
    let both = n.call_with("topk", [x], &attrs)?;
    Ok(n.importer.build.members(&both)?.into())
}

fn one_hot(n: &mut Node) -> Result {
    let Some(depth) = n.floats(1, "depth")?.and_then(|depth| depth.first().copied()) else {
        return n.error("its `depth` is missing");
    };
    let axis = n.attrs.int_or("axis", -1)?;
    let mut indices = n.input(0)?;
    let values = n.input(2)?;
    let dtype = n.dtype(&indices)?;
    if dtype != DType::INT64 {
        indices = n.cast(indices, DType::INT64)?;
    }
    // Indices may count from the end.
    let size = n.number(depth, &indices)?;
    let zero = n.number(0.0, &indices)?;
    let negative = n.call("less", [indices.clone(), zero])?;
    let raised = n.call("add", [indices.clone(), size])?;
    let indices = n.call("where", [negative, raised, indices])?;
    let (on, off) = (Operand::Prim(PrimExpr::bool(true)), Operand::Prim(PrimExpr::bool(false)));
    let attrs = [("depth", (depth as i64).into()), ("axis", axis.into())];
    let hot = n.call_with("one_hot", [indices, on, off], &attrs)?;
    let value = |n: &mut Node, at: i64| {
        let at = crate::node::number(at as f64, DType::INT64)?;
        n.call_with("take", [values.clone(), at], &[("axis", 0i64.into())])
    };
    let (off, on) = (value(n, 0)?, value(n, 1)?);
    Ok(n.call("where", [hot, on, off])?.into())
}

fn cumulative_sum(n: &mut Node) -> Result {
    let Some(axis) = n.ints(1, "axis")?.and_then(|axis| axis.first().copied()) else {
        return n.error("its `axis` is missing");
    };
    let mut x = n.input(0)?;
    let axis = axis_attr(n.axis(axis, n.rank(&x)?)?);
    let (exclusive, reverse) = (n.attrs.flag("exclusive")?, n.attrs.flag("reverse")?);
    let dtype = n.dtype(&x)?;
    if reverse {
        x = n.call_with("flip", [x], &[("axis", axis.clone())])?;
    }
    let attrs = [("axis", axis.clone()), ("dtype", dtype.into()), ("exclusive", exclusive.into())];
    let sums = n.call_with("cumsum", [x], &attrs)?;
    Ok(if reverse { n.call_with("flip", [sums], &[("axis", axis)])? } else { sums }.into())
}

fn nonzero(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(n.call("nonzero", [x])?.into())
}
