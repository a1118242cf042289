//! Operators on scalar expressions, with the messages for operands that do not match.
//!
//! Dtypes are matched and constants folded by [`hammock_ir::arith`], whose rules are those of the text.

use hammock_ir::{
    DType, PrimExpr, arith,
    prim::{BinaryOp, PrimType},
};

/// `a op b`, after converting both to one dtype, or the reason why there is none.
pub(crate) fn binary(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> Result<PrimExpr, String> {
    let (a, b) = same_type(a, b)?;
    if op == BinaryOp::Div && a.dtype().is_integer() {
        return Err("`/` on integers could mean several things".into());
    }
    Ok(arith::binary(op, a, b))
}

/// Converts two operands to one dtype: scalars are broadcast to lanes, integers become floats, narrow types wide ones.
pub(crate) fn same_type(a: PrimExpr, b: PrimExpr) -> Result<(PrimExpr, PrimExpr), String> {
    if a.ty() == b.ty() {
        return Ok((a, b));
    }
    let mismatch = format!("operands of type {} and {} have no common type", show(a.ty()), show(b.ty()));
    let (a, b) = arith::match_types(a, b);
    if a.dtype() == b.dtype() { Ok((a, b)) } else { Err(mismatch) }
}

fn show(ty: &PrimType) -> String {
    match ty {
        PrimType::Scalar(t) => t.to_string(),
        PrimType::Pointer(Some(t), _) => format!("pointer to {t}"),
        PrimType::Pointer(None, _) => "pointer".into(),
    }
}

/// Returns true if an integer is a value of the dtype.
pub(crate) fn fits(v: i128, dtype: DType) -> bool {
    let bits = u32::from(dtype.bits.clamp(1, 64));
    match () {
        () if dtype.is_bool() => v == 0 || v == 1,
        () if dtype.is_uint() => v >= 0 && v < 1 << bits,
        () if bits == 1 => (-1..=1).contains(&v),
        () => v >= -(1 << (bits - 1)) && v < 1 << (bits - 1),
    }
}

/// `-e`, as a multiplication by -1, like TVM.
pub(crate) fn negative(e: PrimExpr) -> PrimExpr {
    if e.as_int().is_some() || e.as_float().is_some() {
        return arith::neg(e);
    }
    let minus_one = arith::cast(PrimExpr::int32(-1), e.dtype());
    arith::binary(BinaryOp::Mul, e, minus_one)
}

/// A shift or bitwise operation.
pub(crate) fn bitwise(name: &str, a: PrimExpr, b: PrimExpr) -> Result<PrimExpr, String> {
    let (a, b) = same_type(a, b)?;
    if a.dtype().is_floating() || a.dtype().is_handle() {
        return Err(format!("shifts and bitwise operations apply to integers, not to values of type {}", a.dtype()));
    }
    let ty = a.ty().clone();
    Ok(arith::fold_bits(name, &a, &b).unwrap_or_else(|| PrimExpr::intrin(name, vec![a, b], ty)))
}

/// `a ** b`
pub(crate) fn power(a: PrimExpr, b: PrimExpr) -> Result<PrimExpr, String> {
    let (a, b) = same_type(a, b)?;
    let ty = a.ty().clone();
    Ok(PrimExpr::intrin("pow", vec![a, b], ty))
}
