//! Operator patterns: classes of TIR functions by their access patterns, which decide what can be fused.
//!
//! The classes and their numbers are those of TVM's attribute `op_pattern`. A function is classified by the indices
//! in its blocks, never by its name.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Var},
    tir::{Block, Buffer, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Attribute of a TIR function with its class.
pub const OP_PATTERN: &str = "op_pattern";

/// Class of a TIR function; later classes allow less fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpPattern {
    /// `C[i, j] = f(A[i, j])`.
    ElementWise = 0,
    /// `C[i, j] = f(A[j])`: a subset of the axes, in order.
    Broadcast = 1,
    /// `C[i, j] = f(A[j, i + 2])`: each element of the result is computed independently.
    Injective = 2,
    /// `C[i] = sum(A[i, k])`.
    CommReduce = 3,
    /// A contraction or sliding window, which may be followed by an element-wise epilogue.
    OutElementWiseFusable = 4,
    /// Anything else.
    Opaque = 8,
}

impl OpPattern {
    /// Returns the class in a function's attribute.
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

    /// Derives the class from a function's blocks; without blocks it is opaque. Indices computed from symbolic sizes
    /// are opaque unless `symbolic`.
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

/// State of the analysis: the class of the blocks so far, and the stores and loads of the current one.
struct Analyzer {
    params: FxHashSet<Buffer>,
    /// Variables that are the same for all elements.
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
                    // Reductions followed by an element-wise stage: softmax.
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

/// Returns the variables that are a function's sizes and scalars.
fn sizes(func: &PrimFunc) -> FxHashSet<Var> {
    let scalars = func.params.iter().filter(|param| param.buffer.is_none());
    let mut sizes: FxHashSet<Var> = scalars.map(|param| param.var.clone()).collect();
    for buffer in func.buffers() {
        buffer.each_expr(&mut |e| e.each_var(&mut |var| _ = sizes.insert(var.clone())));
    }
    sizes
}

/// Returns the class of a block that computes each element independently; `None` for any other.
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

/// Returns the class of a block that reduces.
fn reduction_pattern(block: &Block, loads: &[(Buffer, Vec<PrimExpr>)]) -> OpPattern {
    let reduced: Vec<&Var> = block.axes.iter().filter(|a| a.kind == IterKind::Reduce).map(|a| &a.var).collect();
    if reduced.is_empty() {
        return OpPattern::Opaque;
    }
    // A sliding window loads at sums of axes: `A[i + k]`.
    let plain = |index: &PrimExpr| index.as_var().is_some() || !reduced.iter().any(|var| index.uses(var));
    match is_multiply_add(&block.body) || !loads.iter().all(|(_, indices)| indices.iter().all(plain)) {
        true => OpPattern::OutElementWiseFusable,
        false => OpPattern::CommReduce,
    }
}

/// Returns true if both index lists are the same variables.
fn same(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.as_var().is_some() && a.as_var() == b.as_var())
}

/// Returns true if a load's indices are a subsequence of the store's; dimensions of size 1 are ignored.
fn is_broadcast(target: &Buffer, stored: &[PrimExpr], source: &Buffer, indices: &[PrimExpr]) -> bool {
    let mut rest = stored.iter().take(target.ndim());
    source.shape.iter().zip(indices).all(|(size, index)| {
        let unit = size.as_int() == Some(1) && index.as_int() == Some(0);
        unit || rest.any(|stored| index.as_var().is_some() && stored.as_var() == index.as_var())
    })
}

/// Returns true if a load's indices use only sizes and the variables that index the store.
fn is_injective(stored: &[PrimExpr], indices: &[PrimExpr], sizes: &FxHashSet<Var>) -> bool {
    let vars: Option<Vec<&Var>> = stored.iter().map(PrimExpr::as_var).collect();
    let Some(vars) = vars else { return false };
    let foreign = |e: &PrimExpr| e.as_var().is_some_and(|var| !vars.contains(&var) && !sizes.contains(var));
    !indices.iter().any(|index| index.any(&mut |e| foreign(e)))
}

/// Returns true if a body is `C[…] = C[…] + A[…] * B[…]` and elements of both operands are used for several elements
/// of the result.
fn is_multiply_add(body: &Stmt) -> bool {
    let StmtKind::Store { buffer, indices, value, .. } = &body.kind else { return false };
    let PrimKind::Binary(BinaryOp::Add, sum, product) = without_casts(value).kind() else { return false };
    let PrimKind::Binary(BinaryOp::Mul, a, b) = without_casts(product).kind() else { return false };
    let PrimKind::Load(accumulator, at, _) = without_casts(sum).kind() else { return false };
    accumulator == buffer && same(at, indices) && [a, b].iter().all(|operand| is_reused(indices, operand))
}

/// Returns true if an operand is a load that is invariant along some axis of the store.
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
