//! Raises blocks to stages: [plain loops](BlockNest) around one store, or around an [arg-reduction](arg_reduce).

mod arg_reduce;
mod block_nest;
mod promote_indices;
mod recover_affine_index;

use crate::{
    Axis, Kernel, OpaqueStmts, Part, Stage,
    index::{Simplifier, same_expr},
    substitution,
};
pub use block_nest::BlockNest;
use hammock_ir::{
    AttrValue, PrimExpr,
    prim::{PrimKind, Substitution},
    tir::{Buffer, SUM_PARTS, Stmt, StmtKind},
};
pub use promote_indices::promote_indices;

/// Raises statements to parts of a kernel.
pub fn kernel(stmts: Vec<Stmt>) -> Kernel {
    let part = |stmt: Stmt| match Stage::raise(&stmt) {
        Some(stage) => Part::Stage(stage),
        None => Part::Opaque(OpaqueStmts::new(stmt)),
    };
    Kernel { parts: stmts.into_iter().map(part).collect() }
}

/// Returns true if a statement is raised to a stage.
pub fn is_stage(stmt: &Stmt) -> bool {
    Stage::raise(stmt).is_some()
}

impl Stage {
    /// Raises plain loops around a block with one store, or with the two of an arg-reduction; `None` if the statement
    /// is neither.
    pub fn raise(stmt: &Stmt) -> Option<Stage> {
        stage(stmt).or_else(|| arg_reduce::stage(stmt))
    }
}

/// Raises plain loops around a block with one store.
fn stage(stmt: &Stmt) -> Option<Stage> {
    let BlockNest { block, mut axes, .. } = BlockNest::of(stmt).filter(BlockNest::is_rectangular)?;
    let StmtKind::Store { buffer, indices: at, value, predicate: None } = &block.body.kind else { return None };
    let indices = Indices::new(&mut axes);
    let (at, value) = (indices.simple(at), indices.value(value));
    let init = match &block.init {
        None => None,
        Some(init) => Some(initial(init, buffer, &at, &indices)?),
    };
    let reduces = axes.iter().any(|a| a.reduce);
    let moves = axes.iter().any(|a| a.reduce && at.iter().chain(&init).any(|e| e.uses(&a.var)));
    if moves || (!reduces && (init.is_some() || reads(&value, buffer))) || (reduces && !reads_only(&value, buffer, &at))
    {
        return None;
    }
    let part = block.annotations.get(SUM_PARTS).and_then(AttrValue::as_int).filter(|part| *part > 0);
    Some(Stage::new(block.name.to_string(), axes, buffer.clone(), at, value).with_init(init).with_part(part))
}

/// Normalizes indices over the axes with more than one value.
pub struct Indices {
    axes: Vec<Axis>,
    simplifier: Simplifier,
    units: Substitution,
}

impl Indices {
    /// Removes axes of extent 1; a reduction retains a reduction axis.
    pub fn new(axes: &mut Vec<Axis>) -> Indices {
        let is_one = |axis: &Axis| axis.extent.as_int() == Some(1);
        let keeps = axes.iter().filter(|axis| axis.reduce).all(is_one);
        let last = axes.iter().rfind(|axis| axis.reduce && keeps).map(|axis| axis.var.clone());
        let is_unit = |axis: &mut Axis| is_one(axis) && last.as_ref() != Some(&axis.var);
        let units: Vec<Axis> = axes.extract_if(.., is_unit).collect();
        let mut simplifier = Simplifier::default();
        for axis in axes.iter() {
            simplifier.learn(&axis.var, &PrimExpr::int64(0), &axis.extent);
        }
        Indices { axes: axes.clone(), simplifier, units: substitution(&units, &vec![PrimExpr::int64(0); units.len()]) }
    }

    /// Simplifies indices.
    pub fn simple(&self, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let simple = |index: &PrimExpr| {
            let index = self.value(index);
            self.simplifier.index(recover_affine_index::recover(&index, &self.axes).as_ref().unwrap_or(&index))
        };
        indices.iter().map(simple).collect()
    }

    /// Simplifies the indices of all loads of an expression.
    pub fn value(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Var(var) => self.units.get(var).unwrap_or(e).clone(),
            PrimKind::Load(buffer, indices, None) => PrimExpr::load(buffer, self.simple(indices)),
            _ => e.map_children(&mut |child| self.value(child)),
        }
    }
}

/// Returns the initial value of a reduction, if it is stored to the same element as the result.
fn initial(init: &Stmt, buffer: &Buffer, at: &[PrimExpr], indices: &Indices) -> Option<PrimExpr> {
    let StmtKind::Store { buffer: own, indices: i, value, predicate: None } = &init.kind else { return None };
    let (i, value) = (indices.simple(i), indices.value(value));
    let same = i.len() == at.len() && i.iter().zip(at).all(|(a, b)| same_expr(a, b));
    (own == buffer && same && !reads(&value, buffer)).then_some(value)
}

/// Returns true if a value reads a buffer's memory.
pub fn reads(value: &PrimExpr, buffer: &Buffer) -> bool {
    value.any(&mut |e| matches!(e.kind(), PrimKind::Load(b, ..) if b == buffer || b.data == buffer.data))
}

/// Returns true if every load of the buffer is of the element that is stored.
fn reads_only(value: &PrimExpr, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
    !value.any(&mut |e| match e.kind() {
        PrimKind::Load(b, i, _) if b == buffer => {
            i.len() != indices.len() || !i.iter().zip(indices).all(|(a, b)| same_expr(a, b))
        }
        PrimKind::Load(b, ..) => b.data == buffer.data,
        _ => false,
    })
}
