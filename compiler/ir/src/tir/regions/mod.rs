//! Infers the regions that blocks read and write.
//!
//! A block reads and writes the elements that its statements access, over all values of the loops in it; a block inside
//! it contributes its own regions. Regions may be larger than what is accessed, never smaller.

mod range;

pub use range::{Domains, Range};

use super::{Block, Buffer, MatchBuffer, PrimFunc, Region, Stmt, StmtKind};
use crate::{
    PrimExpr,
    arith::Analyzer,
    prim::{PrimKind, Substitution, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Infers the regions of every block that has none, inner blocks first.
pub fn fill(func: &mut PrimFunc) {
    let by_data = by_data(func);
    fill_stmt(&mut func.body, &by_data);
}

/// Buffers by their pointers: parameters, and buffers that blocks allocate.
pub fn by_data(func: &PrimFunc) -> FxHashMap<Var, Buffer> {
    let mut buffers: Vec<Buffer> = func.buffers().cloned().collect();
    func.body.walk(&mut |s| {
        if let StmtKind::Block(block) = &s.kind {
            buffers.extend(block.alloc_buffers.iter().cloned());
        }
    });
    buffers.into_iter().map(|b| (b.data.clone(), b)).collect()
}

fn fill_stmt(stmt: &mut Stmt, by_data: &FxHashMap<Var, Buffer>) {
    stmt.each_child_mut(&mut |s| fill_stmt(s, by_data));
    if let StmtKind::Block(block) = &mut stmt.kind
        && (block.reads.is_none() || block.writes.is_none())
    {
        fill_block(block, by_data);
    }
}

/// Infers the regions of a block whose inner blocks have theirs.
pub fn fill_block(block: &mut Block, by_data: &FxHashMap<Var, Buffer>) {
    let mut found = Accesses::new(by_data, &block.alloc_buffers);
    block.init.iter().for_each(|s| found.stmt(s));
    found.stmt(&block.body);
    let matches = &block.match_buffers;
    let writes = found.regions(&found.writes, matches);
    let mut reads = found.regions(&found.reads, matches);
    if block.init.is_some() {
        // A reduction reads its own partial results.
        reads.retain(|r| writes.iter().all(|w| w.buffer != r.buffer));
    }
    block.reads.get_or_insert(reads);
    block.writes.get_or_insert(writes);
}

/// The accessed box of a buffer: a range per dimension, `None` for the whole dimension.
type Extents = Vec<Option<Range>>;

struct Accesses<'a> {
    by_data: &'a FxHashMap<Var, Buffer>,
    /// Buffers that live inside the block.
    own: FxHashSet<Buffer>,
    domains: Domains,
    reads: Vec<(Buffer, Extents)>,
    writes: Vec<(Buffer, Extents)>,
}

impl<'a> Accesses<'a> {
    fn new(by_data: &'a FxHashMap<Var, Buffer>, own: &[Buffer]) -> Self {
        Accesses {
            by_data,
            own: own.iter().cloned().collect(),
            domains: Domains::default(),
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(l) => self.domains.add_loop(&l.var, &l.min, &l.extent),
            StmtKind::Bind(var, value) => self.domains.add_value(var, value),
            StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) => {
                self.own.insert(buffer.clone());
            }
            StmtKind::Store { buffer, indices, .. } => {
                let accessed = self.box_of(indices);
                access(&mut self.writes, buffer, accessed);
            }
            StmtKind::Block(block) => return self.inner(block),
            _ => {}
        }
        stmt.each_expr(&mut |e| self.expr(e));
        stmt.each_child(&mut |s| self.stmt(s));
    }

    fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Load(buffer, indices, _) => {
                let accessed = self.box_of(indices);
                access(&mut self.reads, buffer, accessed);
            }
            PrimKind::Var(var) => {
                if let Some(buffer) = self.by_data.get(var) {
                    let whole = vec![None; buffer.ndim()];
                    access(&mut self.reads, buffer, whole.clone());
                    access(&mut self.writes, buffer, whole);
                }
            }
            PrimKind::Let(var, value, _) => self.domains.add_value(var, value),
            _ => {}
        }
        e.each_child(&mut |c| self.expr(c));
    }

    fn box_of(&self, indices: &[PrimExpr]) -> Extents {
        indices.iter().map(|i| self.range(i)).collect()
    }

    /// The values of an index; `None` if they depend on a buffer allocated in the block.
    fn range(&self, index: &PrimExpr) -> Option<Range> {
        let own =
            |e: &PrimExpr| e.any(&mut |x| matches!(x.kind(), PrimKind::Load(buffer, ..) if self.own.contains(buffer)));
        self.domains.range(index).filter(|range| !own(&range.begin) && !own(&range.extent()))
    }

    /// Adds the regions of an inner block, with its axes replaced by their bindings.
    fn inner(&mut self, block: &Block) {
        let values: Substitution = block.axes.iter().map(|a| (a.var.clone(), a.binding.clone())).collect();
        for (regions, writes) in [(&block.reads, false), (&block.writes, true)] {
            for region in regions.iter().flatten() {
                let ranges = region.ranges.iter().map(|(min, extent)| {
                    let min = self.range(&min.substitute(&values))?;
                    let extent = self.range(&Analyzer::new().simplify(&extent.substitute(&values)))?;
                    Some(min.extended_by(&extent))
                });
                let ranges = ranges.collect();
                access(if writes { &mut self.writes } else { &mut self.reads }, &region.buffer, ranges);
            }
        }
    }

    /// The regions of outer buffers; accesses of a matched buffer are accesses of its source.
    fn regions(&self, accessed: &[(Buffer, Extents)], matches: &[MatchBuffer]) -> Vec<Region> {
        let mut boxes: Vec<(Buffer, Extents)> = Vec::new();
        for (mut buffer, mut ranges) in accessed.iter().map(|(buffer, ranges)| (buffer, ranges.clone())) {
            // The source may itself be matched by an earlier line.
            for m in matches.iter().rev() {
                if m.buffer == *buffer {
                    (buffer, ranges) = (&m.source.buffer, in_source(m, &ranges));
                }
            }
            if !self.own.contains(buffer) {
                access(&mut boxes, buffer, ranges);
            }
        }
        boxes.into_iter().map(|(buffer, ranges)| region_of(buffer, ranges)).collect()
    }
}

fn in_source(m: &MatchBuffer, ranges: &[Option<Range>]) -> Extents {
    let outer = m.source.ranges.len().saturating_sub(ranges.len());
    let whole = |(min, extent): &(PrimExpr, PrimExpr)| Some(Range::new(min.clone(), extent));
    let (before, within) = m.source.ranges.split_at(outer);
    let inner = within.iter().zip(ranges).map(|(source, range)| match range {
        Some(range) => Some(range.shifted(&source.0)),
        None => whole(source),
    });
    before.iter().map(whole).chain(inner).collect()
}

fn region_of(buffer: Buffer, ranges: Extents) -> Region {
    let full = Region::full(&buffer);
    let ranges = ranges.into_iter().zip(full.ranges).map(|(range, full)| match range {
        Some(range) => (range.begin.clone(), range.extent()),
        None => full,
    });
    Region { ranges: ranges.collect(), buffer }
}

/// Adds an access: extends the buffer's bounding box.
fn access(boxes: &mut Vec<(Buffer, Extents)>, buffer: &Buffer, ranges: Extents) {
    match boxes.iter_mut().find(|(b, _)| b == buffer) {
        Some((_, so_far)) => {
            for (a, b) in so_far.iter_mut().zip(ranges) {
                *a = match (a.take(), b) {
                    (Some(a), Some(b)) => Some(a.hull(&b)),
                    _ => None,
                };
            }
        }
        None => boxes.push((buffer.clone(), ranges)),
    }
}
