//! Recognition of kernels that copy a buffer in row-major order.

use hammock_ir::{
    PrimExpr,
    arith::Analyzer,
    prim::{BinaryOp, IterKind, PrimKind, Substitution, Var},
    tir::{Block, Buffer, Loop, PrimFunc, Stmt, StmtKind},
};
use hammock_ops::dims;

/// Returns the parameter, among the first `inputs`, whose elements the kernel copies to its last buffer in order,
/// each once, and nothing else. `None` for other kernels, and if that cannot be proved.
pub fn copied_param(func: &PrimFunc, inputs: usize) -> Option<usize> {
    let to = func.params.last()?.buffer.as_ref()?;
    let mut nest = Nest { analyzer: Analyzer::for_shapes(), loops: Vec::new() };
    let block = nest.innermost(&func.body)?;
    let StmtKind::Store { buffer, indices, value, predicate: None } = &block.body.kind else { return None };
    let PrimKind::Load(from, from_indices, None) = value.kind() else { return None };
    let param = func.params.iter().take(inputs).position(|param| param.buffer.as_ref() == Some(from))?;
    let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.elem_offset.is_none();
    if buffer != to || from.dtype != to.dtype || !plain(from) || !plain(to) {
        return None;
    }
    nest.covers(block)?;
    let extents: Vec<PrimExpr> = block.axes.iter().map(|axis| axis.dom.1.clone()).collect();
    let axes: Vec<PrimExpr> = block.axes.iter().map(|axis| axis.var.expr()).collect();
    let linear = row_major(&axes, &extents);
    let same =
        |buffer: &Buffer, indices: &[PrimExpr]| nest.analyzer.prove_eq(&row_major(indices, &buffer.shape), &linear);
    let whole = nest.analyzer.prove_eq(&dims::product(&extents), &dims::product(&to.shape));
    (whole && same(to, indices) && same(from, from_indices)).then_some(param)
}

/// Loop nest of a kernel's only block.
struct Nest<'k> {
    analyzer: Analyzer,
    loops: Vec<&'k Loop>,
}

impl<'k> Nest<'k> {
    /// Returns the block in the innermost loop; `None` if the nest contains anything else.
    fn innermost(&mut self, stmt: &'k Stmt) -> Option<&'k Block> {
        match &stmt.kind {
            StmtKind::Seq(stmts) => match stmts.as_slice() {
                [only] => self.innermost(only),
                _ => None,
            },
            StmtKind::For(inner) if inner.step.is_none() && dims::is(&inner.min, 0) => {
                self.analyzer.bind(&inner.var, &inner.min, &inner.extent);
                self.loops.push(inner);
                self.innermost(&inner.body)
            }
            StmtKind::Block(block) if is_plain(block) && block.axes.is_empty() && self.loops.is_empty() => {
                self.innermost(&block.body)
            }
            StmtKind::Block(block) if is_plain(block) => {
                for axis in &block.axes {
                    self.analyzer.bind(&axis.var, &axis.dom.0, &axis.dom.1);
                }
                Some(block)
            }
            _ => None,
        }
    }

    /// Succeeds if the block runs once for each index of its axes: either each axis is a loop, or the linear index is
    /// the iteration number, counted over the loops in some order.
    fn covers(&self, block: &Block) -> Option<()> {
        let extents: Vec<PrimExpr> = block.axes.iter().map(|axis| axis.dom.1.clone()).collect();
        let loops: Vec<PrimExpr> = self.loops.iter().map(|l| l.extent.clone()).collect();
        if !self.analyzer.prove_eq(&dims::product(&extents), &dims::product(&loops)) {
            return None;
        }
        let mut taken: Vec<&Var> = Vec::new();
        let is_loop = |axis: &PrimExpr, extent: &PrimExpr| {
            let found = self.loops.iter().find(|l| axis.as_var() == Some(&l.var))?;
            self.analyzer.prove_eq(&found.extent, extent).then_some(&found.var)
        };
        let each_is_loop = block.axes.iter().all(|axis| match is_loop(&axis.binding, &axis.dom.1) {
            Some(var) if !taken.contains(&var) => {
                taken.push(var);
                true
            }
            _ => dims::is(&axis.dom.1, 1),
        });
        if each_is_loop {
            return Some(());
        }
        let values: Vec<PrimExpr> = block.axes.iter().map(|axis| axis.binding.clone()).collect();
        let count = self.count(&row_major(&values, &extents))?;
        let mut divisor = 1;
        for (i, axis) in block.axes.iter().enumerate().rev().filter(|(_, axis)| !dims::is(&axis.dom.1, 1)) {
            let (divided_by, modulo) = self.digit(&axis.binding, &count)?;
            let is_first = block.axes[..i].iter().all(|axis| dims::is(&axis.dom.1, 1));
            if divided_by != divisor || modulo.map_or(!is_first, |m| !dims::is(&axis.dom.1, m)) {
                return None;
            }
            if !is_first {
                divisor = divisor.checked_mul(axis.dom.1.as_int()?)?;
            }
        }
        Some(())
    }

    /// Returns `d` and `m` if a value is `count // d % m`, or `count // d`.
    fn digit(&self, value: &PrimExpr, count: &PrimExpr) -> Option<(i64, Option<i64>)> {
        if self.analyzer.prove_eq(value, count) {
            return Some((1, None));
        }
        let PrimKind::Binary(op, inner, by) = value.kind() else { return None };
        let by = by.as_int().filter(|by| *by > 0)?;
        let (divided_by, modulo) = self.digit(inner, count)?;
        if modulo.is_some_and(|modulo| modulo % by != 0) {
            return None;
        }
        match op {
            BinaryOp::FloorDiv => Some((divided_by.checked_mul(by)?, modulo.map(|modulo| modulo / by))),
            BinaryOp::FloorMod => Some((divided_by, Some(by))),
            _ => None,
        }
    }

    /// Returns the iteration number over loops of known extents, ordered by their strides in the linear index,
    /// largest first.
    fn count(&self, linear: &PrimExpr) -> Option<PrimExpr> {
        let at = |varied: Option<&Var>| {
            let value = |l: &&Loop| (l.var.clone(), PrimExpr::int64(i64::from(Some(&l.var) == varied)));
            let values: Substitution = self.loops.iter().map(value).collect();
            self.analyzer.as_constant(&linear.substitute(&values))
        };
        let start = at(None)?;
        let mut order: Vec<(i64, &Loop)> = Vec::new();
        for l in self.loops.iter().filter(|l| !dims::is(&l.extent, 1)) {
            order.push((at(Some(&l.var))? - start, l));
        }
        order.sort_by_key(|(step, _)| -*step);
        let values: Vec<PrimExpr> = order.iter().map(|(_, l)| l.var.expr()).collect();
        let extents: Vec<PrimExpr> = order.iter().map(|(_, l)| l.extent.clone()).collect();
        Some(row_major(&values, &extents))
    }
}

/// Returns true if the block has only spatial axes that start at zero, and a body.
fn is_plain(block: &Block) -> bool {
    let axes = block.axes.iter().all(|axis| axis.kind == IterKind::Spatial && dims::is(&axis.dom.0, 0));
    axes && block.predicate.is_none() && block.init.is_none() && block.match_buffers.is_empty()
}

/// Returns the linear index in row-major order.
fn row_major(indices: &[PrimExpr], extents: &[PrimExpr]) -> PrimExpr {
    let step =
        |linear: PrimExpr, (index, extent): (&PrimExpr, &PrimExpr)| dims::add(&dims::mul(&linear, extent), index);
    indices.iter().zip(extents).fold(PrimExpr::int64(0), step)
}
