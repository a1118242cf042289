//! Loop nests: what a kernel computes, between block TIR and a schedule.
//!
//! [`raise`] turns the blocks of a function into a [`Kernel`] of [`Stage`]s. A stage has axes, one store, and for a
//! reduction an initial value. This is the stage of a matmul with a bias, once `fuse` has attached the addition as an
//! epilogue:
//!
//! ```text
//! stage matmul      axes i: 128, j: 3072 (spatial), k: 768 (reduction)
//!   init            Y[i, j] = 0
//!   value           Y[i, j] = Y[i, j] + A[i, k] * B[k, j]
//!   epilogue        Z[i, j] = Y[i, j] + bias[j]
//! ```
//!
//! The order of the axes says only in which order a reduction combines elements: loops, tiles and vectors are chosen
//! later, by a schedule. Y exists in registers alone.
//!
//! [`transforms`] rewrite stages, and [`to_tir`] turns them back into blocks, so that they print after each transform.
//! [`verify`] lists what holds for every stage, and checks it after each transform in debug builds. [`analysis`]
//! answers questions about one stage (contiguous axes, operands of a contraction, row axes, cost) and [`index`]
//! simplifies index expressions.
//!
//! Statements that are no stage (several stores, branches, loops that the author has scheduled) stay
//! [opaque](OpaqueStmts).
#![forbid(unsafe_code)]

pub mod analysis;
pub mod index;
mod packed_layout;
mod raise;
mod rewrite;
mod stage;
mod to_tir;
pub mod transforms;
pub mod verify;

pub use analysis::{
    access, consumers, contraction,
    cost::Cost,
    dots,
    footprint::Footprint,
    parallel_loops::OpaqueStmts,
    row_axes,
    scale_groups::{ScaleGroups, ZeroPoint},
    zero_insertion,
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
    tir::{Buffer, PrimFunc, Stmt},
};
pub use packed_layout::{PackedGroups, PackedLayout, PackedParam};
pub use raise::{is_stage, promote_indices};
pub use rewrite::{map_loads, replace_loads, replaced};
pub use stage::{ArgResult, Axis, Epilogue, Stage, linear_position, substitution};
pub use transforms::row_tiling;
use transforms::{Scope, TRANSFORMS, Transform, row_tiling::Rows};
use verify::Verifier;

/// Kind of machine that stages are transformed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A CPU. `masks`: true if masked loads cost no more than others.
    Cpu {
        /// See above.
        masks: bool,
    },
    /// A GPU. `parts`: the number of parts that a long reduction is split into at most; `None` if reductions run in
    /// program order.
    Gpu {
        /// See above.
        parts: Option<i64>,
    },
}

impl Machine {
    /// Returns true if it is a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Machine::Gpu { .. })
    }

    /// True if masked loads cost no more than others.
    pub fn has_masks(self) -> bool {
        self != Machine::Cpu { masks: false }
    }
}

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

impl Part {
    /// Returns its stages.
    pub fn stages(&self) -> &[Stage] {
        match self {
            Part::Stage(stage) => std::slice::from_ref(stage),
            Part::Rows(rows) => &rows.stages,
            Part::Opaque(_) => &[],
        }
    }

    /// Returns its stages, to change.
    pub fn stages_mut(&mut self) -> &mut [Stage] {
        match self {
            Part::Stage(stage) => std::slice::from_mut(stage),
            Part::Rows(rows) => &mut rows.stages,
            Part::Opaque(_) => &mut [],
        }
    }
}

impl Kernel {
    /// Raises statements of a function to stages, and runs all transforms. `own` are the buffers of the kernel;
    /// transforms may add more.
    pub fn read(func: &PrimFunc, stmts: Vec<Stmt>, own: &mut Vec<Buffer>, machine: Machine) -> Kernel {
        Kernel::read_until(func, stmts, own, machine, TRANSFORMS.len())
    }

    /// The same with the first `count` of the [`TRANSFORMS`].
    pub fn read_until(
        func: &PrimFunc,
        stmts: Vec<Stmt>,
        own: &mut Vec<Buffer>,
        machine: Machine,
        count: usize,
    ) -> Kernel {
        let mut kernel = raise::kernel(stmts);
        if func.is_noalias() {
            for part in &mut kernel.parts {
                if let Part::Opaque(other) = part {
                    other.find_parallel_loops();
                }
            }
        }
        let verifier = cfg!(debug_assertions).then(|| Verifier::new(func, &kernel, own));
        let verify = |kernel: &Kernel, own: &[Buffer], step: &str| {
            let violation = verifier.as_ref().and_then(|verifier| verifier.check(kernel, own).err());
            debug_assert!(
                violation.is_none(),
                "after {step}, {}",
                violation.map_or_else(String::new, |v| v.to_string())
            );
        };
        verify(&kernel, own, "raising");
        let mut scope = Scope { func, own, machine };
        let applies = |transform: &&&Transform| {
            (transform.may_alias || func.is_noalias()) && (transform.suits_gpus || !machine.is_gpu())
        };
        for transform in TRANSFORMS[..count].iter().filter(applies) {
            (transform.run)(&mut kernel, &mut scope);
            verify(&kernel, scope.own, transform.name);
        }
        kernel
    }
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
