//! Resizing of images.

use super::{
    Op, Result, op,
    resample::{self, Method, ResizedAxis},
};
use crate::node::{self, Node};
use hammock_ir::{AttrValue, DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("Resize", resize).attributes(
        "antialias@18 axes@18 coordinate_transformation_mode@11 cubic_coeff_a@11 exclude_outside@11 \
         extrapolation_value@11 keep_aspect_ratio_policy@18 mode nearest_mode@11",
    ),
    op("Upsample", upsample).attributes("height_scale@-6 mode scales@7-8 width_scale@-6"),
];

/// Sizes of a result; scales per axis if they differ from the ratio of sizes.
struct Target {
    sizes: Vec<PrimExpr>,
    scales: Option<Vec<(Operand, Option<f64>)>>,
}

fn resize(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let sizes = n.dims(&x)?;
    let axes = match n.attrs.ints("axes")? {
        Some(axes) => n.axes(&axes, sizes.len())?,
        None => (0..sizes.len()).collect(),
    };
    // Before version 11, there is no region, and coordinates are asymmetric.
    let (scales_at, sizes_at) = if n.opset < 11 { (1, usize::MAX) } else { (2, 3) };
    let own: Vec<PrimExpr> = axes.iter().map(|axis| sizes[*axis].clone()).collect();
    let target = if n.is_nonempty(scales_at)? {
        n.target_from_scales(&own, scales_at)?
    } else if n.given(sizes_at).is_some() {
        n.target_from_sizes(&own, sizes_at)?
    } else {
        return n.error("it has neither `scales` nor `sizes`");
    };
    let old = if n.opset < 11 { "asymmetric" } else { "half_pixel" };
    let method = Method {
        mode: n.attrs.str_or("mode", "nearest")?,
        coordinates: n.attrs.str_or("coordinate_transformation_mode", old)?,
        rounding: n.attrs.str_or("nearest_mode", if n.opset < 11 { "floor" } else { "round_prefer_floor" })?,
        cubic_coefficient: n.attrs.float_or("cubic_coeff_a", -0.75)?,
        exclude_outside: n.attrs.flag("exclude_outside")?,
        antialias: n.attrs.flag("antialias")?,
        extrapolation_value: n.attrs.float_or("extrapolation_value", 0.0)?,
    };
    append_resize(n, x, &axes, target, &method)
}

/// Predecessor of `Resize`, before version 10.
fn upsample(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let own = n.dims(&x)?;
    let target = match n.opset {
        ..7 => {
            let (tall, wide) = (n.attrs.float("height_scale")?, n.attrs.float("width_scale")?);
            let (Some(tall), Some(wide)) = (tall, wide) else { return n.error("its scales are missing") };
            n.target_from_scale_values(&own, &[1.0, 1.0, tall, wide])?
        }
        7..9 => {
            let Some(scales) = n.attrs.floats("scales")? else { return n.error("its `scales` are missing") };
            n.target_from_scale_values(&own, &scales)?
        }
        _ => n.target_from_scales(&own, 1)?,
    };
    let mode = n.attrs.str_or("mode", "nearest")?;
    let (coordinates, rounding) = ("asymmetric", "floor");
    let method = Method {
        mode,
        coordinates,
        rounding,
        cubic_coefficient: -0.75,
        exclude_outside: false,
        antialias: false,
        extrapolation_value: 0.0,
    };
    let axes: Vec<usize> = (0..own.len()).collect();
    append_resize(n, x, &axes, target, &method)
}

fn append_resize(n: &mut Node, x: Operand, axes: &[usize], target: Target, method: &Method) -> Result {
    let own = n.dims(&x)?;
    if target.sizes.len() != axes.len() {
        return n.error(format!("{} sizes are given for {} axes", target.sizes.len(), axes.len()));
    }
    let mut sizes = own.clone();
    axes.iter().zip(&target.sizes).for_each(|(axis, size)| sizes[*axis] = size.clone());
    let unchanged = |axis: usize| dims::equal(&own[axis], &sizes[axis]) == Some(true);
    let images = (3..=5).contains(&own.len()) && unchanged(0) && unchanged(1);
    let plain = target.scales.is_none() && !method.antialias;
    let known = !matches!(method.coordinates, "tf_crop_and_resize" | "half_pixel_symmetric");
    if images && plain && known {
        return resize_image(n, x, &own, &sizes, method);
    }
    resize_axes(n, x, axes, target, method)
}

/// Resizes one axis after another.
fn resize_axes(n: &mut Node, x: Operand, axes: &[usize], target: Target, method: &Method) -> Result {
    if !matches!(method.mode, "nearest" | "linear" | "cubic") {
        return n.error(format!("its `mode` is `{}`, which is not known", method.mode));
    }
    let own = n.dims(&x)?;
    if method.mode != "nearest" && !n.dtype(&x)?.is_floating() {
        return n.error("integers are resized to the nearest only");
    }
    let crops = method.coordinates == "tf_crop_and_resize";
    let mut y = x;
    for (at, (axis, size)) in axes.iter().zip(&target.sizes).enumerate() {
        let unchanged = dims::equal(&own[*axis], size) == Some(true);
        let (scale, known) = match &target.scales {
            Some(scales) => scales[at].clone(),
            None => n.ratio(size, &own[*axis])?,
        };
        let region = if crops { n.region(at, axes.len())? } else { None };
        if unchanged && (known == Some(1.0) || *axis < 2) && region.is_none() {
            continue;
        }
        y = resample::resample_axis(
            n,
            y,
            &ResizedAxis { axis: *axis, size: size.clone(), scale, known, region },
            method,
        )?;
    }
    Ok(y.into())
}

/// Resizes images or volumes by sizes alone.
fn resize_image(n: &mut Node, x: Operand, own: &[PrimExpr], size: &[PrimExpr], method: &Method) -> Result {
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
        ("cubic_alpha", method.cubic_coefficient.into()),
        ("cubic_exclude", i64::from(method.exclude_outside).into()),
    ];
    let mut spatial = size[2..].to_vec();
    match spatial.len() {
        2 => Ok(n.call_with("image.resize2d", [x, Operand::Shape(spatial)], attrs)?.into()),
        3 => Ok(n.call_with("image.resize3d", [x, Operand::Shape(spatial)], attrs)?.into()),
        _ => {
            let one = PrimExpr::int64(1);
            let x = n.reshape(x, vec![own[0].clone(), own[1].clone(), one.clone(), own[2].clone()])?;
            spatial.insert(0, one);
            let y = n.call_with("image.resize2d", [x, Operand::Shape(spatial)], attrs)?;
            Ok(n.reshape(y, size.to_vec())?.into())
        }
    }
}

impl Node<'_, '_> {
    /// Returns true if an input is present and not statically empty.
    fn is_nonempty(&mut self, at: usize) -> node::Result<bool> {
        let Some(x) = self.optional(at)? else { return Ok(false) };
        Ok(!self.dims(&x)?.iter().any(|size| dims::is(size, 0)))
    }

    /// Target of an input with scales: sizes times scales, rounded down.
    fn target_from_scales(&mut self, own: &[PrimExpr], at: usize) -> node::Result<Target> {
        if let Ok(Some(scales)) = self.floats(at, "scales") {
            return self.target_from_scale_values(own, &scales);
        }
        let scales = self.input(at)?;
        let scales = self.cast(scales, DType::FLOAT64)?;
        let before = self.dims_vector(own)?;
        let before = self.cast(before, DType::FLOAT64)?;
        let real = self.call("multiply", [before, scales.clone()])?;
        let sizes = self.cast(real, DType::INT64)?;
        let sizes = self.dynamic_target_sizes(sizes, own)?;
        let each = (0..own.len()).map(|at| Ok((self.vector_element(&scales, at)?, None)));
        let scales = Some(each.collect::<node::Result<_>>()?);
        Ok(Target { sizes, scales })
    }

    fn target_from_scale_values(&mut self, own: &[PrimExpr], scales: &[f64]) -> node::Result<Target> {
        if scales.len() != own.len() || scales.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
            return self.error("its `scales` have to be positive, one for each axis");
        }
        let mut exact = true;
        let mut sizes = Vec::new();
        for (size, scale) in own.iter().zip(scales) {
            sizes.push(match size.as_int() {
                Some(size) => {
                    let real = size as f64 * scale;
                    exact &= (real.round() - real).abs() < 1e-4;
                    PrimExpr::int64(if exact { real.round() } else { real.floor() } as i64)
                }
                None if scale.fract() == 0.0 => dims::mul(size, &PrimExpr::int64(*scale as i64)),
                None => {
                    let size = self.dims_vector(std::slice::from_ref(size))?;
                    let size = self.cast(size, DType::FLOAT64)?;
                    let real = self.with_scalar("multiply", &size, *scale)?;
                    let whole = self.cast(real, DType::INT64)?;
                    exact = false;
                    self.symbolic_dims(whole)?.swap_remove(0)
                }
            });
        }
        let number = |scale: &f64| Ok((node::scalar(*scale, DType::FLOAT64)?, Some(*scale)));
        let scales = if exact { None } else { Some(scales.iter().map(number).collect::<node::Result<_>>()?) };
        Ok(Target { sizes, scales })
    }

    /// Target of an input with sizes; an aspect ratio policy selects one scale for all axes.
    fn target_from_sizes(&mut self, own: &[PrimExpr], at: usize) -> node::Result<Target> {
        let sizes = match self.known_sizes(at, "sizes") {
            Ok(sizes) => sizes,
            Err(_) => {
                let sizes = self.input_as_int64(at)?;
                self.dynamic_target_sizes(sizes, own)?
            }
        };
        let policy = self.attrs.str_or("keep_aspect_ratio_policy", "stretch")?;
        if policy == "stretch" {
            return Ok(Target { sizes, scales: None });
        }
        let choose: (_, fn(f64, f64) -> f64) = match policy {
            "not_larger" => ("min", f64::min),
            "not_smaller" => ("max", f64::max),
            other => return self.error(format!("its policy for aspect ratios is `{other}`, which is not known")),
        };
        let number = |size: &PrimExpr| size.as_int().map(|size| size as f64);
        let ratios = sizes.iter().zip(own).map(|(to, from)| Some(number(to)? / number(from)?));
        let Some(ratios) = ratios.collect::<Option<Vec<f64>>>() else {
            return self.target_with_uniform_scale(&sizes, own, choose.0);
        };
        let scale = ratios.into_iter().reduce(choose.1).unwrap_or(1.0);
        let sizes = own.iter().filter_map(number).map(|size| PrimExpr::int64((size * scale + 0.5) as i64)).collect();
        let each = (node::scalar(scale, DType::FLOAT64)?, Some(scale));
        Ok(Target { sizes, scales: Some(vec![each; own.len()]) })
    }

    /// Scales all axes by the minimum or maximum ratio of sizes, at run time.
    fn target_with_uniform_scale(
        &mut self,
        sizes: &[PrimExpr],
        own: &[PrimExpr],
        choose: &'static str,
    ) -> node::Result<Target> {
        let (to, from) = (self.dims_vector(sizes)?, self.dims_vector(own)?);
        let (to, from) = (self.cast(to, DType::FLOAT64)?, self.cast(from, DType::FLOAT64)?);
        let ratios = self.call("divide", [to, from.clone()])?;
        let scale = self.call(choose, [ratios])?;
        let real = self.call("multiply", [from, scale.clone()])?;
        let real = self.with_scalar("add", &real, 0.5)?;
        let whole = self.cast(real, DType::INT64)?;
        let sizes = self.dynamic_target_sizes(whole, own)?;
        Ok(Target { sizes, scales: Some(vec![(scale, None); own.len()]) })
    }

    /// Reads sizes at run time. If `axes` is not set, batch and channels of images must be unchanged.
    fn dynamic_target_sizes(&mut self, sizes: Operand, own: &[PrimExpr]) -> node::Result<Vec<PrimExpr>> {
        let unchanged = if own.len() > 2 && !self.attrs.has("axes") { &own[..2] } else { &[] };
        self.symbolic_dims_with_prefix(sizes, unchanged)
    }

    /// Returns the ratio of two dimensions in float64.
    fn ratio(&mut self, to: &PrimExpr, from: &PrimExpr) -> node::Result<(Operand, Option<f64>)> {
        if let (Some(to), Some(from)) = (to.as_int(), from.as_int()) {
            let ratio = to as f64 / from as f64;
            return Ok((node::scalar(ratio, DType::FLOAT64)?, Some(ratio)));
        }
        let mut part = |size: &PrimExpr| {
            let size = self.dims_vector(std::slice::from_ref(size))?;
            let size = self.cast(size, DType::FLOAT64)?;
            self.reshape(size, Vec::new())
        };
        let (to, from) = (part(to)?, part(from)?);
        Ok((self.call("divide", [to, from])?, None))
    }

    /// Returns begin and end of an axis's region; `None` if it is known to be the whole axis.
    fn region(&mut self, at: usize, count: usize) -> node::Result<Option<(Operand, Operand)>> {
        if let Ok(Some(known)) = self.floats(1, "roi")
            && (known.get(at), known.get(at + count)) == (Some(&0.0), Some(&1.0))
        {
            return Ok(None);
        }
        let all = self.input(1)?;
        if dims::is(&node::product(&self.dims(&all)?), 2 * count as i64) {
            let all = self.cast(all, DType::FLOAT64)?;
            return Ok(Some((self.vector_element(&all, at)?, self.vector_element(&all, at + count)?)));
        }
        self.error("its `roi` needs two numbers for each axis")
    }
}
