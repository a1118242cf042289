//! Computer vision: grid sampling, regions of interest, boxes.

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("AffineGrid", affine_grid).attributes("align_corners"),
    op("GridSample", grid_sample).attributes("align_corners mode padding_mode"),
    op("NonMaxSuppression", non_max_suppression).attributes("center_point_box"),
    op("RoiAlign", roi_align)
        .attributes("coordinate_transformation_mode@16 mode output_height output_width sampling_ratio spatial_scale"),
];

/// Positions that the kernels of grid sampling compute at a time.
const POSITION_LANES: i64 = 16;

/// Moves the coordinates, which are last in ONNX and after the batch in our operators.
fn move_coordinates(n: &mut Node, x: Operand, last: bool) -> node::Result<Operand> {
    let rank = n.rank(&x)? as i64;
    let axes: Vec<i64> = match last {
        true => [0].into_iter().chain(2..rank).chain([1]).collect(),
        false => [0, rank - 1].into_iter().chain(1..rank - 1).collect(),
    };
    n.call_with("permute_dims", [x], &[("axes", axes.into())])
}

fn grid_sample(n: &mut Node) -> Result {
    let (x, grid) = (n.input(0)?, n.input(1)?);
    let method = match n.attrs.str_or("mode", "bilinear")? {
        "bilinear" | "linear" => "bilinear",
        "bicubic" | "cubic" => "bicubic",
        other => other,
    };
    let layout = if n.rank(&x)? == 5 { "NCDHW" } else { "NCHW" };
    let (sizes, positions) = (n.dims(&x)?, n.dims(&grid)?);
    let [batch, positions @ .., rank] = positions.as_slice() else {
        return n.error("its grid has to have as many dimensions as its data");
    };
    let attrs = [
        ("method", method.into()),
        ("layout", layout.into()),
        ("padding_mode", n.attrs.str_or("padding_mode", "zeros")?.into()),
        ("align_corners", n.attrs.flag("align_corners")?.into()),
    ];
    if positions.is_empty() || positions.len() + 2 != sizes.len() {
        return n.error("its grid has to have as many dimensions as its data");
    }
    let fills_vectors = positions.last().and_then(PrimExpr::as_int).is_some_and(|width| width % POSITION_LANES == 0);
    if fills_vectors {
        let grid = move_coordinates(n, grid, false)?;
        return Ok(n.call_with("image.grid_sample", [x, grid], &attrs)?.into());
    }
    // One row of positions: kernels have vectors along it, which short rows would not fill.
    let ones = vec![PrimExpr::int64(1); positions.len() - 1];
    let row = [std::slice::from_ref(batch), &ones, &[node::product(positions), rank.clone()]].concat();
    let grid = n.reshape(grid, row)?;
    let grid = move_coordinates(n, grid, false)?;
    let y = n.call_with("image.grid_sample", [x, grid], &attrs)?;
    Ok(n.reshape(y, [&sizes[..2], positions].concat())?.into())
}

fn affine_grid(n: &mut Node) -> Result {
    let theta = n.input(0)?;
    let size = n.sizes(1)?;
    let spatial = Operand::Shape(size.get(2..).unwrap_or(&[]).to_vec());
    let attrs = [("align_corners", n.attrs.flag("align_corners")?.into())];
    let grid = n.call_with("image.affine_grid", [theta, spatial], &attrs)?;
    Ok(move_coordinates(n, grid, true)?.into())
}

fn non_max_suppression(n: &mut Node) -> Result {
    let (mut boxes, scores) = (n.input(0)?, n.input(1)?);
    if n.attrs.flag("center_point_box")? {
        let parts = n.call_with("split", [boxes], &[("indices_or_sections", 4i64.into()), ("axis", 2i64.into())])?;
        let parts = n.importer.build.members(&parts)?;
        let mut corners = Vec::new();
        for (op, centre, size) in [("subtract", 1, 3), ("subtract", 0, 2), ("add", 1, 3), ("add", 0, 2)] {
            let half = n.with_scalar("multiply", &parts[size], 0.5)?;
            corners.push(n.call(op, [parts[centre].clone(), half])?);
        }
        boxes = n.call_with("concat", [Operand::Tuple(corners)], &[("axis", 2i64.into())])?;
    }
    let limit = |n: &mut Node, at: usize, default: f64, dtype: DType| match n.optional(at)? {
        Some(given) => {
            let given = n.cast(given, dtype)?;
            n.reshape(given, Vec::new())
        }
        None => node::scalar(default, dtype),
    };
    let max_boxes = limit(n, 2, 0.0, DType::INT64)?;
    let overlap = limit(n, 3, 0.0, DType::FLOAT32)?;
    // Ours drops boxes whose overlap is at least the threshold, ONNX those that exceed it: the next float is used.
    let overlap = match n.floats(3, "iou_threshold") {
        Ok(known) => node::scalar(
            f64::from((known.and_then(|v| v.first().copied()).unwrap_or(0.0) as f32).next_up()),
            DType::FLOAT32,
        )?,
        Err(_) => {
            let bits = n.bitcast(overlap, DType::INT32)?;
            let next = n.with_scalar("add", &bits, 1.0)?;
            n.bitcast(next, DType::FLOAT32)?
        }
    };
    let min_score = limit(n, 4, f64::from(f32::MIN), DType::FLOAT32)?;
    let found = n.call("vision.all_class_non_max_suppression", [boxes, scores, max_boxes, overlap, min_score])?;
    let found = n.importer.build.members(&found)?;
    let count = n.symbolic_dims(found[1].clone())?;
    let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
    let bounds = [prims(0i64.into()), prims(0i64.into()), prims(count[0].clone()), prims(1i64.into())];
    Ok(n.call("strided_slice", [&found[..1], &bounds].concat())?.into())
}

fn roi_align(n: &mut Node) -> Result {
    // ONNX takes the maximum of the weighted elements, not of the interpolated values.
    let mode = match n.attrs.str_or("mode", "avg")? {
        "avg" => "avg",
        "max" => "max_weighted",
        other => return n.error(format!("its `mode` is `{other}`, not `avg` or `max`")),
    };
    let (x, mut rois, batch) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let scale = n.attrs.float_or("spatial_scale", 1.0)?;
    let old = if n.opset < 16 { "output_half_pixel" } else { "half_pixel" };
    let aligned = n.attrs.str_or("coordinate_transformation_mode", old)? == "half_pixel";
    if aligned {
        rois = n.with_scalar("subtract", &rois, 0.5 / scale)?;
    }
    let dtype = n.dtype(&rois)?;
    let batch = n.cast(batch, dtype)?;
    let count = crate::node::product(&n.dims(&batch)?);
    let batch = n.reshape(batch, vec![count, 1i64.into()])?;
    let rois = n.call_with("concat", [Operand::Tuple(vec![batch, rois])], &[("axis", 1i64.into())])?;
    let size = vec![n.attrs.int_or("output_height", 1)?, n.attrs.int_or("output_width", 1)?];
    let ratio = match n.attrs.int_or("sampling_ratio", 0)? {
        0 => -1,
        ratio => ratio,
    };
    let attrs = [
        ("pooled_size", size.into()),
        ("spatial_scale", scale.into()),
        ("sample_ratio", ratio.into()),
        ("aligned", aligned.into()),
        ("mode", mode.into()),
    ];
    Ok(n.call_with("vision.roi_align", [x, rois], &attrs)?.into())
}
