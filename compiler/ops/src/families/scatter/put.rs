//! `index_put`

use super::{around, put, scatter_type};
use crate::{
    CallContext,
    families::index::{expect_all_inside, expect_integers, from_end, int64},
    legalize::{Builder, Input, Legalized},
    op::{AttrKind, Op, OperandKind},
    rules::{Inferred, broadcast_shapes},
};
use hammock_ir::{
    PrimExpr, TensorType, Type, count,
    prim::Var,
    relax::{Call, InferError, Operand},
};

/// `index_put`
pub fn index_put() -> Op {
    Op::new("index_put")
        .doc("`data` with `data[i, j, …] = values`, or with the values added; indices and values broadcast.")
        .example("x: float32[4]; i: int64[1]; v: float32[1]", "x, (i,), v, accumulate=True")
        .tensor("data")
        .operand("indices", OperandKind::Tensors)
        .tensor("values")
        .attr("accumulate", AttrKind::Bool, false)
        .resolve(resolve)
        .infer(index_put_type)
        .legalize(index_put_tir)
}

/// A single index tensor becomes a tuple of one.
fn resolve(cx: &CallContext) -> Result<Call, InferError> {
    let mut call = cx.call.clone();
    if let Type::Tensor(_) = cx.ty("indices")? {
        let indices = cx.operand("indices")?.clone();
        call.args[1] = Operand::Tuple(vec![indices]);
    }
    Ok(call)
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
    if let Some(dims) = data.dims() {
        expect_all_inside(cx, "indices", dims)?;
    }
    match data.ndim() {
        Some(ndim) if indices.len() > ndim => Err(cx.error_at(
            "indices",
            format_args!(
                "`data` has {}, fewer than `indices` has members, {}",
                count(ndim, "dimension"),
                indices.len()
            ),
        )),
        _ => Ok(data.into()),
    }
}

/// Copies the data, then applies the updates at the broadcast indices sequentially.
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
    let inner = out.shape[indices.len()..].to_vec();
    let full = [outer, &inner].concat();
    if values.ndim() > full.len() {
        return Err(cx.error_at("values", "`values` has more dimensions than it is put in"));
    }
    b.require_broadcast(values.shape(), &full, "`values` does not broadcast to what it is put in");
    b.compute(&out, |i| data.at(i));
    b.block("index_put", &inner, |rest| {
        let loops: Vec<Var> = (0..outer.len()).map(|n| Var::int64(format!("j{n}"))).collect();
        let row: Vec<PrimExpr> = loops.iter().map(Var::expr).collect();
        let place = |(t, extent): (&Input, &PrimExpr)| from_end(int64(t.broadcast_to(&row, outer)), extent);
        let to: Vec<PrimExpr> = indices.iter().zip(&out.shape).map(place).collect();
        let update = values.broadcast_to(&[&row[..], rest].concat(), &full);
        around(loops, outer, put(&out, how, [&to[..], rest].concat(), update))
    });
    Ok(b.finish())
}
