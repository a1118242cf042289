//! Resizing of images.

use super::{Op, Result, op};
use crate::node::{self, Node};
use hammock_ir::{
    AttrValue, PrimExpr,
    relax::{InferError, Operand},
};

pub const OPS: &[Op] = &[op("Resize", resize), op("Upsample", upsample)];

/// What a resizing does, apart from the sizes.
struct Method<'a> {
    mode: &'a str,
    coordinates: &'a str,
    rounding: &'a str,
    cubic: f64,
    exclude: bool,
}

fn resize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    // Before version 11 there was no region, and places were those of the corners.
    let (scales_at, sizes_at) = if n.opset < 11 { (1, usize::MAX) } else { (2, 3) };
    let mut size = if let Ok(Some(scales)) = n.floats(scales_at, "scales").map(|s| s.filter(|s| !s.is_empty())) {
        scaled(&dims, &scales)?
    } else if n.given(sizes_at).is_some() {
        match n.known_sizes(sizes_at, "sizes") {
            Ok(sizes) => sizes,
            Err(_) => {
                let sizes = n.int64(sizes_at)?;
                n.run_time_spatial(sizes, &dims)?
            }
        }
    } else if n.given(scales_at).is_some() {
        return n.error("`scales` have to be known when the model is compiled");
    } else {
        return n.error("it has neither `scales` nor `sizes`");
    };
    if let Some(axes) = n.attrs.ints("axes")? {
        let axes = n.axes(&axes, dims.len())?;
        let mut all = dims.clone();
        axes.iter().zip(size).for_each(|(axis, size)| all[*axis] = size);
        size = all;
    }
    if n.attrs.flag("antialias")? {
        return n.error("`antialias` is not supported");
    }
    if n.attrs.str_or("keep_aspect_ratio_policy", "stretch")? != "stretch" {
        return n.error("a policy for aspect ratios is not supported");
    }
    let old = if n.opset < 11 { "asymmetric" } else { "half_pixel" };
    let method = Method {
        mode: n.attrs.str_or("mode", "nearest")?,
        coordinates: n.attrs.str_or("coordinate_transformation_mode", old)?,
        rounding: n.attrs.str_or("nearest_mode", if n.opset < 11 { "floor" } else { "round_prefer_floor" })?,
        cubic: n.attrs.float_or("cubic_coeff_a", -0.75)?,
        exclude: n.attrs.flag("exclude_outside")?,
    };
    resized(n, x, &dims, &size, &method)
}

/// The form of `Resize` before version 10.
fn upsample(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let scales = if n.opset < 9 { n.attrs.floats("scales")? } else { n.floats(1, "scales")? };
    let Some(scales) = scales else { return n.error("its `scales` are missing") };
    let size = scaled(&dims, &scales)?;
    let mode = n.attrs.str_or("mode", "nearest")?;
    let method = Method { mode, coordinates: "asymmetric", rounding: "floor", cubic: -0.75, exclude: false };
    resized(n, x, &dims, &size, &method)
}

fn resized(n: &mut Node, x: Operand, dims: &[PrimExpr], size: &[PrimExpr], method: &Method) -> Result {
    if size.len() != dims.len() || dims.len() < 3 {
        return n.error(format!("{} sizes are given for {} dimensions", size.len(), dims.len()));
    }
    if size.iter().zip(dims).take(2).any(|(a, b)| hammock_ops::dims::equal(a, b) != Some(true)) {
        return n.error("the first two dimensions cannot be resized");
    }
    if method.coordinates == "tf_crop_and_resize" {
        return n.error("`tf_crop_and_resize` is not supported");
    }
    let mode = match method.mode {
        "nearest" => "nearest_neighbor",
        other => other,
    };
    let rounding = match (mode, method.rounding) {
        ("nearest_neighbor", rounding) => rounding,
        _ => "",
    };
    let attrs: &[(&'static str, AttrValue)] = &[
        ("method", mode.into()),
        ("coordinate_transformation_mode", method.coordinates.into()),
        ("rounding_method", rounding.into()),
        ("cubic_alpha", method.cubic.into()),
        ("cubic_exclude", i64::from(method.exclude).into()),
    ];
    let mut spatial = size[2..].to_vec();
    match spatial.len() {
        2 => Ok(n.call_with("image.resize2d", [x, Operand::Shape(spatial)], attrs)?.into()),
        3 => Ok(n.call_with("image.resize3d", [x, Operand::Shape(spatial)], attrs)?.into()),
        1 => {
            let one = PrimExpr::int64(1);
            let x = n.reshape(x, vec![dims[0].clone(), dims[1].clone(), one.clone(), dims[2].clone()])?;
            spatial.insert(0, one);
            let y = n.call_with("image.resize2d", [x, Operand::Shape(spatial)], attrs)?;
            Ok(n.reshape(y, size.to_vec())?.into())
        }
        other => n.error(format!("resizing of {other} spatial dimensions is not supported")),
    }
}

/// Sizes times scales, rounded down.
fn scaled(dims: &[PrimExpr], scales: &[f64]) -> node::Result<Vec<PrimExpr>> {
    let size = |(size, scale): (&PrimExpr, &f64)| match (size.as_int(), *scale) {
        (_, 1.0) => Ok(size.clone()),
        // Our operators know the ratio of sizes alone: where that is another number, they would sample other places.
        (Some(size), scale) if scale > 0.0 && ((size as f64 * scale).round() - size as f64 * scale).abs() < 1e-4 => {
            Ok(PrimExpr::int64((size as f64 * scale).round() as i64))
        }
        (Some(size), scale) => {
            Err(InferError::new(format!("{size} scaled by {scale} is no whole number, which is not supported")))
        }
        (None, scale) if scale.fract() == 0.0 && scale > 0.0 => {
            Ok(hammock_ops::dims::mul(size, &PrimExpr::int64(scale as i64)))
        }
        _ => Err(InferError::new(format!("sizes that are not known cannot be scaled by {scale}"))),
    };
    dims.iter().zip(scales).map(size).collect()
}

impl Node<'_, '_> {
    /// Sizes that are read at run time; the first two, when all are given, stay as they are.
    fn run_time_spatial(&mut self, sizes: Operand, dims: &[PrimExpr]) -> node::Result<Vec<PrimExpr>> {
        let mut sizes = self.sizes_of(sizes)?;
        if sizes.len() == dims.len() {
            sizes.splice(..2.min(dims.len()), dims.iter().take(2).cloned());
        }
        Ok(sizes)
    }
}
