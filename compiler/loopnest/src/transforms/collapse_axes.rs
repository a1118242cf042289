//! Collapses axes that are contiguous in every access.
//!
//! `y[i, j] = x[i, j] + 1` becomes `y[k] = x[k] + 1`: vectors run past the ends of short rows, and there is one tail
//! instead of one per row. This also applies to the spatial axes of a 1 x 1 convolution, the batch and row axes of a
//! matmul with a shared matrix, and axes that a transpose leaves adjacent.

use crate::{
    ArgResult, Axis, Epilogue, Stage,
    access::{contraction_operands, loads},
    index::same_expr,
    replaced,
    transforms::{Transform, rewrite_stages},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, Substitution, Var},
    tir::Buffer,
};

/// See the module's documentation.
pub static TRANSFORM: Transform = Transform {
    name: "collapse-axes",
    doc: "Collapses axes that are contiguous in every access",
    may_alias: true,
    suits_gpus: true,
    run: |kernel, _| rewrite_stages(kernel, apply),
};

/// Collapses all axes of a stage that can be.
fn apply(stage: &mut Stage) {
    match contraction_operands(stage) {
        Some(_) => drop_trailing_unit_dims(stage),
        None => drop_unit_dims(stage),
    }
    while let Some(pair) = pairs(stage).into_iter().find(|pair| pair.fits(stage)) {
        *stage = pair.collapse(stage);
    }
}

/// Removes dimensions of size 1 from the loads, and from the store of an element-wise stage.
fn drop_unit_dims(stage: &mut Stage) {
    keep_dims_of_loads(stage, &|buffer, indices| dims_but_unit(buffer, indices));
    if !stage.reduces() && stage.epilogue.is_none() && is_plain(&stage.buffer, &stage.indices) {
        let dims = dims_but_unit(&stage.buffer, &stage.indices);
        if dims.len() < stage.indices.len() {
            stage.buffer = with_dims(&stage.buffer, &dims);
            stage.indices = dims.iter().map(|at| stage.indices[*at].clone()).collect();
        }
    }
}

/// Removes trailing dimensions of size 1 from the loads of a contraction, such as the window of a 1 x 1 convolution, so
/// that the dimension before them is the contiguous one. Others remain: packed layouts are recognized by their
/// dimensions.
fn drop_trailing_unit_dims(stage: &mut Stage) {
    keep_dims_of_loads(stage, &|buffer, indices| {
        let last = (0..indices.len()).rfind(|at| !is_unit_dim(buffer, indices, *at));
        (0..last.map_or(indices.len(), |last| last + 1)).collect()
    });
}

/// Replaces the buffers that a stage loads from by views that have only some of their dimensions.
fn keep_dims_of_loads(stage: &mut Stage, kept: &dyn Fn(&Buffer, &[PrimExpr]) -> Vec<usize>) {
    let mut views: Vec<(Buffer, Vec<usize>, Buffer)> = Vec::new();
    let mut value = stage.value.clone();
    for load in loads(stage) {
        let PrimKind::Load(buffer, indices, None) = load.kind() else { continue };
        let dims = kept(buffer, indices);
        if !is_plain(buffer, indices) || dims.len() == indices.len() {
            continue;
        }
        let known = views.iter().find(|(of, own, _)| of == buffer && *own == dims).map(|(.., view)| view.clone());
        let view = known.unwrap_or_else(|| with_dims(buffer, &dims));
        value = replaced(&value, load, &PrimExpr::load(&view, dims.iter().map(|at| indices[*at].clone()).collect()));
        views.push((buffer.clone(), dims, view));
    }
    stage.value = value;
}

fn is_plain(buffer: &Buffer, indices: &[PrimExpr]) -> bool {
    buffer.strides.is_empty() && buffer.axis_separators.is_empty() && buffer.ndim() == indices.len()
}

fn is_unit_dim(buffer: &Buffer, indices: &[PrimExpr], at: usize) -> bool {
    buffer.shape[at].as_int() == Some(1) && indices[at].as_int() == Some(0)
}

fn dims_but_unit(buffer: &Buffer, indices: &[PrimExpr]) -> Vec<usize> {
    (0..indices.len()).filter(|at| !is_unit_dim(buffer, indices, *at)).collect()
}

fn with_dims(buffer: &Buffer, dims: &[usize]) -> Buffer {
    buffer.change(|b| b.shape = dims.iter().map(|at| buffer.shape[*at].clone()).collect())
}

/// Two axes; the inner one runs through all its values for each value of the outer one.
pub(super) struct AxisPair {
    pub outer: Axis,
    pub inner: Axis,
}

/// Returns pairs of axes that some access has in adjacent dimensions. Reduction axes must not change their order.
pub(super) fn pairs(stage: &Stage) -> Vec<AxisPair> {
    let mut found = Vec::new();
    let number = |index: &PrimExpr| stage.axes.iter().position(|axis| index.as_var() == Some(&axis.var));
    let follows = |outer: usize, inner: usize| {
        outer < inner && stage.axes[outer + 1..inner].iter().all(|between| !between.reduce)
    };
    let mut add = |indices: &[PrimExpr]| {
        for dims in indices.windows(2) {
            let (Some(i), Some(j)) = (number(&dims[0]), number(&dims[1])) else { continue };
            let (outer, inner) = (&stage.axes[i], &stage.axes[j]);
            if outer.reduce == inner.reduce && (!outer.reduce || follows(i, j)) {
                found.push(AxisPair { outer: outer.clone(), inner: inner.clone() });
            }
        }
    };
    add(stage.target_indices());
    stage.value.walk(&mut |e| {
        if let PrimKind::Load(_, indices, _) = e.kind() {
            add(indices);
        }
    });
    found
}

impl AxisPair {
    /// Returns true if every access has both axes in adjacent dimensions, or neither, and nothing else depends on them.
    pub fn fits(&self, stage: &Stage) -> bool {
        self.fits_stores(stage) && stage.values().all(|value| self.is_expr(value))
    }

    /// The same for the accesses that store.
    pub fn fits_stores(&self, stage: &Stage) -> bool {
        let stores = |buffer: &Buffer, indices: &[PrimExpr]| self.is_access(buffer, indices);
        stores(&stage.buffer, &stage.indices)
            && stores(stage.target(), stage.target_indices())
            && stage.arg_result.iter().all(|arg| stores(&arg.buffer, &stage.indices))
    }

    pub fn is_used(&self, e: &PrimExpr) -> bool {
        e.uses(&self.outer.var) || e.uses(&self.inner.var)
    }

    fn is_expr(&self, e: &PrimExpr) -> bool {
        match e.kind() {
            _ if !self.is_used(e) => true,
            PrimKind::Load(buffer, indices, None) => self.is_access(buffer, indices),
            PrimKind::Var(_) => false,
            _ => {
                let mut fits = true;
                e.each_child(&mut |child| fits &= self.is_expr(child));
                fits
            }
        }
    }

    /// Returns true if an access has both axes in adjacent dimensions, or neither.
    pub fn is_access(&self, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
        let others = |at: usize| (0..indices.len()).filter(move |n| !(at..at + 2).contains(n));
        match self.dim(buffer, indices) {
            Some(at) => others(at).all(|n| !self.is_used(&indices[n])),
            None => !indices.iter().any(|index| self.is_used(index)),
        }
    }

    /// Returns the dimension of the outer axis, if the inner axis is all of the next one. Sizes are not negative, so a
    /// nonnegative index stays nonnegative when collapsed.
    fn dim(&self, buffer: &Buffer, indices: &[PrimExpr]) -> Option<usize> {
        let at = indices.iter().position(|index| index.as_var() == Some(&self.outer.var))?;
        let next = indices.get(at + 1)?.as_var() == Some(&self.inner.var);
        let plain = is_plain(buffer, indices);
        (next && plain && same_expr(&wide(&buffer.shape[at + 1]), &wide(&self.inner.extent))).then_some(at)
    }

    /// Returns the stage with one axis instead of two.
    pub fn collapse(&self, stage: &Stage) -> Stage {
        let (outer, inner) = (self.outer.var.name(), self.inner.var.name());
        let var = Var::int64(format!("{outer}_{}", inner.strip_prefix("v_").unwrap_or(inner)));
        let extent = multiply(&self.outer.extent, &self.inner.extent);
        let size = wide(&self.inner.extent);
        let positions = [(&self.outer, var.expr().floordiv(size.clone())), (&self.inner, var.expr().floormod(size))];
        let positions = positions.into_iter().map(|(axis, at)| (axis.var.clone(), at.cast(axis.var.dtype()))).collect();
        let mut collapse = Collapse { pair: self, var: var.expr(), positions, views: Vec::new() };
        let mut axes = Vec::new();
        for axis in stage.axes.iter().filter(|axis| axis.var != self.inner.var) {
            let is_outer = axis.var == self.outer.var;
            let collapsed = || Axis { var: var.clone(), extent: extent.clone(), reduce: axis.reduce };
            axes.push(if is_outer { collapsed() } else { axis.clone() });
        }
        let (buffer, indices) = collapse.access(&stage.buffer, &stage.indices);
        let value = collapse.expr(&stage.value);
        let init = stage.init.as_ref().map(|init| collapse.expr(init));
        let epilogue = stage.epilogue.as_ref().map(|epilogue| {
            let (buffer, indices) = collapse.access(&epilogue.buffer, &epilogue.indices);
            Epilogue { buffer, indices, value: collapse.expr(&epilogue.value) }
        });
        let arg_result = stage.arg_result.as_ref().map(|arg| {
            let (buffer, _) = collapse.access(&arg.buffer, &stage.indices);
            ArgResult { buffer, ..arg.clone() }
        });
        Stage { axes, buffer, indices, value, init, epilogue, arg_result, ..stage.clone() }
    }
}

/// Rewrites a stage's accesses from two axes to one.
struct Collapse<'a> {
    pair: &'a AxisPair,
    var: PrimExpr,
    /// The positions on the two axes, for expressions that do not have both in adjacent dimensions.
    positions: Substitution,
    /// Buffers with the index of the first collapsed dimension, and their views.
    views: Vec<(Buffer, usize, Buffer)>,
}

impl Collapse<'_> {
    fn expr(&mut self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, indices, None) if self.pair.is_used(e) && self.pair.is_access(buffer, indices) => {
                let (buffer, indices) = self.access(buffer, indices);
                PrimExpr::load(&buffer, indices)
            }
            PrimKind::Var(_) => e.substitute(&self.positions),
            _ => e.map_children(&mut |child| self.expr(child)),
        }
    }

    fn access(&mut self, buffer: &Buffer, indices: &[PrimExpr]) -> (Buffer, Vec<PrimExpr>) {
        let Some(at) = self.pair.dim(buffer, indices) else { return (buffer.clone(), indices.to_vec()) };
        let mut indices = indices.to_vec();
        indices.splice(at..at + 2, [self.var.clone()]);
        (self.view(buffer, at), indices)
    }

    /// Returns a view of a buffer with two dimensions collapsed.
    fn view(&mut self, buffer: &Buffer, at: usize) -> Buffer {
        if let Some((.., view)) = self.views.iter().find(|(of, dim, _)| of == buffer && *dim == at) {
            return view.clone();
        }
        let size = multiply(&buffer.shape[at], &buffer.shape[at + 1]);
        let view = buffer.change(|b| _ = b.shape.splice(at..at + 2, [size]));
        self.views.push((buffer.clone(), at, view.clone()));
        view
    }
}

fn multiply(a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => PrimExpr::int64(a.saturating_mul(b)),
        _ => wide(a) * wide(b),
    }
}

/// Returns a size as a 64-bit expression.
fn wide(size: &PrimExpr) -> PrimExpr {
    size.as_int().map_or_else(|| size.clone().cast(DType::INT64), PrimExpr::int64)
}
