//! Stages: loop nests with one store.

use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution, Var, flat::Dot},
    tir::Buffer,
};

/// A loop nest with one store.
///
/// [`Stage::new`] creates the stage of an element-wise computation; the optional parts are set by `with_…`. A transform
/// changes a copy. The [verifier](crate::verify) lists what holds for every stage.
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

impl Axis {
    /// Creates a spatial axis.
    pub fn spatial(var: Var, extent: PrimExpr) -> Axis {
        Axis { var, extent, reduce: false }
    }

    /// Returns the axis with a variable of its own.
    pub fn fresh(&self) -> Axis {
        Axis { var: self.var.fresh(), ..self.clone() }
    }

    /// Returns true if it has only one value.
    pub fn is_unit(&self) -> bool {
        self.extent.as_int() == Some(1)
    }
}

impl Stage {
    /// Creates a stage that stores `value` at `indices` of a buffer, for all values of the axes.
    pub fn new(
        name: impl Into<String>,
        axes: Vec<Axis>,
        buffer: Buffer,
        indices: Vec<PrimExpr>,
        value: PrimExpr,
    ) -> Stage {
        Stage {
            name: name.into(),
            axes,
            buffer,
            indices,
            value,
            init: None,
            epilogue: None,
            arg_result: None,
            part: None,
            regions: false,
        }
    }

    /// Returns the stage with each value that it evaluates mapped by `f`: initial value, value, epilogue.
    pub fn map_values(&self, f: impl Fn(&PrimExpr) -> PrimExpr) -> Stage {
        let epilogue = |epilogue: &Epilogue| Epilogue { value: f(&epilogue.value), ..epilogue.clone() };
        Stage {
            init: self.init.as_ref().map(&f),
            value: f(&self.value),
            epilogue: self.epilogue.as_ref().map(epilogue),
            ..self.clone()
        }
    }

    /// Sets the initial value of a reduction.
    pub fn with_init(self, init: Option<PrimExpr>) -> Stage {
        Stage { init, ..self }
    }

    /// Sets the second result of an arg-reduction.
    pub fn with_arg_result(self, arg_result: ArgResult) -> Stage {
        Stage { arg_result: Some(arg_result), ..self }
    }

    /// Sets the preferred number of elements per partial sum.
    pub fn with_part(self, part: Option<i64>) -> Stage {
        Stage { part, ..self }
    }

    /// Sets whether it accesses a region of a buffer under another name.
    pub fn with_regions(self, regions: bool) -> Stage {
        Stage { regions, ..self }
    }

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
        let own = vars.iter().cloned().zip(counts).map(|(var, extent)| Axis::spatial(var, extent)).collect();
        let indices = vars.iter().map(Var::expr).collect();
        Stage::new(format!("{}_copy", self.name), own, to, indices, value).with_regions(self.regions)
    }

    /// Returns the buffers of its loads, in order, with duplicates.
    pub fn loaded(&self) -> Vec<&Buffer> {
        let mut all = Vec::new();
        for value in self.values() {
            value.walk(&mut |e| {
                if let PrimKind::Load(buffer, ..) = e.kind() {
                    all.push(buffer);
                }
            });
        }
        all
    }

    /// Returns the expressions that it evaluates, other than store indices.
    pub fn values(&self) -> impl Iterator<Item = &PrimExpr> {
        self.init.iter().chain([&self.value]).chain(self.epilogue.iter().map(|epilogue| &epilogue.value))
    }
}

/// Returns the linear position along all reduction axes, given a position on each axis.
pub fn linear_position(axes: &[Axis], at: &[PrimExpr]) -> PrimExpr {
    let mut reduced = axes.iter().zip(at).filter(|(axis, _)| axis.reduce);
    let first = reduced.next().map_or_else(|| PrimExpr::int64(0), |(_, at)| at.clone());
    reduced.fold(first, |number, (axis, at)| number * axis.extent.clone() + at)
}

/// Returns the substitution of axes by positions.
pub fn substitution(axes: &[Axis], positions: &[PrimExpr]) -> Substitution {
    axes.iter().map(|a| a.var.clone()).zip(positions.iter().cloned()).collect()
}
