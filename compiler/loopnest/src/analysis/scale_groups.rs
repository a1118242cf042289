//! Scales of groups: in `Σ x[k] * w[k] * s[k // 32]`, each group of 32 elements shares a scale.
//!
//! Such a sum can be computed as sums of groups, each multiplied by its scale: `Σ s[g] * Σ x[k] * w[k]`. If the
//! elements without their scales are upcast products of bytes, the inner sums are exact in int32. A zero point of one
//! operand is then subtracted from the sums, times the sum of the other operand:
//! `Σ x[k] * (w[k] - z) = Σ x[k] * w[k] - z * Σ x[k]`.

use crate::{Stage, access::combiner, dots};
use hammock_ir::{
    DType, PrimExpr,
    arith::gcd,
    prim::{BinaryOp, PrimKind, Var},
    tir::Buffer,
};

/// Maximum elements of a group whose products of bytes are added in int32. A factor is at most 255 in magnitude.
const MAX_INT32_GROUP: i64 = 1 << 15;

/// A reduction whose elements share scales in groups.
pub struct ScaleGroups {
    /// Reduction axis that is divided into groups.
    pub axis: usize,
    /// Number of elements of a group.
    pub size: i64,
    /// The scale: the factors that are equal for all elements of a group.
    pub scale: PrimExpr,
    /// The same reduction without scales, in a buffer of its own, which has no results but partial sums.
    pub sum: Stage,
    /// Value subtracted from the sum of a group.
    pub zero: Option<ZeroPoint>,
}

/// Zero point of one operand of an integer contraction, equal for all elements of a group.
pub struct ZeroPoint {
    /// The zero point, in int32.
    pub value: PrimExpr,
    /// The other operand, in int32, whose sum it multiplies.
    pub operand: PrimExpr,
}

/// Product of upcast bytes in int32, with the zero point that is subtracted from one of them.
type ExactProduct<'a> = (PrimExpr, Option<(&'a PrimExpr, &'a PrimExpr)>);

impl ScaleGroups {
    /// Returns the groups of a sum of floats, if there are any.
    pub fn of(stage: &Stage) -> Option<ScaleGroups> {
        let (BinaryOp::Add, element) = combiner(stage)? else { return None };
        if stage.buffer.dtype != DType::FLOAT32 || stage.arg_result.is_some() {
            return None;
        }
        let mut factors = Vec::new();
        collect_factors(element, &mut factors);
        let axes = (0..stage.axes.len()).filter(|at| stage.axes[*at].reduce);
        let (axis, size) = axes.filter_map(|at| Some((at, shared_by(&factors, &stage.axes[at].var)?))).next_back()?;
        let is_scale = |factor: &&PrimExpr| group_of(factor, &stage.axes[axis].var) != Some(1);
        let (scales, others): (Vec<&PrimExpr>, Vec<&PrimExpr>) = factors.into_iter().partition(is_scale);
        let var = &stage.axes[axis].var;
        let exact = match &others[..] {
            [single] => exact_product(single, var),
            _ => None,
        };
        let exact = exact.and_then(|(element, zero)| {
            let size = zero.and_then(|(value, _)| group_of(value, var)).map_or(size, |group| gcd(size, group));
            (1 < size && size <= MAX_INT32_GROUP).then_some((element, zero, size))
        });
        let (element, zero, size) = match exact {
            Some(exact) => exact,
            None => (product(&others)?, None, size),
        };
        let zero = zero.map(|(value, operand)| ZeroPoint { value: value.clone(), operand: operand.clone() });
        Some(ScaleGroups { axis, size, scale: product(&scales)?, sum: sum(stage, element), zero })
    }

    /// Returns the groups whose sums dot instructions compute.
    pub fn of_dots(stage: &Stage) -> Option<ScaleGroups> {
        ScaleGroups::of(stage).filter(|groups| dots::dot(&groups.sum).is_some())
    }
}

/// Returns the number of consecutive values of an axis that share the factors that not all of them have.
fn shared_by(factors: &[&PrimExpr], var: &Var) -> Option<i64> {
    let groups = || factors.iter().filter_map(|factor| group_of(factor, var));
    let size = groups().filter(|group| *group > 1).reduce(gcd)?;
    (size > 1 && groups().any(|group| group == 1)).then_some(size)
}

/// Returns the number of consecutive values of an axis, from a multiple of it on, for which a value is the same: 32 for
/// `s[k // 32]`. `None` if it is invariant.
fn group_of(value: &PrimExpr, var: &Var) -> Option<i64> {
    match value.kind() {
        PrimKind::Var(own) if own == var => Some(1),
        PrimKind::Binary(BinaryOp::FloorDiv, position, count) if position.as_var() == Some(var) => {
            Some(count.as_int().filter(|count| *count > 1).unwrap_or(1))
        }
        _ => {
            let mut group = None;
            value.each_child(&mut |child| {
                group = match (group, group_of(child, var)) {
                    (Some(a), Some(b)) => Some(gcd(a, b)),
                    (a, b) => a.or(b),
                };
            });
            group
        }
    }
}

fn collect_factors<'a>(value: &'a PrimExpr, factors: &mut Vec<&'a PrimExpr>) {
    match value.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => {
            collect_factors(a, factors);
            collect_factors(b, factors);
        }
        _ => factors.push(value),
    }
}

fn product(factors: &[&PrimExpr]) -> Option<PrimExpr> {
    factors.iter().map(|factor| (*factor).clone()).reduce(|a, b| a * b)
}

/// Returns the product of upcast bytes in int32 that a value converts to float32.
fn exact_product<'a>(value: &'a PrimExpr, var: &Var) -> Option<ExactProduct<'a>> {
    let PrimKind::Cast(product) = value.kind() else { return None };
    let PrimKind::Binary(BinaryOp::Mul, a, b) = product.kind() else { return None };
    let is_upcast =
        |e: &PrimExpr| matches!(e.kind(), PrimKind::Cast(byte) if byte.dtype().is_integer() && byte.dtype().bits == 8);
    let shifted = |e: &'a PrimExpr| match e.kind() {
        PrimKind::Binary(BinaryOp::Sub, byte, zero) if is_upcast(byte) && group_of(zero, var) != Some(1) => {
            is_zero_point(zero).then_some((byte, zero))
        }
        _ => None,
    };
    if product.dtype() != DType::INT32 {
        return None;
    }
    match (is_upcast(a), is_upcast(b)) {
        (true, true) => Some((product.clone(), None)),
        (true, false) => shifted(b).map(|(b, zero)| (a.clone() * b.clone(), Some((zero, a)))),
        (false, true) => shifted(a).map(|(a, zero)| (a.clone() * b.clone(), Some((zero, b)))),
        (false, false) => None,
    }
}

/// Returns true if a value is an upcast byte, or a constant of the range of one.
fn is_zero_point(value: &PrimExpr) -> bool {
    match value.kind() {
        PrimKind::Cast(byte) => byte.dtype().is_integer() && byte.dtype().bits == 8,
        _ => value.as_int().is_some_and(|value| (-128..=255).contains(&value)),
    }
}

/// Returns the sum of these elements.
fn sum(stage: &Stage, element: PrimExpr) -> Stage {
    let dtype = element.dtype();
    let buffer = Buffer::new(format!("{}_group", stage.buffer.name), stage.buffer.shape.clone(), dtype);
    let value = PrimExpr::load(&buffer, stage.indices.clone()) + element;
    let init = Some(PrimExpr::constant(0.0, dtype));
    let sum = Stage::new(format!("{}_group", stage.name), stage.axes.clone(), buffer, stage.indices.clone(), value);
    sum.with_init(init).with_regions(stage.regions)
}
