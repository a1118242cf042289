//! Constant folding of operators on tensors with known elements.

use crate::known_tensor::{self, KnownTensor};
use hammock_ir::{
    DType, PrimExpr,
    arith::Analyzer,
    prim::{BinaryOp, compare},
};
use hammock_ops::dims;

/// Foldable binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldOp {
    Add,
    Sub,
    Mul,
    /// Truncates for integers.
    Div,
    FloorMod,
    Max,
    Min,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

/// Returns the zero element of a dtype.
pub fn zero(dtype: DType) -> PrimExpr {
    if dtype.is_floating() { PrimExpr::float(0.0, dtype) } else { PrimExpr::int64(0) }
}

/// Folds `x op y` with broadcasting; `None` if an element of the result is not known.
pub fn binary(op: FoldOp, x: &KnownTensor, y: &KnownTensor) -> Option<KnownTensor> {
    let shape = broadcast(&x.shape, &y.shape)?;
    known_tensor::count(&shape)?;
    let indices = indices_of(&shape);
    let element = |at: &Vec<i64>| {
        let (a, b) = (x.at(at), y.at(at));
        if x.dtype.is_floating() { of_floats(op, a.as_float()?, b.as_float()?, x.dtype) } else { of_ints(op, a, b) }
    };
    let elements = indices.iter().map(element).collect::<Option<Vec<_>>>()?;
    let predicate = matches!(
        op,
        FoldOp::Equal
            | FoldOp::Less
            | FoldOp::LessOrEqual
            | FoldOp::Greater
            | FoldOp::GreaterOrEqual
            | FoldOp::And
            | FoldOp::Or
    );
    KnownTensor::new(&shape, if predicate { DType::BOOL } else { x.dtype }, elements)
}

/// Applies a function to each float; `None` if an element is not a constant.
pub fn unary(x: &KnownTensor, exact: fn(f64) -> f64) -> Option<KnownTensor> {
    if !x.dtype.is_floating() {
        return None;
    }
    let elements = x.floats()?.into_iter().map(|v| known_tensor::float(exact(v), x.dtype));
    KnownTensor::new(&x.shape, x.dtype, elements)
}

/// Folds `condition ? x : y` with broadcasting, for constant conditions.
pub fn select(condition: &KnownTensor, x: &KnownTensor, y: &KnownTensor) -> Option<KnownTensor> {
    let shape = broadcast(&broadcast(&condition.shape, &x.shape)?, &y.shape)?;
    known_tensor::count(&shape)?;
    let chosen = |at: &Vec<i64>| Some(if condition.at(at).as_int()? != 0 { x.at(at) } else { y.at(at) }.clone());
    let elements = indices_of(&shape).iter().map(chosen).collect::<Option<Vec<_>>>()?;
    KnownTensor::new(&shape, x.dtype, elements)
}

fn of_ints(op: FoldOp, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
    let exact = |checked: fn(i64, i64) -> Option<i64>, otherwise: fn(&PrimExpr, &PrimExpr) -> PrimExpr| match (
        a.as_int(),
        b.as_int(),
    ) {
        (Some(a), Some(b)) => checked(a, b).map(PrimExpr::int64),
        _ => Some(dims::simplify(&otherwise(a, b))),
    };
    let truth = |op: BinaryOp| {
        let condition = compare(op, a.clone(), b.clone());
        let analyzer = Analyzer::for_shapes();
        if analyzer.prove(&condition) {
            return Some(PrimExpr::int64(1));
        }
        analyzer.prove(&condition.not()).then(|| PrimExpr::int64(0))
    };
    match op {
        FoldOp::Add => exact(i64::checked_add, dims::add),
        FoldOp::Sub => exact(i64::checked_sub, dims::sub),
        FoldOp::Mul => exact(i64::checked_mul, dims::mul),
        FoldOp::Div | FoldOp::FloorMod => match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) if op == FoldOp::Div => a.checked_div(b).map(PrimExpr::int64),
            (Some(a), Some(b)) => a.checked_rem_euclid(b).filter(|_| b > 0).map(PrimExpr::int64),
            // For nonnegative dividends, flooring equals truncation.
            (_, Some(by)) if by > 0 && dims::at_least(a, &PrimExpr::int64(0)) == Some(true) => {
                Some(if op == FoldOp::Div { dims::floordiv(a, b) } else { dims::floormod(a, b) })
            }
            _ => None,
        },
        FoldOp::Max => Some(dims::max(a, b)),
        FoldOp::Min => Some(dims::min(a, b)),
        FoldOp::Equal => truth(BinaryOp::Eq).or_else(|| (dims::equal(a, b) == Some(false)).then(|| PrimExpr::int64(0))),
        FoldOp::Less => truth(BinaryOp::Lt),
        FoldOp::LessOrEqual => truth(BinaryOp::Le),
        FoldOp::Greater => truth(BinaryOp::Gt),
        FoldOp::GreaterOrEqual => truth(BinaryOp::Ge),
        FoldOp::And => Some(PrimExpr::int64(a.as_int()? & b.as_int()?)),
        FoldOp::Or => Some(PrimExpr::int64(a.as_int()? | b.as_int()?)),
    }
}

fn of_floats(op: FoldOp, a: f64, b: f64, dtype: DType) -> Option<PrimExpr> {
    let number = |v: f64| Some(known_tensor::float(v, dtype));
    let truth = |v: bool| Some(PrimExpr::int64(i64::from(v)));
    match op {
        FoldOp::Add => number(a + b),
        FoldOp::Sub => number(a - b),
        FoldOp::Mul => number(a * b),
        FoldOp::Div => number(a / b),
        FoldOp::Equal => truth(a == b),
        FoldOp::Less => truth(a < b),
        FoldOp::LessOrEqual => truth(a <= b),
        FoldOp::Greater => truth(a > b),
        FoldOp::GreaterOrEqual => truth(a >= b),
        FoldOp::Max if !a.is_nan() && !b.is_nan() => number(a.max(b)),
        FoldOp::Min if !a.is_nan() && !b.is_nan() => number(a.min(b)),
        _ => None,
    }
}

/// Returns the shape that two shapes broadcast to.
fn broadcast(x: &[i64], y: &[i64]) -> Option<Vec<i64>> {
    let rank = x.len().max(y.len());
    let size = |shape: &[i64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    (0..rank)
        .map(|axis| match (size(x, axis), size(y, axis)) {
            (a, b) if a == b || b == 1 => Some(a),
            (1, b) => Some(b),
            _ => None,
        })
        .collect()
}

/// Returns the indices of all elements of a shape, in row-major order.
pub fn indices_of(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for size in shape {
        let extend = |index: &Vec<i64>| {
            let index = index.clone();
            (0..*size).map(move |i| [&index[..], &[i]].concat())
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

impl KnownTensor {
    /// Returns the element at an index of a shape that this one broadcasts to.
    pub fn at(&self, index: &[i64]) -> &PrimExpr {
        let skip = index.len() - self.shape.len();
        let offset =
            self.shape.iter().zip(&index[skip..]).fold(0, |offset, (size, i)| offset * size + (i % size.max(&1)));
        &self.elements[offset as usize]
    }
}
