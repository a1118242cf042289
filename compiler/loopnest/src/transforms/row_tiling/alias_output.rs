//! Aliases an intermediate with the output of the last stage, if that stage reads each element only where it stores its
//! result: the output's cache lines are then loaded while the intermediate is computed.

use super::redirect_loads;
use crate::{Footprint, Stage, index::same_expr};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};

/// Aliases at most one intermediate of the last stage with its output. Removes it from `intermediates` and returns it.
pub fn in_result(stages: &mut [Stage], intermediates: &mut Vec<Buffer>) -> Option<Buffer> {
    let (last, before) = stages.split_last()?;
    let result = last.buffer.clone();
    let untouched = before.iter().all(|stage| !Footprint::of_stage(stage).has(&result) && !stage.regions);
    if !untouched || !stores_all(last) || intermediates.contains(&result) {
        return None;
    }
    let own = intermediates.remove(intermediates.iter().position(|buffer| fits(buffer, before, last))?);
    let locate = |buffer: &Buffer, indices: &[PrimExpr]| {
        (if *buffer == own { result.clone() } else { buffer.clone() }, indices.to_vec())
    };
    for stage in stages {
        if stage.buffer == own {
            stage.buffer = result.clone();
        }
        stage.value = redirect_loads(&stage.value, &locate);
        stage.init = stage.init.as_ref().map(|init| redirect_loads(init, &locate));
        if let Some(epilogue) = &mut stage.epilogue {
            epilogue.value = redirect_loads(&epilogue.value, &locate);
        }
    }
    Some(own)
}

/// Returns true if a stage computes every element of its buffer independently, and does not read it.
fn stores_all(stage: &Stage) -> bool {
    let mut dims = stage.indices.iter().zip(&stage.buffer.shape);
    let whole = |(index, size): (&PrimExpr, &PrimExpr)| {
        stage.axes.iter().any(|axis| index.as_var() == Some(&axis.var) && same_expr(&axis.extent, size))
    };
    let reads =
        stage.value.any(&mut |e| matches!(e.kind(), PrimKind::Load(buffer, ..) if buffer.data == stage.buffer.data));
    !stage.reduces() && !stage.regions && !reads && dims.all(whole)
}

/// Returns true if a buffer has the layout of the last stage's output, is read only at the stored index, and is
/// computed by an element-wise stage.
fn fits(buffer: &Buffer, before: &[Stage], last: &Stage) -> bool {
    let to = &last.buffer;
    let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.elem_offset.is_none();
    let alike = buffer.dtype == to.dtype
        && plain(buffer)
        && plain(to)
        && buffer.shape.len() == to.shape.len()
        && buffer.shape.iter().zip(&to.shape).all(|(a, b)| same_expr(a, b));
    let elsewhere = |e: &PrimExpr| match e.kind() {
        PrimKind::Load(from, indices, mask) if from == buffer => {
            mask.is_some() || !indices.iter().zip(&last.indices).all(|(a, b)| same_expr(a, b))
        }
        _ => false,
    };
    let mut makers = before.iter().filter(|stage| stage.target() == buffer);
    let made =
        makers.next().is_some_and(|stage| stage.epilogue.is_none() && stores_all(stage)) && makers.next().is_none();
    let used = last.value.any(&mut |e| matches!(e.kind(), PrimKind::Load(from, ..) if from == buffer));
    alike && made && used && !last.value.any(&mut |e| elsewhere(e))
}
