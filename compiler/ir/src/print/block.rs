//! Prints blocks.

use super::{attr::end, printer::Printer};
use crate::{
    Attrs, PrimExpr, equal,
    prim::{IterKind, PrimKind},
    tir::{Block, BlockAxis, Buffer, Region},
};

impl Printer<'_> {
    /// Prints a block.
    pub fn tir_block(&mut self, block: &Block) {
        self.tir("sblock(");
        self.quote(&block.name);
        self.push(if block.no_realize { ", no_realize=True)" } else { ")" });
        let call = std::mem::take(&mut self.line);
        self.whole_line(&format!("with {call}:"));
        self.block(|p| p.block_body(block));
    }

    /// Prints the buffers that live as long as a block.
    pub fn block_allocations(&mut self, block: &Block) {
        for buffer in &block.alloc_buffers {
            self.alloc_line("sblock_alloc_buffer", buffer, &Attrs::new());
        }
    }

    /// Appends a box of a buffer: `A[0:4, j]`.
    pub fn region(&mut self, region: &Region) {
        self.buffer(&region.buffer);
        self.indices(&region.ranges, |p, range| p.range(range));
    }

    fn block_body(&mut self, block: &Block) {
        self.axes(block);
        let own_first = mentions_own_buffers(block);
        if own_first {
            self.block_buffers(block);
        }
        if let Some(predicate) = block.predicate.as_ref().filter(|e| e.as_int() != Some(1)) {
            self.tir("where(");
            self.expr(predicate);
            self.push(")");
            self.end_line();
        }
        self.regions("reads(", block.reads.as_deref());
        self.regions("writes(", block.writes.as_deref());
        if !block.annotations.is_empty() {
            self.tir("sblock_attr(");
            self.attr_dict(&block.annotations, |_, _| false);
            self.push(")");
            self.end_line();
        }
        if !own_first {
            self.block_buffers(block);
        }
        if let Some(init) = &block.init {
            self.push("with ");
            self.tir("init()");
            self.header();
            self.block(|p| p.body(init));
        }
        self.body(&block.body);
    }

    /// Prints the buffers that a block allocates or matches.
    fn block_buffers(&mut self, block: &Block) {
        self.block_allocations(block);
        for matched in &block.match_buffers {
            self.match_line(matched);
        }
    }

    fn regions(&mut self, call: &str, regions: Option<&[Region]>) {
        let Some(regions) = regions else { return };
        self.tir(call);
        self.list(regions, |p, r| p.region(r));
        self.push(")");
        self.end_line();
    }

    /// Prints the axes: runs of two or more that are bound to whole loops share a line.
    fn axes(&mut self, block: &Block) {
        let mut axes = &block.axes[..];
        while let [first, rest @ ..] = axes {
            let run = if block.no_realize { 0 } else { axes.iter().take_while(|a| self.is_whole_loop(a)).count() };
            if run > 1 {
                self.remapped(&axes[..run]);
                axes = &axes[run..];
            } else {
                self.axis(first, block.no_realize);
                axes = rest;
            }
        }
    }

    /// Returns true if the axis has exactly the range of an enclosing loop.
    fn is_whole_loop(&self, axis: &BlockAxis) -> bool {
        let Some((min, extent)) = axis.binding.as_var().and_then(|v| self.loops.get(v)) else { return false };
        matches!(axis.kind, IterKind::Spatial | IterKind::Reduce)
            && equal::exprs(min, &axis.dom.0)
            && equal::exprs(extent, &axis.dom.1)
    }

    fn remapped(&mut self, axes: &[BlockAxis]) {
        let names: Vec<_> = axes.iter().map(|a| self.define_scalar(&a.var)).collect();
        let kinds: String = axes.iter().map(|a| if a.kind == IterKind::Spatial { 'S' } else { 'R' }).collect();
        self.push(&names.join(", "));
        self.push(" = ");
        self.tir("axis.remap(");
        self.quote(&kinds);
        self.push(", [");
        self.list(axes, |p, a| p.expr(&a.binding));
        self.push("])");
        self.end_line();
    }

    fn axis(&mut self, axis: &BlockAxis, no_binding: bool) {
        let call = self.capture(|p| {
            p.tir(match axis.kind {
                IterKind::Spatial => "axis.spatial(",
                IterKind::Reduce => "axis.reduce(",
                IterKind::Scan => "axis.scan(",
                IterKind::Opaque | IterKind::ThreadIndex => "axis.opaque(",
            });
            p.domain(&axis.dom);
            if !no_binding {
                p.push(", ");
                p.expr(&axis.binding);
            }
            p.push(")");
        });
        let name = self.define_scalar(&axis.var);
        self.whole_line(&format!("{name} = {call}"));
    }

    fn domain(&mut self, (min, extent): &(PrimExpr, PrimExpr)) {
        if min.as_int() == Some(0) {
            self.expr(extent);
        } else {
            self.tuple([min, &end(min, extent)], |p, e| p.expr(e));
        }
    }
}

/// Returns true if a block's header uses the block's own buffers, which then must be printed first.
fn mentions_own_buffers(block: &Block) -> bool {
    let own = |b: &Buffer| block.alloc_buffers.contains(b) || block.match_buffers.iter().any(|m| m.buffer == *b);
    let loads = |e: &PrimExpr| e.any(&mut |x| matches!(x.kind(), PrimKind::Load(b, ..) if own(b)));
    let regions = block.reads.iter().chain(&block.writes).flatten();
    block.predicate.as_ref().is_some_and(loads)
        || regions
            .into_iter()
            .any(|r| own(&r.buffer) || r.ranges.iter().any(|(min, extent)| loads(min) || loads(extent)))
}
