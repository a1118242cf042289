//! How the result of a TIR function depends on its operands, which decides what it can be fused with.
//!
//! The classes and their numbers are those of TVM's attribute `op_pattern`. A function is put into a class by the
//! indices in its blocks, never by its name.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Var},
    tir::{Block, Buffer, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// The attribute of a TIR function that holds its class.
pub const OP_PATTERN: &str = "op_pattern";

/// A class of TIR functions; a later one allows less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpPattern {
    /// `C[i, j] = f(A[i, j])`.
    ElementWise = 0,
    /// `C[i, j] = f(A[j])`: axes in their order, some left out.
    Broadcast = 1,
    /// `C[i, j] = f(A[j, i + 2])`: each element of the result is computed on its own.
    Injective = 2,
    /// `C[i] = sum(A[i, k])`.
    CommReduce = 3,
    /// A contraction or window, whose result further element-wise operations can take in.
    OutElementWiseFusable = 4,
    /// Anything else.
    Opaque = 8,
}

impl OpPattern {
    /// The class that a function's attribute states.
    pub fn stated(func: &PrimFunc) -> Option<OpPattern> {
        use OpPattern::*;
        let number = func.attrs.get(OP_PATTERN)?.as_int()?;
        Some(
            [ElementWise, Broadcast, Injective, CommReduce, OutElementWiseFusable]
                .into_iter()
                .find(|pattern| *pattern as i64 == number)
                .unwrap_or(Opaque),
        )
    }

    /// The class that a function's blocks show. Without blocks it is opaque. Where `symbolic`, indices may be computed with
    /// symbolic sizes; else what does is opaque.
    pub fn of(func: &PrimFunc, symbolic: bool) -> OpPattern {
        if !func.s_tir {
            return OpPattern::Opaque;
        }
        let params = func.buffers().cloned().collect();
        let sizes = if symbolic { sizes(func) } else { FxHashSet::default() };
        let mut analyzer = Analyzer { params, sizes, store: None, loads: Vec::new(), pattern: OpPattern::ElementWise };
        analyzer.stmt(&func.body);
        analyzer.pattern
    }
}

/// The class of the blocks seen so far, and what the current one stores and loads.
struct Analyzer {
    params: FxHashSet<Buffer>,
    /// Variables that have the same value for all elements.
    sizes: FxHashSet<Var>,
    store: Option<(Buffer, Vec<PrimExpr>)>,
    loads: Vec<(Buffer, Vec<PrimExpr>)>,
    pattern: OpPattern,
}

impl Analyzer {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Block(block) => return self.block(block),
            StmtKind::Store { buffer, indices, .. } => {
                if self.store.as_ref().is_some_and(|(_, stored)| !same(stored, indices)) {
                    self.pattern = OpPattern::Opaque;
                    return;
                }
                self.store = Some((buffer.clone(), indices.clone()));
            }
            _ => {}
        }
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Load(buffer, indices, _) = e.kind() {
                    self.loads.push((buffer.clone(), indices.clone()));
                }
            });
        });
        stmt.each_child(&mut |child| self.stmt(child));
    }

    fn block(&mut self, block: &Block) {
        let is_root = block.axes.is_empty() && &*block.name == "root";
        if is_root {
            return self.stmt(&block.body);
        }
        self.loads.clear();
        self.store = None;
        self.stmt(&block.body);
        self.pattern = match &self.store {
            None => OpPattern::Opaque,
            Some((buffer, indices)) => match access_pattern(buffer, indices, &self.loads, &self.sizes) {
                Some(_) if self.pattern == OpPattern::CommReduce && self.writes_param(block) => {
                    // Reductions, then a value for each element of the result: softmax.
                    OpPattern::OutElementWiseFusable
                }
                Some(pattern) => self.pattern.max(pattern),
                None => self.pattern.max(reduction_pattern(block, &self.loads)),
            },
        };
    }

    fn writes_param(&self, block: &Block) -> bool {
        let stores = self.store.iter().map(|(buffer, _)| buffer);
        let declared = block.writes.iter().flatten().map(|region| &region.buffer);
        stores.chain(declared).any(|buffer| self.params.contains(buffer))
    }
}

/// The variables that stand for a function's sizes and numbers.
fn sizes(func: &PrimFunc) -> FxHashSet<Var> {
    let scalars = func.params.iter().filter(|param| param.buffer.is_none());
    let mut sizes: FxHashSet<Var> = scalars.map(|param| param.var.clone()).collect();
    for buffer in func.buffers() {
        buffer.each_expr(&mut |e| e.each_var(&mut |var| _ = sizes.insert(var.clone())));
    }
    sizes
}

/// The class of a block that computes each element on its own; `None` for any other.
fn access_pattern(
    buffer: &Buffer,
    stored: &[PrimExpr],
    loads: &[(Buffer, Vec<PrimExpr>)],
    sizes: &FxHashSet<Var>,
) -> Option<OpPattern> {
    let mut pattern = OpPattern::ElementWise;
    let mut element_wise = false;
    for (source, indices) in loads {
        if same(stored, indices) {
            element_wise = true;
        } else if is_broadcast(buffer, stored, source, indices) {
            pattern = pattern.max(OpPattern::Broadcast);
        } else if is_injective(stored, indices, sizes) {
            pattern = pattern.max(OpPattern::Injective);
        } else {
            return None;
        }
    }
    // `C[i, j] = A[i, j] + B[j]` can be fused like an element-wise function.
    Some(if pattern == OpPattern::Broadcast && element_wise { OpPattern::ElementWise } else { pattern })
}

/// The class of a block whose elements combine values of others.
fn reduction_pattern(block: &Block, loads: &[(Buffer, Vec<PrimExpr>)]) -> OpPattern {
    let reduced: Vec<&Var> = block.axes.iter().filter(|a| a.kind == IterKind::Reduce).map(|a| &a.var).collect();
    if reduced.is_empty() {
        return OpPattern::Opaque;
    }
    // A window reads at sums of axes: `A[i + k]`.
    let plain = |index: &PrimExpr| index.as_var().is_some() || !reduced.iter().any(|var| index.uses(var));
    match is_multiply_add(&block.body) || !loads.iter().all(|(_, indices)| indices.iter().all(plain)) {
        true => OpPattern::OutElementWiseFusable,
        false => OpPattern::CommReduce,
    }
}

/// Returns true if indices are the same variables.
fn same(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.as_var().is_some() && a.as_var() == b.as_var())
}

/// Returns true if a load's indices are some of the store's, in their order; a dimension of size 1 does not matter.
fn is_broadcast(target: &Buffer, stored: &[PrimExpr], source: &Buffer, indices: &[PrimExpr]) -> bool {
    let mut rest = stored.iter().take(target.ndim());
    source.shape.iter().zip(indices).all(|(size, index)| {
        let unit = size.as_int() == Some(1) && index.as_int() == Some(0);
        unit || rest.any(|stored| index.as_var().is_some() && stored.as_var() == index.as_var())
    })
}

/// Returns true if a load's indices use only variables at which the element is stored, and sizes.
fn is_injective(stored: &[PrimExpr], indices: &[PrimExpr], sizes: &FxHashSet<Var>) -> bool {
    let vars: Option<Vec<&Var>> = stored.iter().map(PrimExpr::as_var).collect();
    let Some(vars) = vars else { return false };
    let foreign = |e: &PrimExpr| e.as_var().is_some_and(|var| !vars.contains(&var) && !sizes.contains(var));
    !indices.iter().any(|index| index.any(&mut |e| foreign(e)))
}

/// Returns true if a body is `C[…] = C[…] + A[…] * B[…]` where elements of both operands are used for several of the
/// result.
fn is_multiply_add(body: &Stmt) -> bool {
    let StmtKind::Store { buffer, indices, value, .. } = &body.kind else { return false };
    let PrimKind::Binary(BinaryOp::Add, sum, product) = without_casts(value).kind() else { return false };
    let PrimKind::Binary(BinaryOp::Mul, a, b) = without_casts(product).kind() else { return false };
    let PrimKind::Load(accumulator, at, _) = without_casts(sum).kind() else { return false };
    accumulator == buffer && same(at, indices) && [a, b].iter().all(|operand| is_reused(indices, operand))
}

/// Returns true if an operand is a load that some axis of the store does not change.
fn is_reused(stored: &[PrimExpr], operand: &PrimExpr) -> bool {
    let PrimKind::Load(_, indices, _) = without_casts(operand).kind() else { return false };
    let vars: Option<Vec<&Var>> = stored.iter().map(PrimExpr::as_var).collect();
    vars.is_some_and(|vars| vars.iter().any(|var| !indices.iter().any(|index| index.uses(var))))
}

fn without_casts(mut e: &PrimExpr) -> &PrimExpr {
    while let PrimKind::Cast(inner) = e.kind() {
        e = inner;
    }
    e
}
