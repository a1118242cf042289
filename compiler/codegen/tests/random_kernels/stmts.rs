//! Random statements.

use super::generate::{Generator, INTEGERS, Int, Memory};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{BinaryOp, IterKind, Var, binary},
    tir::{Block, BlockAxis, Buffer, ForKind, Loop, MatchBuffer, Region, Stmt, StmtKind},
};

/// Maximum nesting depth of loops, blocks and branches.
const MAX_DEPTH: usize = 5;

impl Generator {
    /// Adds a statement, and those that it needs before it.
    pub fn stmt(&mut self, to: &mut Vec<Stmt>) {
        if self.depth >= MAX_DEPTH {
            return to.extend(self.store());
        }
        match self.rng.below(16) {
            0..=3 => to.extend(self.store()),
            4 | 5 => to.push(self.nest()),
            6 => to.push(self.independent()),
            7 => {
                let condition = self.truth(2);
                let (then, otherwise) = (self.stmts(2), self.rng.chance(50).then(|| Box::new(self.stmts(2))));
                to.push(Stmt::new(StmtKind::If(condition, Box::new(then), otherwise)));
            }
            8 => self.count_down(to),
            9 => self.allocate(to),
            10 => to.extend(self.alias()),
            11 => to.extend(self.region()),
            12 | 13 => to.extend(self.block()),
            14 => to.extend(self.vector()),
            _ => self.bind(to),
        }
    }

    fn writable(&mut self) -> Option<Memory> {
        let all: Vec<Memory> = self.memories.iter().filter(|m| m.writable).cloned().collect();
        (!all.is_empty()).then(|| self.rng.pick(&all).clone())
    }

    fn store(&mut self) -> Option<Stmt> {
        let memory = self.writable()?;
        let indices = self.indices(&memory, 2)?;
        let mut value = self.value(memory.buffer.dtype, 3);
        if self.rng.chance(20) && memory.buffer.dtype.is_integer() {
            value = binary(BinaryOp::Add, PrimExpr::load(&memory.buffer, indices.clone()), value);
        }
        Some(Stmt::store(&memory.buffer, indices, value))
    }

    fn bind(&mut self, to: &mut Vec<Stmt>) {
        let value = self.small(2);
        let var = Var::int64(self.name("b"));
        self.ints.push(Int { expr: var.expr(), ..value.clone() });
        to.push(Stmt::new(StmtKind::Bind(var, value.expr)));
    }

    /// Generates the minimum and extent of a loop, as expressions and values.
    fn range(&mut self) -> (PrimExpr, PrimExpr, i64, i64) {
        let min = if self.rng.chance(70) { 0 } else { self.rng.between(-2, 3) };
        let sizes: Vec<Int> =
            self.ints.iter().filter(|i| (0..=9).contains(&i.high) && i.low == i.high).cloned().collect();
        if self.rng.chance(50) && !sizes.is_empty() {
            let size = self.rng.pick(&sizes).clone();
            return (PrimExpr::int64(min), size.expr, min, size.high);
        }
        let extent = self.rng.between(1, 8);
        (PrimExpr::int64(min), PrimExpr::int64(extent), min, extent)
    }

    /// Generates a loop whose iterations run in order.
    fn nest(&mut self) -> Stmt {
        let (min, extent, low, count) = self.range();
        let var = Var::int64(self.name("i"));
        let step = (self.rng.chance(15)).then(|| PrimExpr::int64(self.rng.between(1, 3)));
        let unrolled = step.is_none() && self.rng.chance(20);
        let body = self.inside(|g| {
            g.ints.push(Int { expr: var.expr(), low, high: (low + count - 1).max(low) });
            let was = std::mem::replace(&mut g.in_loop, true);
            let mut body = g.stmts(2);
            if !unrolled && g.rng.chance(15) {
                let kind = if g.rng.chance(50) { StmtKind::Break } else { StmtKind::Continue };
                let leaves = StmtKind::If(g.truth(1), Box::new(Stmt::new(kind)), None);
                body = Stmt::seq([Stmt::new(leaves), body]);
            }
            g.in_loop = was;
            body
        });
        let kind = if unrolled { ForKind::Unrolled } else { ForKind::Serial };
        Stmt::new(StmtKind::For(Box::new(Loop { var, min, extent, step, kind, annotations: Attrs::new(), body })))
    }

    /// Generates a loop over the first axis of a buffer with independent iterations.
    fn independent(&mut self) -> Stmt {
        let Some(memory) = self.writable() else { return Stmt::nop() };
        let size = memory.shape[0];
        let var = Var::int64(self.name("p"));
        let kind = self.rng.pick(&[ForKind::Parallel, ForKind::Vectorized, ForKind::Vectorized]).clone();
        let others: Vec<Memory> = self.memories.iter().filter(|m| m.memory != memory.memory).cloned().collect();
        let all = std::mem::replace(&mut self.memories, others);
        let body = self.inside(|g| {
            g.ints.push(Int { expr: var.expr(), low: 0, high: (size - 1).max(0) });
            let rest: Vec<PrimExpr> = if g.manners.wild || !memory.shape.contains(&0) {
                let mut tail = g.indices(&memory, 1).unwrap_or_default();
                tail[0] = var.expr();
                tail
            } else {
                return Stmt::nop();
            };
            let store = Stmt::store(&memory.buffer, rest, g.value(memory.buffer.dtype, 3));
            if g.rng.chance(40) { Stmt::new(StmtKind::If(g.truth(2), Box::new(store), None)) } else { store }
        });
        self.memories = all;
        Stmt::for_kind(var, memory.buffer.shape[0].clone().cast(DType::INT64), kind, body)
    }

    /// `while`: a counter goes down from a small number.
    fn count_down(&mut self, to: &mut Vec<Stmt>) {
        let counter = Buffer::local_scalar(self.name("c"), DType::INT32);
        let at = || vec![PrimExpr::int64(0)];
        let left = PrimExpr::load(&counter, at());
        let start = self.rng.between(0, 4) as i32;
        let down = Stmt::store(&counter, at(), left.clone() - PrimExpr::int32(1));
        let body = self.stmts(2);
        let more = left.gt(PrimExpr::int32(0));
        let condition = if self.rng.chance(50) { more.and(self.truth(1)) } else { more };
        to.push(Stmt::new(StmtKind::Alloc(counter.clone(), Attrs::new())));
        to.push(Stmt::store(&counter, at(), PrimExpr::int32(start)));
        to.push(Stmt::new(StmtKind::While(condition, Box::new(Stmt::seq([down, body])))));
    }

    /// Allocates a buffer, and fills it before use.
    fn allocate(&mut self, to: &mut Vec<Stmt>) {
        let dtype = self.element();
        let (extents, shape): (Vec<PrimExpr>, Vec<i64>) = (0..self.rng.between(1, 2))
            .map(|_| match self.rng.below(3) {
                0 => (self.ints[1].expr.clone() + 1i64, self.ints[1].high + 1),
                _ => {
                    let size = self.rng.between(1, 9);
                    (PrimExpr::int64(size), size)
                }
            })
            .unzip();
        let scope = if self.rng.chance(50) { "local" } else { "global" };
        let buffer = Buffer::scoped(self.name("W"), extents.clone(), dtype, scope);
        let vars: Vec<Var> = extents.iter().map(|_| Var::int64("f")).collect();
        let value = self.constant_of(dtype);
        let fill = Stmt::store(&buffer, vars.iter().map(Var::expr).collect(), value);
        let fill = vars.into_iter().zip(extents).rev().fold(fill, |body, (v, e)| Stmt::serial(v, e, body));
        to.push(Stmt::new(StmtKind::Alloc(buffer.clone(), Attrs::new())));
        to.push(fill);
        self.memories.push(Memory { buffer, shape, writable: true, memory: 1000 + self.names, indexes: false });
    }

    fn constant_of(&mut self, dtype: DType) -> PrimExpr {
        if dtype.is_bool() { PrimExpr::bool(self.rng.chance(50)) } else { self.constant(dtype) }
    }

    /// Declares a flat, possibly shorter alias of a buffer in scope.
    fn alias(&mut self) -> Option<Stmt> {
        let memory = self.writable()?;
        let total: i64 = memory.shape.iter().product();
        if total == 0 || !memory.buffer.strides.is_empty() || memory.buffer.elem_offset.is_some() {
            return None;
        }
        let skip = if self.rng.chance(30) { self.rng.between(0, total - 1) } else { 0 };
        let size = self.rng.between(1, total - skip);
        let name = self.name("V");
        let buffer = memory.buffer.change(|b| {
            b.name = name.into();
            b.shape = vec![PrimExpr::int64(size)];
            b.elem_offset = (skip > 0).then(|| PrimExpr::int64(skip));
        });
        self.memories.push(Memory { buffer: buffer.clone(), shape: vec![size], ..memory });
        Some(Stmt::new(StmtKind::Decl(buffer)))
    }

    /// Generates a block with a match region.
    fn region(&mut self) -> Option<Stmt> {
        let memory = self.writable()?;
        if memory.shape.contains(&0) {
            return None;
        }
        let ranges: Vec<(i64, i64)> = memory
            .shape
            .iter()
            .map(|n| {
                let first = self.rng.between(0, n - 1);
                (first, self.rng.between(1, n - first))
            })
            .collect();
        let shape: Vec<i64> = ranges.iter().map(|r| r.1).collect();
        let extents: Vec<PrimExpr> = shape.iter().map(|n| PrimExpr::int64(*n)).collect();
        let strides: Vec<PrimExpr> = shape.iter().map(|_| Var::int64(self.name("st")).expr()).collect();
        let offset = Var::int64(self.name("o")).expr();
        let buffer = Buffer::new(self.name("M"), extents, memory.buffer.dtype);
        let buffer = buffer.change(|b| {
            b.strides = strides;
            b.elem_offset = Some(offset);
            b.offset_factor = 1;
        });
        let int = |v: i64| PrimExpr::int64(v);
        let source =
            Region { buffer: memory.buffer.clone(), ranges: ranges.iter().map(|(a, n)| (int(*a), int(*n))).collect() };
        let body = self.inside(|g| {
            g.memories.push(Memory { buffer: buffer.clone(), shape, ..memory.clone() });
            g.stmts(2)
        });
        let block = Block {
            name: self.name("m").into(),
            match_buffers: vec![MatchBuffer { buffer, source }],
            ..Block::root(vec![], body)
        };
        Some(block.into())
    }

    /// Generates a loop nest around a block with axes, possibly with a reduction over the last one.
    fn block(&mut self) -> Option<Stmt> {
        let memory = self.writable()?;
        let reduces = self.rng.chance(50) && memory.buffer.dtype.is_integer();
        let mut extents: Vec<(PrimExpr, i64)> = memory
            .buffer
            .shape
            .iter()
            .map(|e| e.clone().cast(DType::INT64))
            .zip(memory.shape.iter().copied())
            .collect();
        if reduces {
            // For an empty reduction, the kernel stores the initial value, the interpreter nothing.
            let (_, extent, _, count) = self.range();
            extents.push(if count > 0 { (extent, count) } else { (PrimExpr::int64(3), 3) });
        }
        let loops: Vec<Var> = extents.iter().map(|_| Var::int64(self.name("l"))).collect();
        let axes: Vec<Var> = extents.iter().map(|_| Var::int64(self.name("v"))).collect();
        let places: Vec<PrimExpr> = axes[..memory.shape.len()].iter().map(Var::expr).collect();
        let (body, init, predicate) = self.inside(|g| {
            for (var, (_, size)) in loops.iter().zip(&extents) {
                g.ints.push(Int { expr: var.expr(), low: 0, high: (size - 1).max(0) });
            }
            let predicate = g.rng.chance(20).then(|| g.truth(1));
            g.ints.truncate(g.ints.len() - loops.len());
            for (var, (_, size)) in axes.iter().zip(&extents) {
                g.ints.push(Int { expr: var.expr(), low: 0, high: (size - 1).max(0) });
            }
            let dtype = memory.buffer.dtype;
            let others: Vec<Memory> = g.memories.iter().filter(|m| m.memory != memory.memory).cloned().collect();
            let all = std::mem::replace(&mut g.memories, others);
            let value = g.value(dtype, 3);
            let init = reduces.then(|| g.constant_of(dtype));
            g.memories = all;
            let op = *g.rng.pick(&[BinaryOp::Add, BinaryOp::Max, BinaryOp::Min, BinaryOp::Mul]);
            let old = PrimExpr::load(&memory.buffer, places.clone());
            let value = if reduces { binary(op, old, value) } else { value };
            let store = |value| Stmt::store(&memory.buffer, places.clone(), value);
            (store(value), init.map(store), predicate)
        });
        let spatial = memory.shape.len();
        let axis = |i: usize| BlockAxis {
            var: axes[i].clone(),
            dom: (PrimExpr::int64(0), extents[i].0.clone()),
            kind: if i < spatial { IterKind::Spatial } else { IterKind::Reduce },
            binding: loops[i].expr(),
        };
        let block = Block {
            name: self.name("blk").into(),
            axes: (0..axes.len()).map(axis).collect(),
            reads: None,
            writes: None,
            init,
            predicate,
            ..Block::root(vec![], body)
        };
        let nest = loops.into_iter().zip(extents).rev();
        Some(nest.fold(block.into(), |body, (var, (extent, _))| Stmt::serial(var, extent, body)))
    }

    /// Generates a contiguous or strided vector store.
    fn vector(&mut self) -> Option<Stmt> {
        let memory = self.writable()?;
        let (outer, last) = memory.shape.split_at(memory.shape.len() - 1);
        let lanes = *self.rng.pick(&[2i64, 4]);
        let stride = if last[0] > 2 * lanes && self.rng.chance(30) { 2 } else { 1 };
        if (last[0] <= (lanes - 1) * stride || outer.contains(&0)) && !self.manners.wild {
            return None;
        }
        let room = (last[0] - 1 - (lanes - 1) * stride).max(0);
        let start = self.rng.between(0, room);
        let mut indices = self.indices(&memory, 0)?;
        let ramp = |start: PrimExpr| PrimExpr::ramp(start, PrimExpr::int64(stride), lanes as u16);
        let place = indices.len() - 1;
        let start = if self.rng.chance(50) { PrimExpr::int64(start) } else { self.small(1).expr.max(0i64).min(room) };
        indices[place] = ramp(start.clone());
        let dtype = memory.buffer.dtype;
        let value = self.vector_value(&memory, &indices, dtype, lanes as u16);
        Some(Stmt::store(&memory.buffer, indices, value))
    }

    fn vector_value(&mut self, memory: &Memory, at: &[PrimExpr], dtype: DType, lanes: u16) -> PrimExpr {
        let scalar = self.value(dtype, 2).broadcast(lanes);
        let loaded = PrimExpr::load(&memory.buffer, at.to_vec());
        if dtype.is_bool() {
            return loaded.or(scalar);
        }
        if dtype.is_float16() {
            return scalar;
        }
        match self.rng.below(4) {
            0 => scalar,
            1 => loaded + scalar,
            2 if INTEGERS.contains(&dtype) && self.manners.traps => {
                binary(*self.rng.pick(&[BinaryOp::FloorDiv, BinaryOp::Mod]), scalar, loaded)
            }
            _ => loaded.max(scalar),
        }
    }
}
