//! Sizes that operands of a call have to agree on.
//!
//! Models add tensors of which one has `n` rows and another `min(n, 512)`: the first 512 rows of a table, at most. Nothing
//! but the values at run time says whether these are the same number, or whether one of them is 1 and stands for all rows.
//! They are taken for the same number, and this is checked when the program runs. Where one of the sizes is known, it is
//! that of the result, and the others may be 1.

use crate::build::Builder;
use hammock_ir::{
    PrimExpr, TensorShape, TensorType,
    relax::{InferError, Operand},
};
use hammock_ops::{Op, dims};

/// Operands that agree, and the shape of the result if they alone determine it.
pub struct Agreed {
    /// The operands; those of other sizes with a check that they are what the others say.
    pub args: Vec<Operand>,
    /// To what they broadcast.
    pub result: Option<Vec<PrimExpr>>,
}

/// Lets the operands of a call agree, if its operator wants them to.
pub fn agreed(build: &mut Builder, op: &Op, args: Vec<Operand>) -> Result<Agreed, InferError> {
    // The last axes of factors are not those of each other.
    let own = match op.name {
        "matmul" => 2,
        _ if ["x1", "x2"].iter().all(|name| op.params.iter().any(|param| param.name == *name)) => 0,
        _ => return Ok(Agreed { args, result: None }),
    };
    let Ok(shapes) = args.iter().map(|arg| build.dims(arg)).collect::<Result<Vec<_>, _>>() else {
        return Ok(Agreed { args, result: None });
    };
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let (mut wanted, mut result) = (shapes.clone(), Vec::new());
    for back in (own + 1..=rank).rev() {
        let at = |shape: &[PrimExpr]| shape.len().checked_sub(back);
        let sizes = shapes.iter().filter_map(|shape| Some(&shape[at(shape)?])).filter(|size| !dims::is(size, 1));
        let size = sizes.min_by_key(|size| (size.as_int().is_none(), size.as_var().is_none()));
        let size = size.cloned().unwrap_or(PrimExpr::int64(1));
        if size.as_int().is_none() {
            let open = |own: &PrimExpr| !dims::is(own, 1) && dims::equal(own, &size).is_none();
            for shape in &mut wanted {
                if let Some(at) = at(shape).filter(|at| open(&shape[*at])) {
                    shape[at] = size.clone();
                }
            }
        }
        result.push(size);
    }
    let fitted = args.into_iter().zip(shapes).zip(wanted).map(|((arg, own), wanted)| {
        if dims::all_equal(&own, &wanted) {
            return Ok(arg);
        }
        let ty = build.tensor(&arg)?;
        build.match_cast(arg, TensorType { shape: TensorShape::Known(wanted.into()), ..ty }.into())
    });
    Ok(Agreed { args: fitted.collect::<Result<_, _>>()?, result: (own == 0).then_some(result) })
}
