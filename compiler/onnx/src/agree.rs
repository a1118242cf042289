//! Sizes that operands of a call have to agree on.
//!
//! Models add tensors of which one has `n` rows and another `min(n, 512)`: the first 512 rows of a table, at most. Nothing
//! but the values at run time says whether these are the same number, or whether one of them is 1 and stands for all rows.
//! They are taken for the same number, and this is checked when the program runs.

use crate::build::Builder;
use hammock_ir::{
    PrimExpr, TensorShape, TensorType,
    relax::{InferError, Operand},
};
use hammock_ops::{Op, dims};

/// The operands of a call, those of other sizes with a check that they are what the others say. None where nothing is
/// open, or for an operator whose operands need not agree.
pub fn agreed(build: &mut Builder, op: &Op, args: &[Operand]) -> Result<Option<Vec<Operand>>, InferError> {
    // The last axes of factors are not those of each other.
    let own = match op.name {
        "matmul" => 2,
        _ if ["x1", "x2"].iter().all(|name| op.params.iter().any(|param| param.name == *name)) => 0,
        _ => return Ok(None),
    };
    let Ok(shapes) = args.iter().map(|arg| build.dims(arg)).collect::<Result<Vec<_>, _>>() else { return Ok(None) };
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut wanted = shapes.clone();
    let open = |own: &PrimExpr, size: &PrimExpr| !dims::is(own, 1) && dims::equal(own, size).is_none();
    for back in own + 1..=rank {
        let at = |shape: &[PrimExpr]| shape.len().checked_sub(back);
        let sizes = shapes.iter().filter_map(|shape| Some(&shape[at(shape)?])).filter(|size| !dims::is(size, 1));
        let Some(size) = sizes.min_by_key(|size| (size.as_int().is_none(), size.as_var().is_none())).cloned() else {
            continue;
        };
        for shape in &mut wanted {
            if let Some(at) = at(shape).filter(|at| open(&shape[*at], &size)) {
                shape[at] = size.clone();
            }
        }
    }
    let fitted = args.iter().zip(shapes).zip(wanted).map(|((arg, own), wanted)| {
        if dims::all_equal(&own, &wanted) {
            return Ok(arg.clone());
        }
        let ty = build.tensor(arg)?;
        build.match_cast(arg.clone(), TensorType { shape: TensorShape::Known(wanted.into()), ..ty }.into())
    });
    fitted.collect::<Result<_, _>>().map(Some)
}
