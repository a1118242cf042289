//! Vector accesses of 16 bytes: which accesses along an axis have them, and how many elements that are.

use super::Guard;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::Buffer,
};
use hammock_loopnest::{
    Axis, Stage,
    access::{is_vectorizable, loads, stores_along},
    index::Simplifier,
};

/// Bytes of the widest access of a thread.
const ACCESS_BYTES: i64 = 16;

/// Returns the number of elements that a thread accesses at once along an axis: as many as fit into one access of each
/// buffer that varies along it. `None` if an access along the axis is not contiguous or not aligned, values branch (other
/// than by a [guard](Guard)), or an index is reduced.
pub fn lanes(stage: &Stage, axis: usize) -> Option<i64> {
    // The lanes of a vector have one index.
    if stage.axes[axis].reduce && stage.arg_result.is_some() {
        return None;
    }
    let var = &stage.axes[axis].var;
    let guard = Guard::of(&stage.value, var).filter(|_| stage.axes[axis].reduce);
    let mut accesses = vec![];
    for value in stage.values() {
        let value = &guard.as_ref().map_or_else(|| value.clone(), |guard| guard.removed_from(value));
        // A branch in a value would be a branch for each lane.
        if !is_vectorizable(value) || value.any(&mut |e| e.as_intrin("if_then_else").is_some()) {
            return None;
        }
        value.walk(&mut |e| {
            if let PrimKind::Load(buffer, indices, _) = e.kind()
                && *buffer != stage.buffer
            {
                accesses.push((buffer.clone(), indices.clone()));
            }
        });
    }
    if !stage.axes[axis].reduce {
        accesses.push((stage.target().clone(), stage.target_indices().to_vec()));
    }
    accesses.retain(|(_, indices)| indices.iter().any(|index| index.uses(var)));
    let widest = accesses.iter().map(|(buffer, _)| buffer.dtype.bytes() as i64).max()?;
    let lanes = ACCESS_BYTES / widest.max(1);
    (lanes > 1 && accesses.iter().all(|(buffer, indices)| is_aligned(buffer, indices, var, lanes))).then_some(lanes)
}

/// Returns the number of results of a reduction, adjacent along an axis, for which a thread loads elements at once: as many
/// as the widest access of each load that varies along it. `None` if it is one, or values branch.
pub fn column_lanes(stage: &Stage, axis: usize) -> Option<i64> {
    let own = &stage.axes[axis];
    let is_plain = stage
        .values()
        .all(|value| is_vectorizable(value) && !value.any(&mut |e| e.as_intrin("if_then_else").is_some()));
    let loads = loads(stage).into_iter().filter(|load| load.uses(&own.var));
    let lanes = loads.map(|load| load_lanes(load, own)).reduce(|a, b| Some(a?.min(b?)));
    lanes.flatten().filter(|_| is_plain && stage.reduces() && !own.reduce && stores_along(stage, own))
}

/// Returns the number of elements that a load accesses at once along an axis: as many as are contiguous and aligned to
/// their size, and divide the extent, up to 16 bytes. `None` if it is no load, or one element.
pub fn load_lanes(load: &PrimExpr, axis: &Axis) -> Option<i64> {
    let PrimKind::Load(buffer, indices, None) = load.kind() else { return None };
    let extent = axis.extent.as_int()?;
    let most = ACCESS_BYTES / buffer.dtype.bytes() as i64;
    let mut widths = std::iter::successors(Some(most), |lanes| Some(lanes / 2)).take_while(|lanes| *lanes > 1);
    widths.find(|lanes| extent % lanes == 0 && is_aligned(buffer, indices, &axis.var, *lanes))
}

/// Returns true if an access is contiguous along an axis, and starts at a multiple of `lanes` elements if the axis does.
fn is_aligned(buffer: &Buffer, indices: &[PrimExpr], var: &Var, lanes: i64) -> bool {
    let Some((last, rest)) = indices.split_last() else { return false };
    let is_plain = buffer.strides.is_empty()
        && buffer.elem_offset.is_none()
        && buffer.alignment() >= ACCESS_BYTES
        && buffer.dtype.is_scalar()
        && buffer.dtype.bits >= 8;
    let rows_are_aligned = rest.iter().all(|index| index.as_int() == Some(0))
        || buffer.shape.last().and_then(PrimExpr::as_int).is_some_and(|size| size % lanes == 0);
    let poly = Simplifier::default().poly(last);
    let is_multiple = poly.terms().all(|(atoms, k)| match atoms {
        [atom] if atom.as_var() == Some(var) => k == 1,
        atoms => k % lanes == 0 && !atoms.iter().any(|atom| atom.uses(var)),
    });
    is_plain && rows_are_aligned && is_multiple && last.uses(var) && rest.iter().all(|index| !index.uses(var))
}

/// Returns the axis along which a value's first load is contiguous.
pub fn contiguous_axis(stage: &Stage, value: &PrimExpr) -> Option<usize> {
    let mut found = None;
    value.walk(&mut |e| {
        if let PrimKind::Load(buffer, indices, _) = e.kind()
            && buffer.strides.is_empty()
            && found.is_none()
        {
            let unit = |var: &Var| indices.last().is_some_and(|last| hammock_loopnest::access::is_unit(last, var));
            found = stage.axes.iter().rposition(|axis| unit(&axis.var));
        }
    });
    found
}
