//! Tensors out of nothing, and conversions of element types.

use crate::{
    legalize::Builder,
    op::{AttrKind, Op},
};
use hammock_ir::TensorType;

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![astype()]
}

fn astype() -> Op {
    Op::new("astype")
        .doc("The elements converted to another dtype. Floats become integers by dropping the fraction.")
        .tensor("x")
        .required("dtype", AttrKind::DType)
        .infer(|cx| Ok(TensorType { dtype: cx.dtype("dtype")?, ..cx.tensor("x")? }.into()))
        .legalize(|cx| {
            let mut b = Builder::new(cx, "cast")?;
            let x = b.input("x")?;
            let out = b.output("compute")?;
            b.compute(&out, |i| x.at(i).cast(out.dtype));
            Ok(b.finish())
        })
}
