//! FlattenBuffer: flattens buffers to one dimension, or to one per axis separator group.
//!
//! The flat index is the sum of the indices times their strides, plus the buffer's offset. Parameters keep their
//! shapes; a flat buffer that aliases them is declared in the kernel.

use super::{each_kernel, has_no_blocks, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Var},
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "tirx.FlattenBuffer", doc: "Flattens buffers and the indices of accesses", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        has_no_blocks(&PASS, name, kernel)?;
        flatten(kernel);
        Ok(())
    })
}

fn flatten(kernel: &mut PrimFunc) {
    let mut flattener = Flattener { analyzer: Analyzer::new(), flat: FxHashMap::default() };
    let used = used(&kernel.body);
    let params = kernel.buffers().filter(|buffer| used.contains(&buffer.data));
    let declared: Vec<Stmt> = params.map(|buffer| StmtKind::Decl(flattener.add(buffer))).map(Stmt::new).collect();
    let mut body = take(&mut kernel.body);
    flattener.buffers(&mut body);
    body.map_exprs(&mut |e| flattener.expr(e));
    flattener.stores(&mut body);
    kernel.body = Stmt::seq(declared.into_iter().chain([body]));
}

/// Returns the pointers of accessed buffers, and pointers that are used directly.
fn used(body: &Stmt) -> FxHashSet<Var> {
    let mut found = FxHashSet::default();
    body.walk(&mut |stmt| {
        if let StmtKind::Store { buffer, .. } | StmtKind::Decl(buffer) = &stmt.kind {
            found.insert(buffer.data.clone());
        }
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| match e.kind() {
                PrimKind::Load(buffer, ..) => _ = found.insert(buffer.data.clone()),
                PrimKind::Var(var) => _ = found.insert(var.clone()),
                _ => {}
            });
        });
    });
    found
}

struct Flattener {
    analyzer: Analyzer,
    flat: FxHashMap<Buffer, Buffer>,
}

impl Flattener {
    /// Returns the flat form of a buffer.
    fn add(&mut self, buffer: &Buffer) -> Buffer {
        let mut shape: Vec<PrimExpr> =
            groups(buffer).iter().map(|axes| self.analyzer.simplify(&self.size(buffer, axes))).collect();
        if let (Some(size), Some(offset)) = (shape.last_mut(), &buffer.elem_offset) {
            *size = self.analyzer.simplify(&arith::binary(BinaryOp::Add, size.clone(), offset.clone()));
        }
        let flat = buffer.change(|b| {
            b.axis_separators = (1..shape.len() as i64).collect();
            (b.shape, b.strides, b.elem_offset) = (shape, Vec::new(), None);
        });
        self.flat.insert(buffer.clone(), flat.clone());
        flat
    }

    /// Returns the number of elements spanned by some axes.
    fn size(&self, buffer: &Buffer, axes: &[usize]) -> PrimExpr {
        let [first, rest @ ..] = axes else { return PrimExpr::int32(1) };
        if buffer.strides.is_empty() {
            return rest.iter().fold(buffer.shape[*first].clone(), |size, axis| multiply(&size, &buffer.shape[*axis]));
        }
        let dense = multiply(&buffer.shape[*first], &buffer.strides[*first]);
        let one = || PrimExpr::int(1, dense.dtype());
        let last = axes.iter().fold(one(), |last, axis| {
            let steps = arith::binary(BinaryOp::Sub, buffer.shape[*axis].clone(), one());
            arith::binary(BinaryOp::Add, last, multiply(&steps, &buffer.strides[*axis]))
        });
        let (wide, last) = arith::match_types(dense.clone(), last);
        if self.analyzer.prove_le(&last, &wide) { dense } else { last }
    }

    /// Flattens allocated and declared buffers, and records the ranges of loops.
    fn buffers(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) if l.step.is_none() => self.analyzer.bind(&l.var, &l.min, &l.extent),
            StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) if !is_flat(buffer) => *buffer = self.add(buffer),
            _ => {}
        }
        stmt.each_child_mut(&mut |child| self.buffers(child));
    }

    fn stores(&self, stmt: &mut Stmt) {
        if let StmtKind::Store { buffer, indices, .. } = &mut stmt.kind
            && let Some(flat) = self.flat.get(buffer)
        {
            *indices = self.indices(buffer, indices);
            *buffer = flat.clone();
        }
        stmt.each_child_mut(&mut |child| self.stores(child));
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |child| self.expr(child));
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => match self.flat.get(buffer) {
                Some(flat) => PrimExpr::load_masked(flat, self.indices(buffer, indices), mask.clone()),
                None => e,
            },
            _ => e,
        }
    }

    /// Returns one index for each remaining dimension.
    fn indices(&self, buffer: &Buffer, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        if indices.len() != buffer.ndim() {
            return indices.to_vec();
        }
        let offset = buffer.elem_offset.as_ref();
        let groups = groups(buffer);
        let offset = |last: bool| offset.filter(|_| last).cloned();
        groups
            .iter()
            .enumerate()
            .map(|(i, axes)| self.index(buffer, axes, indices, offset(i + 1 == groups.len())))
            .collect()
    }

    fn index(&self, buffer: &Buffer, axes: &[usize], indices: &[PrimExpr], offset: Option<PrimExpr>) -> PrimExpr {
        let (mut base, mut step, mut lanes) = (offset, None, 1);
        let add = |sum: &mut Option<PrimExpr>, e: PrimExpr| {
            *sum = Some(match sum.take() {
                None => e,
                Some(sum) => arith::binary(BinaryOp::Add, sum, e),
            })
        };
        let mut vectors = None;
        for (at, axis) in axes.iter().enumerate() {
            let index = &indices[*axis];
            let stride = match buffer.strides.get(*axis) {
                Some(stride) => stride.clone(),
                None => axes[at + 1..]
                    .iter()
                    .fold(PrimExpr::int(1, buffer.shape[*axis].dtype()), |n, a| multiply(&n, &buffer.shape[*a])),
            };
            lanes = lanes.max(index.dtype().lanes);
            match index.kind() {
                PrimKind::Ramp(first, distance) => {
                    add(&mut base, multiply(first, &stride));
                    add(&mut step, multiply(distance, &stride));
                }
                PrimKind::Broadcast(index) => add(&mut base, multiply(index, &stride)),
                _ if index.dtype().is_vector() => {
                    add(&mut vectors, multiply(index, &stride.broadcast(index.dtype().lanes)))
                }
                _ => add(&mut base, multiply(index, &stride)),
            }
        }
        let base = self.analyzer.simplify(&base.unwrap_or_else(|| PrimExpr::int32(0)));
        let linear = match step {
            Some(step) => PrimExpr::ramp(base, self.analyzer.simplify(&step), lanes),
            None if lanes > 1 => base.broadcast(lanes),
            None => base,
        };
        vectors.map_or(linear.clone(), |vectors| arith::binary(BinaryOp::Add, linear, vectors))
    }
}

/// Multiplies in the wider of two types.
fn multiply(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    arith::binary(BinaryOp::Mul, a.clone(), b.clone())
}

/// Returns true if a buffer is one-dimensional and contiguous.
fn is_flat(buffer: &Buffer) -> bool {
    buffer.ndim() == 1 && buffer.strides.is_empty() && buffer.elem_offset.as_ref().is_none_or(|e| e.as_int() == Some(0))
}

/// Returns the axes of each remaining dimension.
fn groups(buffer: &Buffer) -> Vec<Vec<usize>> {
    let starts: Vec<usize> = buffer.axis_separators.iter().filter_map(|at| usize::try_from(*at).ok()).collect();
    let mut groups = vec![Vec::new()];
    for axis in 0..buffer.ndim() {
        if starts.contains(&axis) {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(axis);
        }
    }
    groups
}
