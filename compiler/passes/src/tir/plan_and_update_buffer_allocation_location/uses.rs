//! Uses of the buffers of a kernel's blocks: a tree of loops, blocks and branches, with the accesses in them.

use hammock_ir::{
    PrimExpr,
    prim::{IterKind, PrimKind, Substitution, Var},
    tir::{AttrNode, Block, BlockAxis, Buffer, ForKind, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// Index of a frame, in order of appearance; 0 is the kernel itself.
pub(super) type FrameId = usize;

/// A loop, a block or a side of a branch.
pub(super) struct Frame {
    /// Enclosing frame.
    pub outer: FrameId,
    /// Nesting depth.
    depth: usize,
    /// Its kind.
    pub kind: FrameKind,
}

/// Kind of a frame.
pub(super) enum FrameKind {
    /// The kernel.
    Kernel,
    /// A loop: its index among loops and blocks, variable, first value and number of iterations.
    Loop { number: usize, var: Var, min: PrimExpr, extent: PrimExpr, serial: bool },
    /// A block: its index among loops and blocks.
    Block { number: usize },
    /// A side of a branch: the condition, and its value.
    Branch(PrimExpr, bool),
}

/// An access of a buffer.
pub(super) struct Access {
    /// Frame of the access.
    pub at: FrameId,
    /// True if it writes.
    pub writes: bool,
    /// First index and extent in each dimension; `None` if unknown.
    pub ranges: Option<Vec<(PrimExpr, PrimExpr)>>,
}

/// A buffer of a block.
pub(super) struct BufferUses {
    pub buffer: Buffer,
    /// Frame that allocates it.
    pub declared: FrameId,
    /// Innermost frame around all its uses.
    pub around: Option<FrameId>,
    /// Accesses, in order of appearance.
    pub accesses: Vec<Access>,
}

/// Uses of all buffers of blocks.
pub(super) struct Uses<'a> {
    pub frames: Vec<Frame>,
    /// True if there are loops without an extent, or with early exits.
    pub irregular: bool,
    /// Buffers in the order of their allocations.
    pub buffers: Vec<BufferUses>,
    by_data: FxHashMap<Var, usize>,
    scopes: usize,
    /// Enclosing loops, by variable.
    loops: FxHashMap<Var, FrameId>,
    /// Bindings of axes, over loop variables.
    axes: Substitution,
    blocks: Vec<&'a Block>,
    gpu_blocks: Vec<FrameId>,
}

impl<'a> Uses<'a> {
    pub fn of(kernel: &'a PrimFunc) -> Self {
        let frames = vec![Frame { outer: 0, depth: 0, kind: FrameKind::Kernel }];
        let mut uses = Uses {
            frames,
            irregular: false,
            buffers: Vec::new(),
            by_data: FxHashMap::default(),
            scopes: 0,
            loops: FxHashMap::default(),
            axes: Substitution::default(),
            blocks: Vec::new(),
            gpu_blocks: Vec::new(),
        };
        uses.stmt(&kernel.body, 0);
        for i in 0..uses.buffers.len() {
            if uses.buffers[i].buffer.scope.starts_with("global") {
                for block in uses.gpu_blocks.clone() {
                    let around = uses.buffers[i].around.map(|around| uses.common(around, block));
                    uses.buffers[i].around = around;
                }
            }
        }
        uses
    }

    /// Returns the innermost frame around two frames.
    pub fn common(&self, mut a: FrameId, mut b: FrameId) -> FrameId {
        while a != b {
            if self.frames[a].depth >= self.frames[b].depth {
                a = self.frames[a].outer;
            } else {
                b = self.frames[b].outer;
            }
        }
        a
    }

    /// Returns the frames around a frame, itself first, up to but excluding `end`.
    pub fn frames_within(&self, at: FrameId, end: FrameId) -> impl Iterator<Item = FrameId> {
        std::iter::successors(Some(at), |at| Some(self.frames[*at].outer)).take_while(move |at| *at != end && *at != 0)
    }

    /// Returns the loop or block that contains a frame, or is it.
    pub fn scope(&self, mut at: FrameId) -> FrameId {
        while matches!(self.frames[at].kind, FrameKind::Branch(..)) {
            at = self.frames[at].outer;
        }
        at
    }

    /// Returns true if a frame is another, or inside it.
    pub fn is_within(&self, at: FrameId, outer: FrameId) -> bool {
        self.common(at, outer) == outer
    }

    /// Returns the loop of a variable.
    pub fn loop_of(&self, var: &Var) -> Option<FrameId> {
        self.loops.get(var).copied()
    }

    /// Returns the index of a loop or block; 0 for the kernel.
    pub fn number(&self, at: FrameId) -> usize {
        match self.frames[at].kind {
            FrameKind::Loop { number, .. } | FrameKind::Block { number } => number,
            _ => 0,
        }
    }

    fn frame(&mut self, outer: FrameId, kind: FrameKind) -> FrameId {
        self.frames.push(Frame { outer, depth: self.frames[outer].depth + 1, kind });
        self.frames.len() - 1
    }

    fn stmt(&mut self, stmt: &'a Stmt, at: FrameId) {
        match &stmt.kind {
            StmtKind::For(l) => {
                self.exprs(stmt, at);
                self.scopes += 1;
                let (min, extent) = (l.min.substitute(&self.axes), l.extent.substitute(&self.axes));
                let serial = matches!(l.kind, ForKind::Serial | ForKind::Unrolled);
                self.irregular |= l.step.is_some();
                let inside =
                    self.frame(at, FrameKind::Loop { number: self.scopes, var: l.var.clone(), min, extent, serial });
                if matches!(&l.kind, ForKind::ThreadBinding(thread) if thread.starts_with("blockIdx")) {
                    self.gpu_blocks.push(inside);
                }
                self.loops.insert(l.var.clone(), inside);
                self.stmt(&l.body, inside);
            }
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition, at);
                let condition = condition.substitute(&self.axes);
                let inside = self.frame(at, FrameKind::Branch(condition.clone(), true));
                self.stmt(then, inside);
                if let Some(otherwise) = otherwise {
                    let inside = self.frame(at, FrameKind::Branch(condition, false));
                    self.stmt(otherwise, inside);
                }
            }
            StmtKind::Block(block) => self.block(block, stmt, at),
            StmtKind::Store { buffer, indices, .. } => {
                self.exprs(stmt, at);
                self.access(
                    &buffer.data,
                    at,
                    true,
                    Some((buffer, indices.iter().map(|i| (i.clone(), one(i))).collect())),
                );
            }
            _ => {
                self.irregular |= matches!(
                    stmt.kind,
                    StmtKind::While(..) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)
                );
                if let StmtKind::Decl(alias) = &stmt.kind {
                    self.access(&alias.data, at, false, None);
                }
                if let StmtKind::Attr { node: AttrNode::Thread(axis), .. } = &stmt.kind
                    && axis.thread.starts_with("blockIdx")
                {
                    self.gpu_blocks.push(at);
                }
                self.exprs(stmt, at);
                stmt.each_child(&mut |child| self.stmt(child, at));
            }
        }
    }

    fn block(&mut self, block: &'a Block, stmt: &'a Stmt, at: FrameId) {
        self.exprs(stmt, at);
        self.scopes += 1;
        let mut inside = self.frame(at, FrameKind::Block { number: self.scopes });
        for buffer in &block.alloc_buffers {
            self.by_data.insert(buffer.data.clone(), self.buffers.len());
            let buffer = buffer.clone();
            self.buffers.push(BufferUses { buffer, declared: inside, around: None, accesses: Vec::new() });
        }
        self.dependent_axes(block, inside);
        for axis in &block.axes {
            let binding = axis.binding.substitute(&self.axes);
            self.axes.insert(axis.var.clone(), binding);
        }
        if let Some(predicate) = &block.predicate {
            inside = self.frame(inside, FrameKind::Branch(predicate.substitute(&self.axes), true));
        }
        self.blocks.push(block);
        for matched in &block.match_buffers {
            self.opaque(&matched.source.buffer.data, inside);
        }
        self.stmt(&block.body, inside);
        self.blocks.pop();
    }

    /// A buffer that a block writes in dependent iterations is used in all their loops.
    fn dependent_axes(&mut self, block: &Block, inside: FrameId) {
        let outermost = |uses: &Self, axis: &BlockAxis| {
            let mut found = None;
            axis.binding.each_var(&mut |var| {
                if let Some(at) = uses.loops.get(var) {
                    let outer = uses.frames[*at].outer;
                    found = Some(found.map_or(outer, |found| uses.outer_frame(found, outer)));
                }
            });
            found
        };
        let mut opaque: FxHashMap<&Var, FrameId> = FxHashMap::default();
        let mut reduce: Option<FrameId> = None;
        for axis in block.axes.iter().filter(|axis| axis.kind != IterKind::Spatial) {
            let Some(at) = outermost(self, axis) else { continue };
            if axis.kind == IterKind::Reduce {
                reduce = Some(reduce.map_or(at, |reduce| self.outer_frame(reduce, at)));
            } else {
                opaque.insert(&axis.var, at);
                block.writes.iter().flatten().for_each(|region| self.extend_to(&region.buffer.data, at));
            }
        }
        let regions = |regions: &'_ Option<Vec<_>>, writes| {
            regions.iter().flatten().cloned().map(move |r| (r, writes)).collect::<Vec<_>>()
        };
        for (region, writes) in regions(&block.reads, false).into_iter().chain(regions(&block.writes, true)) {
            let mut at = inside;
            for e in region.ranges.iter().flat_map(|(min, extent)| [min, extent]) {
                e.each_var(&mut |var| at = opaque.get(var).map_or(at, |outer| self.outer_frame(at, *outer)));
            }
            if let Some(reduce) = reduce.filter(|_| writes) {
                at = self.outer_frame(at, reduce);
            }
            if at != inside {
                self.extend_to(&region.buffer.data, at);
            }
        }
    }

    /// Returns the outer of two nested frames.
    fn outer_frame(&self, a: FrameId, b: FrameId) -> FrameId {
        if self.frames[b].depth < self.frames[a].depth { b } else { a }
    }

    fn exprs(&mut self, stmt: &'a Stmt, at: FrameId) {
        stmt.each_expr(&mut |e| self.expr(e, at));
    }

    fn expr(&mut self, e: &PrimExpr, at: FrameId) {
        match e.kind() {
            PrimKind::Load(buffer, indices, _) => {
                self.access(
                    &buffer.data,
                    at,
                    false,
                    Some((buffer, indices.iter().map(|i| (i.clone(), one(i))).collect())),
                );
            }
            PrimKind::Var(var) => self.opaque(var, at),
            _ => {}
        }
        e.each_child(&mut |child| self.expr(child, at));
    }

    /// Records a use of a buffer's pointer: the enclosing block states what is read and written.
    fn opaque(&mut self, data: &Var, at: FrameId) {
        if !self.by_data.contains_key(data) {
            return;
        }
        let Some(block) = self.blocks.last().copied() else { return self.access(data, at, false, None) };
        let stated = |regions: &'a Option<Vec<_>>| {
            regions.iter().flatten().find(|r: &&hammock_ir::tir::Region| r.buffer.data == *data)
        };
        let (read, written) = (stated(&block.reads), stated(&block.writes));
        if let Some(region) = read {
            self.access(data, at, false, Some((&region.buffer, region.ranges.clone())));
        }
        if let Some(region) = written {
            self.access(data, at, true, Some((&region.buffer, region.ranges.clone())));
        }
        if read.is_none() && written.is_none() {
            self.access(data, at, false, None);
        }
    }

    fn access(
        &mut self,
        data: &Var,
        at: FrameId,
        writes: bool,
        location: Option<(&Buffer, Vec<(PrimExpr, PrimExpr)>)>,
    ) {
        let Some(&i) = self.by_data.get(data) else { return };
        let own = location.filter(|(buffer, _)| **buffer == self.buffers[i].buffer);
        let substituted = |e: PrimExpr| e.substitute(&self.axes);
        let ranges = own.map(|(_, ranges)| ranges.into_iter().map(|(a, b)| (substituted(a), substituted(b))).collect());
        self.buffers[i].accesses.push(Access { at, writes, ranges });
        self.extend_to(data, at);
    }

    /// Extends the uses of a buffer to a frame.
    fn extend_to(&mut self, data: &Var, at: FrameId) {
        let Some(&i) = self.by_data.get(data) else { return };
        let around = self.buffers[i].around.map_or(at, |around| self.common(around, at));
        self.buffers[i].around = Some(around);
    }
}

fn one(like: &PrimExpr) -> PrimExpr {
    PrimExpr::int(1, like.dtype().element())
}
