//! Tensors with some elements replaced.
//!
//! Negative indices count from the end; what is still outside is left out. Where several updates meet one element,
//! `"update"` keeps the last and the other reductions fold all into what was there.

use crate::{
    context::CallContext,
    dims,
    families::index::{expect_integers, from_end, inside, int64},
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, broadcast_shapes, common_dtype, common_vdevice},
};
use hammock_ir::{
    DType, PrimExpr, TensorType,
    prim::Var,
    relax::InferError,
    tir::{Buffer, Stmt, StmtKind},
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![scatter_elements(), scatter_nd(), index_put(), slice_scatter()]
}

/// The ways to combine an update with what was there.
const REDUCTIONS: [&str; 6] = ["update", "add", "mul", "mean", "max", "min"];

/// Dtypes and devices of data, indices and updates; the result is like the data.
fn scatter_type(cx: &CallContext, updates: &str) -> Result<TensorType, InferError> {
    let (data, new) = (cx.tensor("data")?, cx.tensor(updates)?);
    common_dtype(cx, ("data", &data), (updates, &new))?;
    let vdevice = common_vdevice(cx, [&data, &new])?;
    Ok(TensorType { vdevice, ..data })
}

fn scatter_elements() -> Op {
    Op::new("scatter_elements")
        .doc("`data` with each update put at the place its index names along an axis, and at its own place along the others.")
        .tensor("data")
        .tensor("indices")
        .tensor("updates")
        .attr("axis", AttrKind::Int, 0)
        .attr("reduction", AttrKind::Str, "update")
        .infer(scatter_elements_type)
        .legalize(scatter_elements_tir)
}

fn scatter_elements_type(cx: &CallContext) -> Inferred {
    let data = scatter_type(cx, "updates")?;
    let (indices, updates) = (cx.tensor("indices")?, cx.tensor("updates")?);
    expect_integers(cx, "indices", &indices)?;
    cx.one_of("reduction", &REDUCTIONS)?;
    for (param, t) in [("indices", &indices), ("updates", &updates)] {
        if let (Some(a), Some(b)) = (data.ndim(), t.ndim())
            && a != b
        {
            return Err(cx.error_at(param, format_args!("`data` has {a} dimensions, but `{param}` has {b}")));
        }
    }
    if let (Some(i), Some(u)) = (indices.dims(), updates.dims())
        && i.iter().zip(u).any(|(i, u)| dims::equal(i, u) == Some(false))
    {
        return Err(cx.error_at("updates", "`indices` and `updates` must have one shape"));
    }
    if let Some(ndim) = data.ndim() {
        cx.axis("axis", ndim)?;
    }
    Ok(data.into())
}

/// Copies the data, then runs over the updates of each line along the axis, one after the other.
fn scatter_elements_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "scatter_elements")?;
    let (data, indices, updates) = (b.input("data")?, b.input("indices")?, b.input("updates")?);
    let axis = cx.axis("axis", data.ndim())?;
    let how = cx.one_of("reduction", &REDUCTIONS)?;
    let out = b.output("T_scatter_elements")?;
    b.compute(&out, |i| data.at(i));
    let counts = (how == "mean").then(|| counts(&mut b, &out));
    let mut lines = indices.shape().to_vec();
    let length = lines.remove(axis);
    b.block("scatter", &lines, |line| {
        let k = Var::int64("k");
        let mut from = line.to_vec();
        from.insert(axis, k.expr());
        let mut to = from.clone();
        to[axis] = from_end(indices.index_at(&from), &out.shape[axis]);
        let allowed = inside(&to[axis], &out.shape[axis]);
        // the other places come from the shape of `indices`, which may be larger than that of `data`
        let others = (0..to.len()).filter(|a| *a != axis && !same(&out.shape[*a], &indices.shape()[*a]));
        let allowed = others.fold(allowed, |all, a| all.and(to[a].clone().lt(&out.shape[a])));
        let body = put(&out, counts.as_ref(), how, to, updates.at(&from));
        Stmt::serial(k, length, Stmt::new(StmtKind::If(allowed, Box::new(body), None)))
    });
    if let Some(counts) = counts {
        divide(&mut b, &out, &counts);
    }
    Ok(b.finish())
}

fn same(a: &PrimExpr, b: &PrimExpr) -> bool {
    dims::equal(a, b) == Some(true)
}

/// How many values each element of a mean holds: at first, what was there.
fn counts(b: &mut Builder, out: &Buffer) -> Buffer {
    let counts = b.temp("counts", out.shape.clone(), DType::INT32);
    b.compute(&counts, |_| PrimExpr::int32(1));
    counts
}

/// Turns sums into means.
fn divide(b: &mut Builder, out: &Buffer, counts: &Buffer) {
    b.block("mean", &out.shape.clone(), |i| {
        let count = PrimExpr::load(counts, i.to_vec()).cast(out.dtype);
        Stmt::store(out, i.to_vec(), PrimExpr::load(out, i.to_vec()) / count)
    });
}

/// Combines one update with an element.
fn put(out: &Buffer, counts: Option<&Buffer>, how: &str, at: Vec<PrimExpr>, update: PrimExpr) -> Stmt {
    let old = PrimExpr::load(out, at.clone());
    let new = match how {
        "add" | "mean" => old + update,
        "mul" => old * update,
        "max" => old.max(update),
        "min" => old.min(update),
        _ => update,
    };
    let count = counts.map(|c| Stmt::store(c, at.clone(), PrimExpr::load(c, at.clone()) + PrimExpr::int32(1)));
    Stmt::seq(std::iter::once(Stmt::store(out, at, new)).chain(count))
}

fn scatter_nd() -> Op {
    Op::new("scatter_nd")
        .doc("`data` with each update put at the index that a row of the last axis of `indices` names.")
        .tensor("data")
        .tensor("indices")
        .tensor("updates")
        .attr("reduction", AttrKind::Str, "update")
        .infer(scatter_nd_type)
        .legalize(scatter_nd_tir)
}

fn scatter_nd_type(cx: &CallContext) -> Inferred {
    let data = scatter_type(cx, "updates")?;
    let (indices, updates) = (cx.tensor("indices")?, cx.tensor("updates")?);
    expect_integers(cx, "indices", &indices)?;
    cx.one_of("reduction", &REDUCTIONS)?;
    let (Some(data_dims), Some(places)) = (data.dims(), indices.dims()) else { return Ok(data.into()) };
    let Some((count, outer)) = places.split_last() else {
        return Err(cx.error_at("indices", "`indices` must have at least one dimension"));
    };
    let Some(count) = count.as_int() else { return Ok(data.into()) };
    let Some(inner) = usize::try_from(count).ok().and_then(|c| data_dims.get(c..)) else {
        let ndim = data_dims.len();
        return Err(cx.error_at(
            "indices",
            format_args!("an index of {count} numbers does not fit {ndim} dimensions of `data`"),
        ));
    };
    let expected = [outer, inner].concat();
    if let Some(updates) = updates.dims()
        && (updates.len() != expected.len()
            || updates.iter().zip(&expected).any(|(a, b)| dims::equal(a, b) == Some(false)))
    {
        let (want, got) = (crate::text::dims_text(&expected), crate::text::dims_text(updates));
        return Err(cx.error_at("updates", format_args!("`updates` must have the shape {want}, not {got}")));
    }
    Ok(data.into())
}

/// Copies the data, then runs over the updates, one after the other.
fn scatter_nd_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "scatter_nd")?;
    let (data, indices, updates) = (b.input("data")?, b.input("indices")?, b.input("updates")?);
    let how = cx.one_of("reduction", &REDUCTIONS)?;
    let outer = indices.ndim() - 1;
    let Some(count) = indices.shape()[outer].as_int() else {
        return Err(cx.error_at("indices", "the last size of `indices` must be known"));
    };
    let out = b.output("T_scatter_nd")?;
    b.compute(&out, |i| data.at(i));
    let counts = (how == "mean").then(|| counts(&mut b, &out));
    let inner = out.shape[count as usize..].to_vec();
    b.block("scatter", &inner, |rest| {
        let loops: Vec<Var> = (0..outer).map(|n| Var::int64(format!("j{n}"))).collect();
        let row: Vec<PrimExpr> = loops.iter().map(Var::expr).collect();
        let place = |n: i64| {
            let at = [&row[..], &[n.into()]].concat();
            from_end(indices.index_at(&at), &out.shape[n as usize])
        };
        let to: Vec<PrimExpr> = (0..count).map(place).collect();
        let allowed = to.iter().zip(&out.shape).map(|(i, d)| inside(i, d)).reduce(PrimExpr::and);
        let update = updates.at(&[&row[..], rest].concat());
        let body = put(&out, counts.as_ref(), how, [&to[..], rest].concat(), update);
        let body = match allowed {
            Some(allowed) => Stmt::new(StmtKind::If(allowed, Box::new(body), None)),
            None => body,
        };
        around(loops, &indices.shape()[..outer], body)
    });
    if let Some(counts) = counts {
        divide(&mut b, &out, &counts);
    }
    Ok(b.finish())
}

/// Serial loops around a body, the first outermost.
fn around(loops: Vec<Var>, extents: &[PrimExpr], body: Stmt) -> Stmt {
    loops.into_iter().zip(extents).rev().fold(body, |body, (var, extent)| Stmt::serial(var, extent.clone(), body))
}

fn index_put() -> Op {
    Op::new("index_put")
        .doc("`data` with `data[i, j, …] = values`, or with the values added; indices and values broadcast.")
        .tensor("data")
        .operand("indices", OperandKind::Tensors)
        .tensor("values")
        .attr("accumulate", AttrKind::Bool, false)
        .infer(index_put_type)
        .legalize(index_put_tir)
}

fn index_put_type(cx: &CallContext) -> Inferred {
    let data = scatter_type(cx, "values")?;
    let indices = cx.tensors("indices")?;
    if indices.is_empty() {
        return Err(cx.error_at("indices", "`indices` must not be empty"));
    }
    indices.iter().try_for_each(|t| expect_integers(cx, "indices", t))?;
    let named: Vec<(&str, &TensorType)> = indices.iter().map(|t| ("indices", t)).collect();
    broadcast_shapes(cx, &named)?;
    match data.ndim() {
        Some(ndim) if indices.len() > ndim => {
            let count = indices.len();
            Err(cx.error_at("indices", format_args!("{count} indices are given for {ndim} dimensions of `data`")))
        }
        _ => Ok(data.into()),
    }
}

/// Copies the data, then runs over the broadcast indices, one after the other.
fn index_put_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "index_put")?;
    let (data, indices, values) = (b.input("data")?, b.inputs("indices")?, b.input("values")?);
    let how = if cx.bool("accumulate")? { "add" } else { "update" };
    let named: Vec<TensorType> = indices.iter().map(|t| TensorType::new(t.shape().iter(), t.dtype())).collect();
    let named: Vec<(&str, &TensorType)> = named.iter().map(|t| ("indices", t)).collect();
    let outer = broadcast_shapes(cx, &named)?;
    let Some(outer) = outer.dims() else {
        return Err(cx.error_at("indices", "the shape that `indices` broadcast to must be known"));
    };
    let out = b.output("T_index_put")?;
    b.compute(&out, |i| data.at(i));
    let inner = out.shape[indices.len()..].to_vec();
    b.block("index_put", &inner, |rest| {
        let loops: Vec<Var> = (0..outer.len()).map(|n| Var::int64(format!("j{n}"))).collect();
        let row: Vec<PrimExpr> = loops.iter().map(Var::expr).collect();
        let place = |(t, extent): (&Input, &PrimExpr)| from_end(int64(t.broadcast(&row)), extent);
        let to: Vec<PrimExpr> = indices.iter().zip(&out.shape).map(place).collect();
        let allowed = to.iter().zip(&out.shape).map(|(i, d)| inside(i, d)).reduce(PrimExpr::and);
        let update = values.broadcast(&[&row[..], rest].concat());
        let body = put(&out, None, how, [&to[..], rest].concat(), update);
        let allowed = allowed.unwrap_or(PrimExpr::bool(true));
        around(loops, outer, Stmt::new(StmtKind::If(allowed, Box::new(body), None)))
    });
    Ok(b.finish())
}

fn slice_scatter() -> Op {
    Op::new("slice_scatter")
        .doc("`input_tensor` with `src` in the place of every `step`th element of an axis from `start` up to `end`.")
        .tensor("input_tensor")
        .tensor("src")
        .operand("start", OperandKind::Prim)
        .operand("end", OperandKind::Prim)
        .operand_or("step", OperandKind::Prim, 1)
        .attr("axis", AttrKind::Int, 0)
        .infer(slice_scatter_type)
        .legalize(slice_scatter_tir)
}

fn slice_scatter_type(cx: &CallContext) -> Inferred {
    let (x, src) = (cx.tensor("input_tensor")?, cx.tensor("src")?);
    common_dtype(cx, ("input_tensor", &x), ("src", &src))?;
    if let (Some(a), Some(b)) = (x.ndim(), src.ndim())
        && a != b
    {
        return Err(cx.error_at("src", format_args!("`input_tensor` has {a} dimensions, but `src` has {b}")));
    }
    if cx.prim("step")?.as_int().is_some_and(|s| s < 1) {
        return Err(cx.error_at("step", "`step` must be positive"));
    }
    let Some(ndim) = x.ndim() else { return Ok(x.into()) };
    let axis = cx.axis("axis", ndim)?;
    if let (Some(a), Some(b)) = (x.dims(), src.dims())
        && let Some(other) = (0..ndim).find(|i| *i != axis && dims::equal(&a[*i], &b[*i]) == Some(false))
    {
        return Err(cx.error_at("src", format_args!("`input_tensor` and `src` differ in axis {other}")));
    }
    Ok(x.into())
}

/// Each element comes from `src` when its place along the axis is one of the slice, and from the input else.
fn slice_scatter_tir(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "slice_scatter")?;
    let (x, src) = (b.input("input_tensor")?, b.input("src")?);
    let [start, end, step] = ["start", "end", "step"].map(|p| b.prim(p).map(int64));
    let (start, end, step) = (start?, end?, step?);
    let axis = cx.axis("axis", x.ndim())?;
    let extent = x.shape()[axis].clone();
    let place = |bound: PrimExpr| match bound.as_int() {
        Some(v) if v >= 0 => dims::min(&bound, &extent),
        Some(_) => dims::max(&dims::add(&extent, &bound), &0i64.into()),
        None => dims::min(&dims::max(&from_end(bound, &extent), &0i64.into()), &extent),
    };
    let (start, end) = (place(start), place(end));
    let out = b.output("T_slice_scatter")?;
    b.compute(&out, |i| {
        let offset = dims::sub(&i[axis], &start);
        let position = dims::floordiv(&offset, &step);
        let mut hit = i[axis].clone().ge(start).and(i[axis].clone().lt(end));
        if !dims::is(&step, 1) {
            hit = hit.and(offset.floormod(step).eq(0i64));
        }
        let hit = hit.and(position.clone().lt(&src.shape()[axis]));
        let mut at = i.to_vec();
        at[axis] = position;
        hit.if_then_else(src.at(&at), x.at(i))
    });
    Ok(b.finish())
}
