//! The rules.

use super::Rule;
use crate::{Axis, Stage, access::is_load_of, index::same_expr};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
    tir::Buffer,
};
use rustc_hash::FxHashSet;

/// All rules.
pub static RULES: &[Rule] = &[
    Rule {
        name: "distinct-axes",
        doc: "axes have different variables, which are scalar integers",
        holds: |stage, _| {
            let vars: FxHashSet<&Var> = stage.axes.iter().map(|axis| &axis.var).collect();
            vars.len() == stage.axes.len() && vars.iter().all(|var| is_integer(var.dtype()) && var.dtype().is_scalar())
        },
    },
    Rule {
        name: "rectangular",
        doc: "extents are integers that no axis changes, and constant ones are not negative",
        holds: |stage, _| {
            stage.axes.iter().all(|axis| {
                let extent = &axis.extent;
                is_integer(extent.dtype()) && !uses_any(extent, &stage.axes) && extent.as_int().is_none_or(|n| n >= 0)
            })
        },
    },
    Rule {
        name: "index-per-dimension",
        doc: "an access has one integer index for each dimension of its buffer",
        holds: |stage, _| {
            let fits = |buffer: &Buffer, indices: &[PrimExpr]| {
                indices.len() == buffer.ndim() && indices.iter().all(|index| is_integer(index.dtype()))
            };
            let is_bad =
                |e: &PrimExpr| matches!(e.kind(), PrimKind::Load(buffer, indices, _) if !fits(buffer, indices));
            let arg = stage.arg_result.iter().all(|arg| fits(&arg.buffer, &stage.indices));
            let stores = fits(&stage.buffer, &stage.indices) && fits(stage.target(), stage.target_indices()) && arg;
            stores && !stage.values().any(|value| value.any(&mut |e| is_bad(e)))
        },
    },
    Rule {
        name: "stored-dtype",
        doc: "a value has the element type of the buffer that stores it",
        holds: |stage, _| {
            let fits = |value: &PrimExpr, buffer: &Buffer| value.dtype().element() == buffer.dtype.element();
            fits(&stage.value, &stage.buffer)
                && stage.init.iter().all(|init| fits(init, &stage.buffer))
                && stage.epilogue.iter().all(|epilogue| fits(&epilogue.value, &epilogue.buffer))
                && stage.arg_result.iter().all(|arg| fits(&arg.init, &arg.buffer))
        },
    },
    Rule {
        name: "spatial-store",
        doc: "store indices, initial values and epilogues use spatial axes only",
        holds: |stage, _| {
            let reduced: Vec<Axis> = stage.axes.iter().filter(|axis| axis.reduce).cloned().collect();
            let epilogue = stage.epilogue.iter().map(|epilogue| &epilogue.value).chain(&stage.init);
            let mut all = stage.indices.iter().chain(stage.target_indices()).chain(epilogue);
            !all.any(|e| uses_any(e, &reduced))
        },
    },
    Rule {
        name: "own-element",
        doc: "a value reads the stage's buffer only at the stored indices",
        holds: |stage, _| {
            !stage.value.any(&mut |e| loads_elsewhere(e, &stage.buffer, &stage.indices))
                && !stage.init.iter().any(|init| init.any(&mut |e| is_load_of(e, &stage.buffer)))
        },
    },
    Rule {
        name: "epilogue-element",
        doc: "an epilogue reads the stage's buffer only at the stored indices, and its own only at its indices",
        holds: |stage, _| {
            stage.epilogue.iter().all(|epilogue| {
                !epilogue.value.any(&mut |e| {
                    loads_elsewhere(e, &stage.buffer, &stage.indices)
                        || loads_elsewhere(e, &epilogue.buffer, &epilogue.indices)
                })
            })
        },
    },
    Rule {
        name: "reduction-parts",
        doc: "only reductions have an initial value, an epilogue or an arg-result",
        holds: |stage, _| {
            stage.reduces() || stage.init.is_none() && stage.epilogue.is_none() && stage.arg_result.is_none()
        },
    },
    Rule {
        name: "arg-reduction",
        doc: "an arg-reduction is the minimum or maximum of the previous result and an element, with an initial value, \
              an integer index in memory of its own, and no epilogue",
        holds: |stage, _| {
            stage.arg_result.iter().all(|arg| {
                let is_own = |e: &PrimExpr| is_load_of(e, &stage.buffer);
                let selects = match stage.value.kind() {
                    PrimKind::Binary(BinaryOp::Min | BinaryOp::Max, old, new) => {
                        is_own(old) && !new.any(&mut |e| is_own(e) || is_load_of(e, &arg.buffer))
                    }
                    _ => false,
                };
                let is_apart = arg.buffer.data != stage.buffer.data && is_integer(arg.buffer.dtype);
                selects && is_apart && stage.init.is_some() && stage.epilogue.is_none()
            })
        },
    },
    Rule {
        name: "defined",
        doc: "expressions use axes, parameters, sizes, and the memory of known buffers only",
        holds: |stage, scope| {
            let mut bound: FxHashSet<Var> = stage.axes.iter().map(|axis| axis.var.clone()).collect();
            let extents = stage.axes.iter().map(|axis| &axis.extent);
            let all = || extents.clone().chain(&stage.indices).chain(stage.target_indices()).chain(stage.values());
            all().for_each(|e| e.walk(&mut |e| bind(e, &mut bound)));
            let is_known = |var: &Var| bound.contains(var) || scope.defined.contains(var);
            let is_free = |e: &PrimExpr| match e.kind() {
                PrimKind::Var(var) => !is_known(var),
                PrimKind::Load(buffer, ..) => !is_known(&buffer.data),
                _ => false,
            };
            stage.targets().all(|target| is_known(&target.data)) && !all().any(|e| e.any(&mut |e| is_free(e)))
        },
    },
    Rule {
        name: "written-before-read",
        doc: "local memory is written by an earlier part before a stage reads it",
        holds: |stage, scope| !loaded(stage).any(|data| scope.unwritten.contains(data)),
    },
];

/// Returns the memory that a stage loads from, other than a reduction's own after its initialization.
pub fn loaded(stage: &Stage) -> impl Iterator<Item = &Var> {
    let all = stage.loaded().into_iter().map(|buffer| &buffer.data);
    all.filter(|data| stage.init.is_none() || **data != stage.buffer.data)
}

fn is_integer(dtype: hammock_ir::DType) -> bool {
    dtype.is_integer() && !dtype.is_bool()
}

fn uses_any(e: &PrimExpr, axes: &[Axis]) -> bool {
    axes.iter().any(|axis| e.uses(&axis.var))
}

/// Returns true if an expression is a load from a buffer's memory other than of the element at `indices`.
fn loads_elsewhere(e: &PrimExpr, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
    match e.kind() {
        PrimKind::Load(other, at, _) if other.data == buffer.data => {
            other != buffer || at.len() != indices.len() || !at.iter().zip(indices).all(|(a, b)| same_expr(a, b))
        }
        _ => false,
    }
}

/// Adds the variables that an expression binds.
fn bind(e: &PrimExpr, bound: &mut FxHashSet<Var>) {
    match e.kind() {
        PrimKind::Let(var, ..) => _ = bound.insert(var.clone()),
        PrimKind::Reduce(reduce) => {
            bound.extend(reduce.axes.iter().map(|axis| axis.var.clone()));
            bound.extend(reduce.combiner.lhs.iter().chain(&reduce.combiner.rhs).cloned());
        }
        _ => {}
    }
}
