//! LowerMatchBuffer: replaces matched buffers by the regions that they alias.
//!
//! An access of a matched buffer becomes an access of the region's buffer, offset by the region's first index;
//! variables in its shape, strides and offset, and its pointer, get their values. Read and write regions of inner
//! blocks are rewritten too. A region may have additional leading dimensions of extent 1.

use super::{each_kernel, misplaced};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Module, PrimExpr, Span,
    arith::Analyzer,
    prim::{PrimKind, Substitution},
    tir::{Buffer, MatchBuffer, Region, Stmt, StmtKind, fresh},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.LowerMatchBuffer",
    doc: "Replaces matched buffers by the regions that they alias",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        let mut lowerer = Lowerer { analyzer: Analyzer::new(), views: FxHashMap::default(), values: <_>::default() };
        lowerer.collect(&mut kernel.body).map_err(|(why, span)| {
            let help = "a matched buffer is as large as its region, in the same memory, and of the same element type";
            misplaced(&PASS, name, &why, help, span)
        })?;
        if !lowerer.views.is_empty() {
            kernel.body.map_exprs(&mut |e| lowerer.expr(e));
            lowerer.stores(&mut kernel.body);
            kernel.body = fresh::replace(&kernel.body, lowerer.values);
        }
        Ok(())
    })
}

/// Reason why a buffer does not match, and the span.
type Mismatch = (String, Span);

struct Lowerer {
    analyzer: Analyzer,
    /// Regions of matched buffers, in buffers that are not matched.
    views: FxHashMap<Buffer, Region>,
    /// Values of variables of matched buffers.
    values: Substitution,
}

impl Lowerer {
    /// Removes the matched buffers of blocks, outer ones first.
    fn collect(&mut self, stmt: &mut Stmt) -> Result<(), Mismatch> {
        match &mut stmt.kind {
            StmtKind::For(l) if l.step.is_none() => self.analyzer.bind(&l.var, &l.min, &l.extent),
            StmtKind::Block(block) => {
                for axis in &block.axes {
                    self.analyzer.bind(&axis.var, &axis.dom.0, &axis.dom.1);
                }
                for matched in std::mem::take(&mut block.match_buffers) {
                    self.add(&matched).map_err(|why| (why, stmt.span))?;
                }
            }
            _ => {}
        }
        let mut result = Ok(());
        stmt.each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.collect(child);
            }
        });
        result
    }

    /// Replaces matched buffers in stores, and in the regions of blocks.
    fn stores(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Store { buffer, indices, .. } if self.views.contains_key(buffer) => {
                (*buffer, *indices) = self.element(buffer, indices);
            }
            StmtKind::Block(block) => {
                for region in block.reads.iter_mut().flatten().chain(block.writes.iter_mut().flatten()) {
                    *region = self.region(region);
                }
            }
            _ => {}
        }
        stmt.each_child_mut(&mut |child| self.stores(child));
    }

    /// Records a matched buffer.
    fn add(&mut self, matched: &MatchBuffer) -> Result<(), String> {
        let MatchBuffer { buffer, source } = matched;
        let source = self.region(source);
        let fail = |why: &str| Err(format!("buffer `{}` {why} of `{}`", buffer.name, source.buffer.name));
        if buffer.dtype != source.buffer.dtype {
            return fail("has another element type than that");
        }
        if buffer.scope != source.buffer.scope {
            return fail("is in other memory than that");
        }
        let Some(front) = source.ranges.len().checked_sub(buffer.ndim()) else {
            return fail("has more dimensions than the region");
        };
        let is_one = |extent: &PrimExpr| self.analyzer.as_constant(extent) == Some(1);
        if !source.ranges[..front].iter().all(|(_, extent)| is_one(extent)) {
            return fail("has fewer dimensions than the region");
        }
        for (size, (_, extent)) in buffer.shape.iter().zip(&source.ranges[front..]) {
            if !self.matches_value(size, extent) {
                return fail("has another size than the region");
            }
        }
        let strides = strides(&source.buffer);
        if !buffer.strides.iter().zip(&strides[front..]).all(|(stride, value)| self.matches_value(stride, value)) {
            return fail("has other strides than the region");
        }
        let zero = PrimExpr::int(0, source.buffer.shape.first().map_or(DType::INT32, PrimExpr::dtype));
        let corner = source.ranges.iter().zip(&strides).map(|((min, _), stride)| min * stride).fold(zero, |a, b| a + b);
        let offset = source.buffer.elem_offset.as_ref().map_or(corner.clone(), |offset| offset + corner);
        if let Some(declared) = &buffer.elem_offset
            && !self.matches_value(declared, &offset)
        {
            return fail("has another offset than the region");
        }
        self.values.insert(buffer.data.clone(), source.buffer.data.expr());
        self.views.insert(buffer.clone(), source);
        Ok(())
    }

    /// Matches a declared expression against a value; a variable gets the value.
    fn matches_value(&mut self, declared: &PrimExpr, value: &PrimExpr) -> bool {
        let value = self.analyzer.simplify(&value.substitute(&self.values).cast(declared.dtype()));
        match declared.as_var() {
            Some(var) if !self.values.contains_key(var) && !value.uses(var) => {
                self.values.insert(var.clone(), value);
                true
            }
            _ => self.analyzer.prove_eq(&declared.substitute(&self.values), &value),
        }
    }

    /// Rewrites a region to a buffer that is not matched.
    fn region(&self, region: &Region) -> Region {
        let Some(source) = self.views.get(&region.buffer) else { return region.clone() };
        let front = source.ranges.len() - region.ranges.len();
        let inner = source.ranges[front..].iter().zip(&region.ranges);
        let inner = inner.map(|((corner, _), (min, extent))| (self.sum(corner, min), extent.clone()));
        Region { buffer: source.buffer.clone(), ranges: source.ranges[..front].iter().cloned().chain(inner).collect() }
    }

    /// Rewrites an access to a buffer that is not matched.
    fn element(&self, buffer: &Buffer, indices: &[PrimExpr]) -> (Buffer, Vec<PrimExpr>) {
        let source = &self.views[buffer];
        let front = source.ranges.len() - indices.len();
        let inner = source.ranges[front..].iter().zip(indices).map(|((corner, _), index)| self.sum(corner, index));
        (source.buffer.clone(), source.ranges[..front].iter().map(|(min, _)| min.clone()).chain(inner).collect())
    }

    fn sum(&self, a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
        if b.dtype().is_vector() {
            return a.clone().cast(b.dtype().element()).broadcast(b.dtype().lanes) + b;
        }
        match (a.as_int(), b.as_int()) {
            (Some(0), _) => b.clone(),
            (_, Some(0)) => a.clone(),
            _ => self.analyzer.simplify(&(a + b)),
        }
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |child| self.expr(child));
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) if self.views.contains_key(buffer) => {
                let (buffer, indices) = self.element(buffer, indices);
                PrimExpr::load_masked(&buffer, indices, mask.clone())
            }
            _ => e,
        }
    }
}

/// Returns the strides of a buffer.
fn strides(buffer: &Buffer) -> Vec<PrimExpr> {
    if !buffer.strides.is_empty() {
        return buffer.strides.clone();
    }
    let mut strides: Vec<PrimExpr> = buffer.shape.iter().map(|size| PrimExpr::int(1, size.dtype())).collect();
    for axis in (1..buffer.ndim()).rev() {
        strides[axis - 1] = &strides[axis] * &buffer.shape[axis];
    }
    strides
}
