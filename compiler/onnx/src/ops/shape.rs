//! Shapes: `Shape`, `Reshape`, and similar operators.

use super::{Op, Result, dynamic_shape, op, strings};
use crate::{
    known_tensor::KnownTensor,
    node::{Node, product},
    value::Value,
};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("Expand", expand).moves_elements(),
    op("Flatten", flatten).on_strings(strings::flatten).moves_elements().attributes("axis"),
    op("Identity", |n| Ok(n.value(0)?.into())).handles_sub_byte(),
    op("Reshape", reshape)
        .on_strings(strings::reshape)
        .moves_elements()
        .attributes("allowzero@14 consumed_inputs@-4 shape@-4"),
    op("Shape", shape).handles_sub_byte().attributes("end@15 start@15"),
    op("Size", size).handles_sub_byte(),
    op("Squeeze", squeeze).on_strings(strings::squeeze).moves_elements().attributes("axes@-12"),
    op("Unsqueeze", unsqueeze).on_strings(strings::unsqueeze).moves_elements().attributes("axes@-12"),
];

fn shape(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let rank = dims.len() as i64;
    let bound = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (bound(n.attrs.int_or("start", 0)?), bound(n.attrs.int_or("end", rank)?));
    let shown = dims.get(start..end).unwrap_or(&[]).to_vec();
    KnownTensor::vector(shown).map_or_else(|| n.error("its input has too many dimensions"), |known| Ok(known.into()))
}

fn size(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let count = dims::simplify(&product(&n.dims(&x)?));
    KnownTensor::scalar(count).map_or_else(|| n.error("its input is too large"), |known| Ok(known.into()))
}

/// 0 keeps a dimension unless `allowzero` is set, -1 is inferred.
fn reshape(n: &mut Node) -> Result {
    let shape = match n.opset {
        // Before version 5, the shape is an attribute.
        ..5 => n.attrs.ints("shape")?.map(|shape| shape.into_iter().map(PrimExpr::int64).collect()),
        _ => n.known_sizes(1, "shape").ok(),
    };
    let Some(shape) = shape else { return dynamic_shape::reshape(n) };
    let ints: Option<Vec<i64>> = shape.iter().map(PrimExpr::as_int).collect();
    if let (Some(x), Some(ints)) = (n.known(0), ints) {
        let known = resolve_shape(&x, &ints).and_then(|shape| x.reshaped(shape));
        if let Some(known) = known {
            return Ok(known.into());
        }
    }
    let x = n.input(0)?;
    let own = n.dims(&x)?;
    let zeros_stay = n.attrs.flag("allowzero")?;
    let size = |(axis, size): (usize, PrimExpr)| match own.get(axis) {
        Some(own) if dims::is(&size, 0) && !zeros_stay => own.clone(),
        _ => size,
    };
    let mut shape: Vec<PrimExpr> = shape.into_iter().enumerate().map(size).collect();
    // For an empty tensor, -1 cannot be inferred.
    let open = shape.iter().position(|size| dims::is(size, -1));
    if let (Some(open), true) = (open, own.iter().any(|size| dims::is(size, 0))) {
        shape[open] = PrimExpr::int64(0);
    }
    Ok(n.reshape(x, shape)?.into())
}

/// Resolves 0 and -1 in the target shape of known elements.
fn resolve_shape(x: &KnownTensor, shape: &[i64]) -> Option<Vec<i64>> {
    let mut shape = shape.to_vec();
    for (axis, size) in shape.iter_mut().enumerate().filter(|(_, size)| **size == 0) {
        *size = *x.shape.get(axis)?;
    }
    if let Some(open) = shape.iter().position(|size| *size == -1) {
        shape[open] = 1;
        let rest = crate::known_tensor::count(&shape)? as i64;
        shape[open] = (x.elements.len() as i64).checked_div(rest)?;
    }
    shape.iter().all(|size| *size >= 0).then_some(shape)
}

fn flatten(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.attrs.int_or("axis", 1)?;
    let axis = if axis == dims.len() as i64 { dims.len() } else { n.axis(axis, dims.len())? };
    let shape = vec![dims::simplify(&product(&dims[..axis])), dims::simplify(&product(&dims[axis..]))];
    Ok(n.reshape(x, shape)?.into())
}

fn squeeze(n: &mut Node) -> Result {
    let Ok(axes) = n.ints_since(13, 1, "axes") else { return dynamic_shape::squeeze(n, false) };
    if let Some(x) = n.known(0) {
        let keep = |axis: usize| match &axes {
            Some(axes) => !axes.iter().any(|a| *a == axis as i64 || *a + x.shape.len() as i64 == axis as i64),
            None => x.shape[axis] != 1,
        };
        let shape = (0..x.shape.len()).filter(|axis| keep(*axis)).map(|axis| x.shape[axis]).collect();
        if let Some(known) = x.reshaped(shape) {
            return Ok(known.into());
        }
    }
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let gone = match axes {
        Some(axes) => n.axes(&axes, dims.len())?,
        None => (0..dims.len()).filter(|axis| dims::is(&dims[*axis], 1)).collect(),
    };
    let ones: Vec<_> = gone.iter().map(|axis| (*axis, PrimExpr::int64(1))).collect();
    let x = n.assert_dims(x, &ones)?;
    let shape = (0..dims.len()).filter(|axis| !gone.contains(axis)).map(|axis| dims[axis].clone()).collect();
    Ok(n.reshape(x, shape)?.into())
}

fn unsqueeze(n: &mut Node) -> Result {
    let Ok(axes) = n.ints_since(13, 1, "axes") else { return dynamic_shape::squeeze(n, true) };
    let Some(axes) = axes else { return n.error("its `axes` are missing") };
    let known = n.known(0);
    let rank = match &known {
        Some(x) => x.shape.len(),
        None => {
            let x = n.input(0)?;
            n.rank(&x)?
        }
    };
    let new = n.axes(&axes, rank + axes.len())?;
    if (1..new.len()).any(|at| new[..at].contains(&new[at])) {
        return n.error("its `axes` have the same axis twice");
    }
    if let Some(x) = known {
        let mut own = x.shape.iter().copied();
        let shape = (0..rank + new.len()).map(|axis| if new.contains(&axis) { 1 } else { own.next().unwrap_or(1) });
        if let Some(known) = x.reshaped(shape.collect()) {
            return Ok(known.into());
        }
    }
    let x = n.input(0)?;
    let mut own = n.dims(&x)?.into_iter();
    let one = || PrimExpr::int64(1);
    let shape = (0..rank + new.len()).map(|axis| if new.contains(&axis) { one() } else { own.next().unwrap_or(one()) });
    let shape = shape.collect();
    Ok(n.reshape(x, shape)?.into())
}

/// Both shapes broadcast with each other. Whether a dynamic size of `shape` is 1 is decided at run time.
fn expand(n: &mut Node) -> Result {
    let Ok(wanted) = n.known_sizes(1, "shape") else { return dynamic_shape::expand(n) };
    let x = n.input(0)?;
    let own = n.dims(&x)?;
    let rank = own.len().max(wanted.len());
    let size = |of: &[PrimExpr], axis: usize| {
        (axis + of.len()).checked_sub(rank).map_or(PrimExpr::int64(1), |at| of[at].clone())
    };
    let joined = |axis: usize| {
        let (own, wanted) = (size(&own, axis), size(&wanted, axis));
        if dims::is(&wanted, 1) || dims::equal(&own, &wanted) == Some(true) {
            own
        } else if dims::is(&own, 1) || dims::at_least(&wanted, &2i64.into()) == Some(true) {
            wanted
        } else {
            dims::simplify(&wanted.clone().eq(1i64).select(own, wanted))
        }
    };
    let shape: Vec<PrimExpr> = (0..rank).map(joined).collect();
    if dims::all_equal(&shape, &own) {
        return Ok(Value::Operand(x).into());
    }
    Ok(n.call("broadcast_to", [x, Operand::Shape(shape)])?.into())
}
