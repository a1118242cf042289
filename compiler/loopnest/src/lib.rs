//! Loop nests: what a kernel computes, between block TIR and a schedule.
//!
//! [`raise`] turns the blocks of a function into a [`Kernel`] of [`Stage`]s: axes, one store, a reduction's initial
//! value. [`transforms`] rewrite the stages, and [`to_tir`] turns them back into blocks, so that they print after each
//! transform. [`access`] analyzes access patterns. Loops are chosen later, by a schedule.
//!
//! Statements that are no stage (several stores, branches, loops that the author has scheduled) stay opaque.
#![forbid(unsafe_code)]

pub mod access;
pub mod arg_reduce;
pub mod contraction;
pub mod dots;
mod effects;
pub mod index;
mod parallel_loops;
mod raise;
mod recover_affine_index;
mod to_tir;
pub mod transforms;

pub use effects::Footprint;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var, flat::Dot},
    tir::{Buffer, PrimFunc, Stmt},
};
use index::same_expr;
pub use parallel_loops::OpaqueStmts;
pub use raise::is_stage;
pub use transforms::row_tiling;
use transforms::{Scope, TRANSFORMS, row_tiling::Rows};

/// The computation of a function: its parts, in order.
pub struct Kernel {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of a kernel.
pub enum Part {
    /// A loop nest that a rule schedules.
    Stage(Stage),
    /// Stages that run one block of rows at a time.
    Rows(Rows),
    /// Opaque statements.
    Opaque(OpaqueStmts),
}

/// A loop nest with one store.
#[derive(Clone)]
pub struct Stage {
    /// The block's name.
    pub name: String,
    /// Axes, in the order in which reductions combine elements.
    pub axes: Vec<Axis>,
    /// Buffer of the results.
    pub buffer: Buffer,
    /// Store indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// Stored value. A reduction reads the buffer at the same indices.
    pub value: PrimExpr,
    /// Initial value of a reduction; `None` to accumulate into the buffer's contents.
    pub init: Option<PrimExpr>,
    /// Operations applied to each result of a reduction before it is stored.
    pub epilogue: Option<Epilogue>,
    /// Second result of an arg-reduction: the index of the minimum or maximum.
    pub arg_result: Option<ArgResult>,
    /// Preferred number of elements per partial sum, if the block requests one.
    pub part: Option<i64>,
    /// True if it accesses a region of a buffer under another name, which has no other names than this one.
    pub regions: bool,
}

/// Operations fused behind a reduction, applied to each result. The stage's buffer then exists in registers only.
#[derive(Clone)]
pub struct Epilogue {
    /// Buffer of the final values.
    pub buffer: Buffer,
    /// Store indices, over the spatial axes.
    pub indices: Vec<PrimExpr>,
    /// Stored value; a load of the stage's buffer stands for the result of the reduction.
    pub value: PrimExpr,
}

/// Index result of an arg-reduction: position of the element, counted along all reduction axes; the first of equal
/// elements. The stage's value is the minimum or maximum of the previous result and an element, and does not define how
/// ties and NaN are resolved.
#[derive(Clone)]
pub struct ArgResult {
    /// Buffer of the index, stored at the stage's indices.
    pub buffer: Buffer,
    /// Index if no element is selected.
    pub init: PrimExpr,
    /// True if NaN is selected before all other values. Otherwise it is never selected.
    pub selects_nan: bool,
    /// True if the minimum or maximum itself is also stored.
    pub stores_value: bool,
}

/// An axis of a stage, starting at zero.
#[derive(Clone)]
pub struct Axis {
    /// Its variable.
    pub var: Var,
    /// Number of values.
    pub extent: PrimExpr,
    /// True if it is a reduction axis.
    pub reduce: bool,
}

impl Kernel {
    /// Raises statements of a function to stages, and runs all transforms. `own` are the buffers of the kernel; transforms
    /// may add more. `masks`: true if masked loads cost no more than others.
    pub fn read(func: &PrimFunc, stmts: Vec<Stmt>, own: &mut Vec<Buffer>, masks: bool) -> Kernel {
        Kernel::read_until(func, stmts, own, masks, TRANSFORMS.len())
    }

    /// The same with the first `count` of the [`TRANSFORMS`].
    pub fn read_until(func: &PrimFunc, stmts: Vec<Stmt>, own: &mut Vec<Buffer>, masks: bool, count: usize) -> Kernel {
        let mut kernel = raise::kernel(stmts);
        if func.is_noalias() {
            for part in &mut kernel.parts {
                if let Part::Opaque(other) = part {
                    other.find_parallel_loops();
                }
            }
        }
        let mut scope = Scope { func, own, masks };
        for transform in TRANSFORMS[..count].iter().filter(|transform| transform.may_alias || func.is_noalias()) {
            (transform.run)(&mut kernel, &mut scope);
        }
        kernel
    }
}

impl Stage {
    /// Returns the buffer that it writes to.
    pub fn target(&self) -> &Buffer {
        self.epilogue.as_ref().map_or(&self.buffer, |epilogue| &epilogue.buffer)
    }

    /// Returns the buffers that it writes to.
    pub fn targets(&self) -> impl Iterator<Item = &Buffer> {
        [self.target()].into_iter().chain(self.arg_result.as_ref().map(|arg| &arg.buffer))
    }

    /// Returns the indices at which it stores.
    pub fn target_indices(&self) -> &[PrimExpr] {
        self.epilogue.as_ref().map_or(&self.indices, |epilogue| &epilogue.indices)
    }

    /// Returns true if it has a reduction axis.
    pub fn reduces(&self) -> bool {
        self.axes.iter().any(|axis| axis.reduce)
    }

    /// Returns true if it only copies elements, without arithmetic.
    pub fn is_copy(&self) -> bool {
        let same = |buffer: &Buffer| buffer.dtype == self.buffer.dtype && buffer.data != self.buffer.data;
        !self.reduces() && matches!(self.value.kind(), PrimKind::Load(buffer, ..) if same(buffer))
    }

    /// Returns a stage that copies what a load of this one reads: `counts` elements along `axes`, starting at
    /// `position`. The elements of one axis may be copied as packed groups.
    pub fn copy_of(
        &self,
        load: &PrimExpr,
        axes: &[usize],
        counts: Vec<PrimExpr>,
        position: &[PrimExpr],
        to: Buffer,
        packed_axis: Option<(usize, Dot)>,
    ) -> Stage {
        let vars: Vec<Var> = axes.iter().map(|axis| self.axes[*axis].var.fresh()).collect();
        let mut at = position.to_vec();
        for (axis, var) in axes.iter().zip(&vars) {
            at[*axis] = if at[*axis].as_int() == Some(0) { var.expr() } else { &at[*axis] + var.expr() };
        }
        let value = match packed_axis {
            Some((axis, dot)) => self.group_at(load, axis, dot, at),
            None => load.substitute(&substitution(&self.axes, &at)),
        };
        let own = vars.iter().cloned().zip(counts);
        Stage {
            name: format!("{}_copy", self.name),
            axes: own.map(|(var, extent)| Axis { var, extent, reduce: false }).collect(),
            buffer: to,
            indices: vars.iter().map(Var::expr).collect(),
            value,
            init: None,
            epilogue: None,
            arg_result: None,
            part: None,
            regions: self.regions,
        }
    }

    /// Returns the expressions that it evaluates, other than store indices.
    pub fn values(&self) -> impl Iterator<Item = &PrimExpr> {
        self.init.iter().chain([&self.value]).chain(self.epilogue.iter().map(|epilogue| &epilogue.value))
    }
}

/// Replaces every load of a buffer in a value.
pub fn replace_loads(value: &PrimExpr, buffer: &Buffer, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Load(b, ..) if b == buffer => by.clone(),
        _ => value.map_children(&mut |c| replace_loads(c, buffer, by)),
    }
}

/// Maps every load of a buffer's memory in a value.
pub fn map_loads(value: &PrimExpr, buffer: &Buffer, by: &impl Fn(&PrimExpr) -> PrimExpr) -> PrimExpr {
    if access::is_load_of(value, buffer) {
        by(value)
    } else {
        value.map_children(&mut |child| map_loads(child, buffer, by))
    }
}

/// Replaces every occurrence of a load, or another expression, in a value.
pub fn replaced(value: &PrimExpr, load: &PrimExpr, by: &PrimExpr) -> PrimExpr {
    if same_expr(value, load) { by.clone() } else { value.map_children(&mut |child| replaced(child, load, by)) }
}

/// Returns the number of iterations with a step, the partial last one included.
pub fn steps(count: &PrimExpr, step: i64) -> PrimExpr {
    match count.as_int() {
        Some(count) => PrimExpr::int64((count + step - 1) / step),
        None if step == 1 => count.clone(),
        None => (count + PrimExpr::int64(step - 1)).floordiv(PrimExpr::int64(step)),
    }
}

/// Returns the operands of a chain of `and`.
pub fn conjuncts(e: &PrimExpr) -> Vec<PrimExpr> {
    match e.kind() {
        PrimKind::Binary(BinaryOp::And, a, b) => [conjuncts(a), conjuncts(b)].concat(),
        _ => vec![e.clone()],
    }
}

/// Returns the substitution of axes by positions.
pub fn substitution(axes: &[Axis], positions: &[PrimExpr]) -> Substitution {
    axes.iter().map(|a| a.var.clone()).zip(positions.iter().cloned()).collect()
}
