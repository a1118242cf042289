//! Normalizations.

use super::{Op, Result, activation::axis_attr, op};
use crate::{
    node::{self, Node, axes_attr},
    value::{Outputs, Value},
};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::{dims, legalize::accumulator};

pub const OPS: &[Op] = &[
    op("BatchNormalization", batch)
        .attributes("consumed_inputs@-5 epsilon is_test@-6 momentum spatial@-8 training_mode@14"),
    op("Dropout", dropout).attributes("consumed_inputs@-5 is_test@-6 ratio@-11 seed@12"),
    op("GroupNormalization", group).attributes("epsilon num_groups stash_type@21"),
    op("InstanceNormalization", instance).attributes("consumed_inputs@-5 epsilon"),
    op("LRN", local_response).attributes("alpha beta bias size"),
    op("LayerNormalization", layer).attributes("axis epsilon stash_type"),
    op("LpNormalization", lp).attributes("axis p"),
    op("MeanVarianceNormalization", mean_variance).attributes("axes"),
    op("RMSNormalization", rms).attributes("axis epsilon stash_type"),
];

fn batch(n: &mut Node) -> Result {
    if n.opset < 7 && !n.attrs.flag("is_test")? && n.outputs > 1 {
        return n.error("training is not supported in this version");
    }
    let mut args = (0..5).map(|at| n.input(at)).collect::<crate::node::Result<Vec<_>>>()?;
    let mut outputs = Vec::new();
    let own = n.dtype(&args[0])?;
    let training = n.attrs.flag("training_mode")?;
    // Statistics in wider floats may exceed the range of the data's dtype.
    let mixed = args.iter().any(|arg| n.dtype(arg).is_ok_and(|dtype| dtype != own));
    let dtype = if training || mixed { accumulator(own) } else { own };
    args[0] = n.cast(args[0].clone(), dtype)?;
    if training {
        // Training normalizes by the statistics of the batch, and updates the running ones.
        let axes: Vec<usize> = (0..n.rank(&args[0])?).filter(|axis| *axis != 1).collect();
        let momentum = n.attrs.float_or("momentum", 0.9)?;
        for (at, statistic) in [(3, "mean"), (4, "variance")] {
            let own = n.call_with(statistic, [args[0].clone()], &[("axis", axes_attr(&axes))])?;
            let before = n.dtype(&args[at])?;
            let wide = n.cast(args[at].clone(), dtype)?;
            let decayed = n.with_scalar("multiply", &wide, momentum)?;
            let update = n.with_scalar("multiply", &own, 1.0 - momentum)?;
            let running = n.call("add", [decayed, update])?;
            outputs.push(n.cast(running, before)?);
            args[at] = own;
        }
    }
    let args = args.into_iter().map(|arg| n.cast(arg, dtype)).collect::<crate::node::Result<Vec<_>>>()?;
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [("axis", 1i64.into()), ("epsilon", epsilon.into()), ("training", false.into())];
    let all = n.call_with("nn.batch_norm", args, &attrs)?;
    let y = n.importer.build.members(&all)?.swap_remove(0);
    outputs.insert(0, n.cast(y, own)?);
    Ok(outputs.into())
}

/// Inference only: the identity.
fn dropout(n: &mut Node) -> Result {
    match n.ints(2, "training_mode") {
        Ok(Some(training)) if training.contains(&1) => {
            return n.error("training is not supported");
        }
        Ok(_) => {}
        // Checks at run time that the mode is 0, as a dimension.
        Err(_) => drop(n.input_as_int64(2).and_then(|mode| n.symbolic_dims_with_prefix(mode, &[0i64.into()]))?),
    }
    let x = n.value(0)?;
    let mut outputs = vec![x];
    if n.outputs > 1 {
        let x = n.input(0)?;
        let shape = n.dims(&x)?;
        let mask = crate::node::scalar(1.0, hammock_ir::DType::BOOL)?;
        outputs.push(Value::Operand(n.call("full", [Operand::Shape(shape), mask])?));
    }
    Ok(Outputs(outputs))
}

fn layer(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.attrs.int_or("axis", -1)?;
    let first = n.axis(axis, dims.len())?;
    let axes: Vec<usize> = (first..dims.len()).collect();
    let scale = n.input(1)?;
    let bias = match n.optional(2)? {
        Some(bias) => bias,
        None => n.call("zeros_like", [scale.clone()])?,
    };
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [("axes", axes_attr(&axes)), ("epsilon", epsilon.into())];
    let normalized = &dims[first..];
    let y = match (n.broadcast_over(&scale, normalized)?, n.broadcast_over(&bias, normalized)?) {
        (Some(scale), Some(bias)) => n.call_with("nn.layer_norm", [x.clone(), scale, bias], &attrs)?,
        _ => {
            let (one, zero) = (n.filled(1.0, &x, normalized)?, n.filled(0.0, &x, normalized)?);
            let y = n.call_with("nn.layer_norm", [x.clone(), one, zero], &attrs)?;
            let y = n.call("multiply", [y, scale])?;
            n.call("add", [y, bias])?
        }
    };
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let over = [("axis", axes_attr(&axes)), ("keepdims", true.into())];
    let stash = n.dtype_from_code(n.attrs.int_or("stash_type", 1)?)?;
    let x = n.cast(x, accumulator(n.dtype(&y)?))?;
    let mean = n.call_with("mean", [x.clone()], &over)?;
    let variance = n.call_with("variance", [x], &over)?;
    let shifted = n.with_scalar("add", &variance, epsilon)?;
    let inverse = n.call("rsqrt", [shifted])?;
    Ok(vec![y, n.cast(mean, stash)?, n.cast(inverse, stash)?].into())
}

fn rms(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.attrs.int_or("axis", -1)?;
    let first = n.axis(axis, dims.len())?;
    let axes: Vec<usize> = (first..dims.len()).collect();
    let scale = n.input(1)?;
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [("axes", axes_attr(&axes)), ("epsilon", epsilon.into())];
    if let Some(scale) = n.broadcast_over(&scale, &dims[first..])? {
        return Ok(n.call_with("nn.rms_norm", [x, scale], &attrs)?.into());
    }
    let one = n.filled(1.0, &x, &dims[first..])?;
    let y = n.in_accumulator_dtype(x, |n, x| {
        let one = n.cast(one, n.dtype(&x)?)?;
        let y = n.call_with("nn.rms_norm", [x, one], &attrs)?;
        let scale = n.cast(scale, n.dtype(&y)?)?;
        n.call("multiply", [y, scale])
    })?;
    Ok(y.into())
}

impl Node<'_, '_> {
    /// Broadcasts a scale or bias to the normalized shape; `None` if it also varies along other axes, or its dimensions
    /// are not known to fit.
    fn broadcast_over(&mut self, x: &Operand, shape: &[PrimExpr]) -> crate::node::Result<Option<Operand>> {
        let own = self.dims(x)?;
        if dims::all_equal(&own, shape) {
            return Ok(Some(x.clone()));
        }
        let Some(outer) = own.len().checked_sub(shape.len()) else {
            return self.broadcast_if_compatible(x, &own, shape);
        };
        if !own[..outer].iter().all(|size| dims::is(size, 1)) {
            return Ok(None);
        }
        let inner = own[outer..].to_vec();
        let x = if outer == 0 { x.clone() } else { self.reshape(x.clone(), inner.clone())? };
        self.broadcast_if_compatible(&x, &inner, shape)
    }

    fn broadcast_if_compatible(
        &mut self,
        x: &Operand,
        own: &[PrimExpr],
        shape: &[PrimExpr],
    ) -> crate::node::Result<Option<Operand>> {
        let fits = |(own, size): (&PrimExpr, &PrimExpr)| dims::is(own, 1) || dims::equal(own, size) == Some(true);
        if !own.iter().rev().zip(shape.iter().rev()).all(fits) {
            return Ok(None);
        }
        if dims::all_equal(own, shape) {
            return Ok(Some(x.clone()));
        }
        self.call("broadcast_to", [x.clone(), Operand::Shape(shape.to_vec())]).map(Some)
    }

    /// Returns a tensor filled with one value.
    fn filled(&mut self, value: f64, like: &Operand, shape: &[PrimExpr]) -> crate::node::Result<Operand> {
        let value = self.scalar_like(value, like)?;
        self.call("full", [Operand::Shape(shape.to_vec()), value])
    }
}

fn instance(n: &mut Node) -> Result {
    let (x, scale, bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let axes: Vec<usize> = (2..n.rank(&x)?).collect();
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [("channel_axis", axis_attr(1)), ("axes", axes_attr(&axes)), ("epsilon", epsilon.into())];
    Ok(n.call_with("nn.instance_norm", [x, scale, bias], &attrs)?.into())
}

/// Before version 21, scale and bias have one value per group.
fn group(n: &mut Node) -> Result {
    let (x, mut scale, mut bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let Some(groups) = n.attrs.int("num_groups")? else { return n.error("its `num_groups` is missing") };
    let dims = n.dims(&x)?;
    let axes: Vec<usize> = (2..dims.len()).collect();
    if n.opset < 21 {
        let channels = dims.get(1).and_then(PrimExpr::as_int).filter(|_| groups > 0);
        let Some(channels) = channels else { return n.error("the number of its channels has to be known") };
        let attrs = [("repeats", (channels / groups).into()), ("axis", 0i64.into())];
        scale = n.call_with("repeat", [scale], &attrs)?;
        bias = n.call_with("repeat", [bias], &attrs)?;
    }
    let epsilon = n.attrs.float_or("epsilon", 1e-5)?;
    let attrs = [
        ("num_groups", groups.into()),
        ("channel_axis", axis_attr(1)),
        ("axes", axes_attr(&axes)),
        ("epsilon", epsilon.into()),
    ];
    Ok(n.call_with("nn.group_norm", [x, scale, bias], &attrs)?.into())
}

fn mean_variance(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let axes = n.attrs.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = n.axes(&axes, n.rank(&x)?)?;
    let over = [("axis", axes_attr(&axes)), ("keepdims", true.into())];
    let y = n.in_accumulator_dtype(x, |n, x| {
        let mean = n.call_with("mean", [x.clone()], &over)?;
        let centred = n.call("subtract", [x, mean])?;
        let square = n.call("multiply", [centred.clone(), centred.clone()])?;
        let variance = n.call_with("mean", [square], &over)?;
        let deviation = n.call("sqrt", [variance])?;
        let by = n.with_scalar("add", &deviation, 1e-9)?;
        n.call("divide", [centred, by])
    })?;
    Ok(y.into())
}

fn lp(n: &mut Node) -> Result {
    let p = n.attrs.int_or("p", 2)?;
    let axis = n.attrs.int_or("axis", -1)?;
    let x = n.input(0)?;
    let axis = n.axis(axis, n.rank(&x)?)?;
    let over = [("axis", axes_attr(&[axis])), ("keepdims", true.into())];
    let y = n.in_accumulator_dtype(x, |n, x| {
        let powers = n.abs_power(&x, p as f64)?;
        let sum = n.call_with("sum", [powers], &over)?;
        let norm = if p == 1 { sum } else { n.call("sqrt", [sum])? };
        let zero = n.scalar_like(0.0, &x)?;
        let is_zero = n.call("equal", [norm.clone(), zero.clone()])?;
        let quotient = n.call("divide", [x, norm])?;
        n.call("where", [is_zero, zero, quotient])
    })?;
    Ok(y.into())
}

/// Local response normalization: an average pooling of squares along the channels.
fn local_response(n: &mut Node) -> Result {
    let (alpha, beta) = (n.attrs.float_or("alpha", 1e-4)?, n.attrs.float_or("beta", 0.75)?);
    let bias = n.attrs.float_or("bias", 1.0)?;
    let Some(size) = n.attrs.int("size")?.filter(|size| *size > 0) else { return n.error("its `size` is missing") };
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    if dims.len() < 2 {
        return n.error("its input has no channels");
    }
    let (before, behind) = ((size - 1) / 2, size - 1 - (size - 1) / 2);
    let attrs = [
        ("pool_size", vec![size, 1].into()),
        ("padding", vec![before, 0, behind, 0].into()),
        ("count_include_pad", true.into()),
    ];
    let y = n.in_accumulator_dtype(x, |n, x| {
        let square = n.call("multiply", [x.clone(), x.clone()])?;
        let one = PrimExpr::int64(1);
        let flat = vec![dims[0].clone(), one, dims[1].clone(), crate::node::product(&dims[2..])];
        let square = n.reshape(square, flat)?;
        let mean = n.call_with("nn.avg_pool2d", [square], &attrs)?;
        let mean = n.reshape(mean, dims)?;
        let scaled = n.with_scalar("multiply", &mean, alpha)?;
        let shifted = n.with_scalar("add", &scaled, bias)?;
        // Then the base is not negative infinity, for which roots and powers differ.
        let may_be_negative = alpha < 0.0 || bias < 0.0;
        let power =
            if may_be_negative { n.with_scalar("power", &shifted, beta)? } else { positive_power(n, &shifted, beta)? };
        n.call("divide", [x, power])
    })?;
    Ok(y.into())
}

/// A power of numbers that are not negative: of exponents 1/4, 1/2 and 3/4 by square roots, which are much cheaper.
fn positive_power(n: &mut Node, base: &Operand, exponent: f64) -> node::Result<Operand> {
    if ![0.25, 0.5, 0.75].contains(&exponent) {
        return n.with_scalar("power", base, exponent);
    }
    let square_root = n.call("sqrt", [base.clone()])?;
    if exponent == 0.5 {
        return Ok(square_root);
    }
    let fourth_root = n.call("sqrt", [square_root.clone()])?;
    if exponent == 0.25 { Ok(fourth_root) } else { n.call("multiply", [square_root, fourth_root]) }
}
