//! CompactBufferAllocation: shrinks buffers of blocks to the accessed region.
//!
//! A buffer allocated in a loop is reduced to the region that the inner loops access, and indices are rebased to it.
//! Sizes do not depend on loops: if the region does, its maximum is used if known, otherwise the dimension stays.
//! Buffers whose pointer is taken, or that others alias, stay. The blocks' `buffer_dim_align` sets aligned strides.

mod accessed_regions;

use super::{block_with_init, each_kernel, misplaced};
use crate::{Context, OptionKind, Pass, PassOption};
use accessed_regions::AccessedRegions;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Var},
    tir::{Block, Buffer, Region, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.CompactBufferAllocation",
    doc: "Shrinks buffers of blocks to the accessed region",
    options: &[PassOption {
        name: "is_strict",
        kind: OptionKind::Bool,
        default: "true",
        doc: "Limit the region to the bounds of the original buffer",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let strict = context.options.is_on("is_strict");
    each_kernel(module, |name, kernel| {
        if let Some(span) = block_with_init(&kernel.body) {
            let help = "run passes `s_tir.LowerInitBlock` and `s_tir.ConvertBlocksToOpaque` first";
            return Err(misplaced(&PASS, name, "a block has a `T.init()`", help, span));
        }
        let mut axes = None;
        kernel.body.walk(&mut |stmt| {
            if matches!(&stmt.kind, StmtKind::Block(block) if !block.axes.is_empty()) {
                axes.get_or_insert(stmt.span);
            }
        });
        if let Some(span) = axes {
            let help = "run pass `s_tir.ConvertBlocksToOpaque` first";
            return Err(misplaced(&PASS, name, "a block has axes", help, span));
        }
        let parts = AccessedRegions::of(&kernel.body, strict);
        let aligned = alignments(&kernel.body);
        let small = |(buffer, part): (Buffer, Vec<(PrimExpr, PrimExpr)>)| {
            let (first, shape): (Vec<PrimExpr>, Vec<PrimExpr>) = part.into_iter().unzip();
            let strides = aligned.get(&buffer.data).map(|dims| strides(&shape, dims)).unwrap_or_default();
            let new = buffer.change(|b| (b.shape, b.strides) = (shape, strides));
            (buffer, (new, first))
        };
        let compactor = Compactor { small: parts.into_iter().map(small).collect() };
        compactor.stmt(&mut kernel.body);
        kernel.body.map_exprs(&mut |e| compactor.expr(e));
        Ok(())
    })
}

/// A dimension with the alignment factor and offset of its stride.
type Alignment = (usize, i64, i64);

/// Returns the alignments from annotations of blocks and allocations.
fn alignments(body: &Stmt) -> FxHashMap<Var, Vec<Alignment>> {
    let mut found: FxHashMap<Var, Vec<Alignment>> = FxHashMap::default();
    body.walk(&mut |stmt| {
        let declared = match &stmt.kind {
            StmtKind::Block(block) => &block.annotations,
            StmtKind::Alloc(_, annotations) => annotations,
            _ => return,
        };
        let Some(AttrValue::List(declared)) = declared.get("buffer_dim_align") else { return };
        for entry in declared {
            let (AttrValue::List(numbers) | AttrValue::Tuple(numbers)) = entry else { continue };
            let numbers: Vec<i64> = numbers.iter().filter_map(integer).collect();
            let [buffer, dim, factor, offset] = numbers[..] else { continue };
            let written =
                |block: &Block| Some(block.writes.as_ref()?.get(usize::try_from(buffer).ok()?)?.buffer.clone());
            let buffer = match &stmt.kind {
                StmtKind::Block(block) => written(block),
                StmtKind::Alloc(buffer, _) => Some(buffer.clone()),
                _ => None,
            };
            if let (Some(buffer), Ok(dim)) = (buffer, usize::try_from(dim)) {
                found.entry(buffer.data.clone()).or_default().push((dim, factor, offset));
            }
        }
    });
    found
}

fn integer(value: &AttrValue) -> Option<i64> {
    match value {
        AttrValue::Int(v) => Some(*v),
        AttrValue::Expr(e) => e.as_int(),
        _ => None,
    }
}

/// Returns the minimum strides for these alignments.
fn strides(shape: &[PrimExpr], alignments: &[Alignment]) -> Vec<PrimExpr> {
    let Some(first) = shape.first() else { return Vec::new() };
    let mut stride = PrimExpr::int(1, first.dtype());
    let mut strides = Vec::new();
    for (dim, size) in shape.iter().enumerate().rev() {
        if let Some((_, factor, offset)) = alignments.iter().find(|(d, factor, _)| *d == dim && *factor > 0) {
            let number = |v| PrimExpr::int(v, stride.dtype());
            let rest = arith::binary(BinaryOp::FloorMod, stride.clone(), number(*factor));
            let missing = arith::binary(BinaryOp::Sub, number(factor + offset), rest);
            let missing = arith::binary(BinaryOp::FloorMod, missing, number(*factor));
            stride = arith::binary(BinaryOp::Add, stride, missing);
        }
        strides.push(stride.clone());
        stride = arith::binary(BinaryOp::Mul, stride, size.clone());
    }
    strides.reverse();
    strides
}

/// Replaces buffers by smaller ones.
struct Compactor {
    /// The smaller buffers, with the original indices of their first elements.
    small: FxHashMap<Buffer, (Buffer, Vec<PrimExpr>)>,
}

impl Compactor {
    fn stmt(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Alloc(buffer, _) => self.allocation(buffer),
            StmtKind::Store { buffer, indices, .. } => {
                if let Some((new, first)) = self.small.get(buffer) {
                    *indices = rebased(indices, first);
                    *buffer = new.clone();
                }
            }
            StmtKind::Block(block) => {
                block.alloc_buffers.iter_mut().for_each(|buffer| self.allocation(buffer));
                block.reads.iter_mut().chain(&mut block.writes).flatten().for_each(|region| self.region(region));
                block.match_buffers.iter_mut().for_each(|matched| self.region(&mut matched.source));
            }
            _ => {}
        }
        stmt.each_child_mut(&mut |child| self.stmt(child));
    }

    fn allocation(&self, buffer: &mut Buffer) {
        if let Some((new, _)) = self.small.get(buffer) {
            *buffer = new.clone();
        }
    }

    fn region(&self, region: &mut Region) {
        if let Some((new, first)) = self.small.get(&region.buffer) {
            for ((min, _), first) in region.ranges.iter_mut().zip(first) {
                *min = arith::binary(BinaryOp::Sub, min.clone(), first.clone());
            }
            region.buffer = new.clone();
        }
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |child| self.expr(child));
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => match self.small.get(buffer) {
                Some((new, first)) => PrimExpr::load_masked(new, rebased(indices, first), mask.clone()),
                None => e,
            },
            _ => e,
        }
    }
}

fn rebased(indices: &[PrimExpr], first: &[PrimExpr]) -> Vec<PrimExpr> {
    let pairs = indices.iter().zip(first);
    pairs.map(|(index, first)| arith::binary(BinaryOp::Sub, index.clone(), first.clone())).collect()
}

/// Returns true if both are provably equal.
fn is_same(analyzer: &Analyzer, a: &PrimExpr, b: &PrimExpr) -> bool {
    let (a, b) = arith::match_types(a.clone(), b.clone());
    analyzer.prove_eq(&a, &b)
}
