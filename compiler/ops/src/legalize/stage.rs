//! The stages of a kernel, as blocks.

use super::{
    builder::Builder,
    combine::Combine,
    input::Input,
    region::{accesses, reads},
};
use crate::dims;
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{IterKind, Var},
    tir::{Block, BlockAxis, Buffer, Region, SUM_PARTS, Stmt, StmtKind},
};

/// An axis to reduce over: its name and extent.
pub type ReduceAxis = (String, PrimExpr);

/// Loops around a block, and the block's axes.
struct Axes {
    loops: Vec<(Var, PrimExpr)>,
    axes: Vec<BlockAxis>,
}

impl Axes {
    fn new() -> Self {
        Axes { loops: Vec::new(), axes: Vec::new() }
    }

    /// Adds an axis and returns it as an index.
    fn add(&mut self, name: &str, extent: &PrimExpr, kind: IterKind) -> PrimExpr {
        let (outer, inner) = (Var::int64(name), Var::int64(format!("v_{name}")));
        let dom = (PrimExpr::int64(0), extent.clone());
        self.axes.push(BlockAxis { var: inner.clone(), dom, kind, binding: outer.expr() });
        self.loops.push((outer, extent.clone()));
        inner.expr()
    }

    fn spatial(&mut self, shape: &[PrimExpr]) -> Vec<PrimExpr> {
        let add = |(i, extent): (usize, &PrimExpr)| self.add(&format!("ax{i}"), extent, IterKind::Spatial);
        shape.iter().enumerate().map(add).collect()
    }

    fn reduce(&mut self, axes: &[ReduceAxis]) -> Vec<PrimExpr> {
        axes.iter().map(|(name, extent)| self.add(name, extent, IterKind::Reduce)).collect()
    }

    /// The block with its loops.
    fn close(self, name: &str, reads: Vec<Region>, writes: Vec<Region>, init: Option<Stmt>, body: Stmt) -> Stmt {
        let block = Block {
            name: name.into(),
            axes: self.axes,
            predicate: None,
            reads: Some(reads),
            writes: Some(writes),
            annotations: Attrs::new(),
            alloc_buffers: Vec::new(),
            match_buffers: Vec::new(),
            init,
            body,
            no_realize: false,
        };
        let around = |body, (var, extent)| Stmt::serial(var, extent, body);
        self.loops.into_iter().rev().fold(block.into(), around)
    }
}

impl Builder<'_> {
    /// Fills a buffer: `f` returns the element at each index.
    pub fn compute(&mut self, to: &Buffer, f: impl FnOnce(&[PrimExpr]) -> PrimExpr) {
        let mut axes = Axes::new();
        let at = axes.spatial(&to.shape);
        let value = f(&at);
        debug_assert_eq!(value.dtype(), to.dtype, "value of `{}`", to.name);
        let (reads, writes) = (reads([&value], &[]), vec![Region::point(to, at.clone())]);
        let store = Stmt::store(to, at, value);
        self.push(axes.close(&to.name, reads, writes, None, store));
    }

    /// Fills a slice of a buffer, which begins at `begin` along an axis: `f` returns the element at each index of the
    /// slice.
    pub fn compute_slice(
        &mut self,
        to: &Buffer,
        axis: usize,
        begin: &PrimExpr,
        sizes: &[PrimExpr],
        f: impl FnOnce(&[PrimExpr]) -> PrimExpr,
    ) {
        let mut axes = Axes::new();
        let at = axes.spatial(sizes);
        let value = f(&at);
        let mut stored = at;
        stored[axis] = dims::add(&stored[axis], begin);
        let (reads, writes) = (reads([&value], &[]), vec![Region::point(to, stored.clone())]);
        let store = Stmt::store(to, stored, value);
        self.push(axes.close(&to.name, reads, writes, None, store));
    }

    /// Fills a buffer: the element at each index is `f` reduced over axes. Floats of at most 16 bits are accumulated in
    /// float32. Over an empty axis the result is the identity.
    pub fn reduce(
        &mut self,
        to: &Buffer,
        over: &[ReduceAxis],
        how: Combine,
        f: impl FnOnce(&[PrimExpr], &[PrimExpr]) -> PrimExpr,
    ) {
        let wide = accumulator(to.dtype);
        let how = how.on(wide);
        let identity = how.identity(wide);
        if over.iter().any(|(_, extent)| dims::is(extent, 0)) {
            return self.compute(to, |_| identity.cast(to.dtype));
        }
        let short = wide != to.dtype;
        let sum = if short { self.temp(&format!("{}_acc", to.name), to.shape.clone(), wide) } else { to.clone() };
        self.fold(&[&sum], over, vec![identity], |acc, i, k| vec![how.apply(acc[0].clone(), f(i, k).cast(wide))]);
        if short {
            self.compute(to, |i| PrimExpr::load(&sum, i.to_vec()).cast(to.dtype));
        }
    }

    /// The same for sums, with a hint on the number of partial accumulators.
    pub fn sum_with_accumulators(
        &mut self,
        to: &Buffer,
        over: &[ReduceAxis],
        terms: i64,
        f: impl FnOnce(&[PrimExpr], &[PrimExpr]) -> PrimExpr,
    ) {
        self.reduce(to, over, Combine::Sum, f);
        self.annotate_last(SUM_PARTS, terms);
    }

    /// Fills buffers of one shape by reducing tuples over axes: `f` takes the accumulators, the index and the position
    /// on the axes, and returns the new accumulators.
    pub fn fold(
        &mut self,
        to: &[&Buffer],
        over: &[ReduceAxis],
        init: Vec<PrimExpr>,
        f: impl FnOnce(&[PrimExpr], &[PrimExpr], &[PrimExpr]) -> Vec<PrimExpr>,
    ) {
        let mut axes = Axes::new();
        let at = axes.spatial(&to[0].shape);
        let position = axes.reduce(over);
        let so_far: Vec<PrimExpr> = to.iter().map(|b| PrimExpr::load(b, at.clone())).collect();
        let values = f(&so_far, &at, &position);
        let reads = reads(&values, to);
        let writes = to.iter().map(|b| Region::point(b, at.clone())).collect();
        let store =
            |values: Vec<PrimExpr>| Stmt::seq(to.iter().zip(values).map(|(b, v)| Stmt::store(b, at.clone(), v)));
        let (init, body) = (store(init), named_first(to, values, store));
        let name = to[to.len() - 1].name.clone();
        self.push(axes.close(&name, reads, writes, Some(init), body));
    }

    /// Custom statements for each index of a space, which `f` takes. The buffers that they access are declared as a
    /// whole, so iterations must access different elements.
    pub fn block(&mut self, name: &str, space: &[PrimExpr], f: impl FnOnce(&[PrimExpr]) -> Stmt) {
        let mut axes = Axes::new();
        let at = axes.spatial(space);
        let body = f(&at);
        let (loaded, stored) = accesses(&body);
        let reads = loaded.iter().map(Region::full).collect();
        let writes = stored.iter().map(Region::full).collect();
        self.push(axes.close(name, reads, writes, None, body));
    }

    /// An intermediate buffer.
    pub fn temp(&mut self, name: &str, shape: Vec<PrimExpr>, dtype: DType) -> Buffer {
        self.alloc(Buffer::new(name, shape, dtype))
    }

    /// An intermediate buffer filled by [`Builder::compute`].
    pub fn stage(
        &mut self,
        name: &str,
        shape: Vec<PrimExpr>,
        dtype: DType,
        f: impl FnOnce(&[PrimExpr]) -> PrimExpr,
    ) -> Input {
        let buffer = self.temp(name, shape, dtype);
        self.compute(&buffer, f);
        Input::Buffer(buffer)
    }
}

/// Stores several values, all computed before the first store, since they may depend on overwritten elements.
fn named_first(to: &[&Buffer], values: Vec<PrimExpr>, store: impl Fn(Vec<PrimExpr>) -> Stmt) -> Stmt {
    if let [_] = to {
        return store(values);
    }
    let names: Vec<Var> = to.iter().map(|b| Var::new(format!("v_{}", b.name), b.dtype)).collect();
    let binds = names.iter().zip(values).map(|(v, e)| Stmt::new(StmtKind::Bind(v.clone(), e)));
    let mut all: Vec<Stmt> = binds.collect();
    let stores = store(names.iter().map(Var::expr).collect());
    match stores.kind {
        StmtKind::Seq(s) => all.extend(s),
        _ => all.push(stores),
    }
    Stmt::new(StmtKind::Seq(all))
}

/// The accumulator dtype: float32 for short floats.
pub fn accumulator(dtype: DType) -> DType {
    if dtype.is_floating() && dtype.bits <= 16 { DType::FLOAT32.with_lanes(dtype.lanes) } else { dtype }
}
