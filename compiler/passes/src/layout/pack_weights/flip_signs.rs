//! Zero-point shift for dot products of two signed or two unsigned operands: the instructions multiply unsigned by
//! signed bytes.
//!
//! The operand that a weight is multiplied with is shifted by 128 by flipping its sign bits. The compensation term,
//! -128 (or 128) times the sum of the weight along the reduction axis, is added to the accumulator's start; it is
//! known if the weight is. Integers wrap, so the result is exact.

use crate::analysis::attributes::LAYOUT_REWRITE;
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Var},
    tir::{Block, BlockAxis, Buffer, Region, Stmt, StmtKind},
};

/// Sign bit of a byte, which is also the shift.
const SIGN: i64 = 128;

/// Compensation term.
pub struct Compensation {
    /// Its buffer, indexed by the weight's spatial dimensions.
    pub buffer: Buffer,
    /// Loop nest that computes it.
    pub stmt: Stmt,
}

/// Flips the signs of the operand that a weight is multiplied with, if exactly one block reads the weight, in a
/// contraction.
pub fn flip_signs(stmt: &mut Stmt, weight: &Buffer) -> Option<Compensation> {
    let reads = |e: &PrimExpr| e.any(&mut |e| matches!(e.kind(), PrimKind::Load(buffer, ..) if buffer == weight));
    let mut readers = 0;
    stmt.walk(&mut |stmt| match &stmt.kind {
        StmtKind::Block(_) | StmtKind::For(_) | StmtKind::Seq(_) => {}
        _ => stmt.each_expr(&mut |e| readers += usize::from(reads(e))),
    });
    if readers == 1 { in_block(stmt, weight) } else { None }
}

/// Like [`flip_signs`], in the first block that is such a contraction.
fn in_block(stmt: &mut Stmt, weight: &Buffer) -> Option<Compensation> {
    if let StmtKind::Block(block) = &mut stmt.kind
        && let Some(contraction) = Contraction::of(block, weight)
    {
        let compensation = contraction.compensation(weight);
        contraction.apply(block, &compensation.buffer);
        return Some(compensation);
    }
    let mut found = None;
    stmt.each_child_mut(&mut |child| {
        if found.is_none() {
            found = in_block(child, weight);
        }
    });
    found
}

/// A contraction with a weight.
struct Contraction {
    /// Axes that index the weight, with their kinds.
    axes: Vec<(Var, IterKind)>,
    /// Dtype of the accumulator.
    dtype: DType,
    /// New value: the accumulator plus the product with the flipped operand.
    value: PrimExpr,
}

impl Contraction {
    fn of(block: &Block, weight: &Buffer) -> Option<Contraction> {
        let (StmtKind::Store { buffer, value, .. }, Some(init)) = (&block.body.kind, &block.init) else { return None };
        let PrimKind::Binary(BinaryOp::Add, a, b) = value.kind() else { return None };
        let own = |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(loaded, ..) if loaded == buffer);
        let (sum, product) = if own(a) { (a, b) } else { own(b).then_some((b, a))? };
        let PrimKind::Binary(BinaryOp::Mul, x, y) = product.kind() else { return None };
        let (PrimKind::Cast(from_x), PrimKind::Cast(from_y)) = (x.kind(), y.kind()) else { return None };
        let indices = |e: &PrimExpr| match e.kind() {
            PrimKind::Load(buffer, indices, None) if buffer == weight => Some(indices.to_vec()),
            _ => None,
        };
        let (other, own, indices) = match (indices(from_x), indices(from_y)) {
            (None, Some(indices)) => (from_x, y, indices),
            (Some(indices), None) => (from_y, x, indices),
            _ => return None,
        };
        let axis = |index: &PrimExpr| {
            let axis = block.axes.iter().find(|axis| index.as_var() == Some(&axis.var))?;
            Some((axis.var.clone(), axis.kind))
        };
        let axes = indices.iter().map(axis).collect::<Option<Vec<_>>>()?;
        let dtype = buffer.dtype;
        let bytes = other.dtype() == weight.dtype && weight.dtype.bits == 8 && weight.dtype.is_integer();
        let starts = matches!(&init.kind, StmtKind::Store { buffer: first, .. } if first == buffer);
        let value = || sum.clone() + flipped(other).cast(dtype) * own.clone();
        (bytes && starts && dtype.bits == 32 && dtype.is_integer()).then(|| Contraction { axes, dtype, value: value() })
    }

    /// Returns the spatial dimensions of the weight.
    fn spatial_dims(&self) -> impl Iterator<Item = usize> {
        (0..self.axes.len()).filter(|at| self.axes[*at].1 != IterKind::Reduce)
    }

    /// Returns the compensation term.
    fn compensation(&self, weight: &Buffer) -> Compensation {
        let shape: Vec<PrimExpr> = self.spatial_dims().map(|at| weight.shape[at].clone()).collect();
        let buffer = Buffer::new(format!("{}_sums", weight.name), shape, self.dtype);
        let loops: Vec<Var> = (0..self.axes.len()).map(|at| Var::int64(format!("ax{at}"))).collect();
        let axis = |(at, var): (usize, &Var)| BlockAxis {
            var: Var::int64(format!("v_{}", var.name())),
            dom: (PrimExpr::int64(0), weight.shape[at].clone()),
            kind: self.axes[at].1,
            binding: var.expr(),
        };
        let axes: Vec<BlockAxis> = loops.iter().enumerate().map(axis).collect();
        let at: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
        let own: Vec<PrimExpr> = self.spatial_dims().map(|dim| at[dim].clone()).collect();
        let by = PrimExpr::int(if weight.dtype.is_int() { -SIGN } else { SIGN }, DType::INT32).cast(self.dtype);
        let term = PrimExpr::load(weight, at.clone()).cast(self.dtype) * by;
        let zero = PrimExpr::int(0, self.dtype);
        let block = Block {
            name: buffer.name.clone(),
            axes,
            reads: Some(vec![Region::full(weight)]),
            writes: Some(vec![Region::point(&buffer, own.clone())]),
            annotations: Attrs::new().with(LAYOUT_REWRITE, true),
            init: Some(Stmt::store(&buffer, own.clone(), zero)),
            ..Block::root(Vec::new(), Stmt::store(&buffer, own.clone(), PrimExpr::load(&buffer, own) + term))
        };
        let nest = |body, (var, size): (&Var, &PrimExpr)| Stmt::serial(var.clone(), size.clone(), body);
        let stmt = loops.iter().zip(&weight.shape).rev().fold(Stmt::from(block), nest);
        Compensation { buffer, stmt }
    }

    /// Makes the block use the flipped operand, and start from the compensation term.
    fn apply(self, block: &mut Block, compensation: &Buffer) {
        let start = PrimExpr::load(compensation, self.spatial_dims().map(|at| self.axes[at].0.expr()).collect());
        if let StmtKind::Store { value, .. } = &mut block.body.kind {
            *value = self.value;
        }
        if let Some(StmtKind::Store { value, .. }) = block.init.as_mut().map(|init| &mut init.kind) {
            *value = if value.as_int() == Some(0) { start } else { value.clone() + start };
        }
        block.reads.iter_mut().for_each(|reads| reads.push(Region::full(compensation)));
    }
}

/// Flips the sign bits of bytes and returns them as bytes of the other signedness.
fn flipped(bytes: &PrimExpr) -> PrimExpr {
    let to = if bytes.dtype().is_int() { DType::UINT8 } else { DType::INT8 };
    let sign = PrimExpr::int(if to.is_int() { -SIGN } else { SIGN }, to);
    let raw = PrimExpr::intrin("reinterpret", vec![bytes.clone()], to);
    PrimExpr::intrin("bitwise_xor", vec![raw, sign], to)
}
