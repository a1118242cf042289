//! Creation of tensors, and conversion of element types.

mod range;

use crate::{
    CallContext, dims, is_absent,
    legalize::Builder,
    op::{AttrKind, NONE, Op, OperandKind},
    precision::Precision,
    relayout,
    rules::{Inferred, expect_ndim},
};
use hammock_ir::{
    DType, PrimExpr, TensorShape, TensorType, Type,
    relax::{Call, InferError, Operand},
    types::ShapeType,
};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    let mut ops = vec![astype(), wrap_param(), full(), full_like()];
    ops.extend(filled());
    ops.extend([eye(), eye_like(), triangle("tril"), triangle("triu"), one_hot(), meshgrid()]);
    ops.extend(range::ops());
    ops
}

fn astype() -> Op {
    Op::new("astype")
        .doc("Converts elements to another dtype. Floats are truncated when converted to integers.")
        .example("x: float32[2, 3]", r#"x, "int32""#)
        .tensor("x")
        .required("dtype", AttrKind::DType)
        .layouts(relayout::elementwise)
        .precision(Precision::Follow)
        .infer(|cx| Ok(TensorType { dtype: cx.dtype("dtype")?, ..cx.tensor("x")? }.into()))
        .legalize(|cx| {
            let mut b = Builder::new(cx, "cast")?;
            let x = b.input("x")?;
            let out = b.output("compute")?;
            b.compute(&out, |i| x.at(i).cast(out.dtype));
            Ok(b.finish())
        })
}

fn wrap_param() -> Op {
    Op::new("wrap_param")
        .doc("Converts a parameter to another dtype, for models that store their parameters in a smaller one.")
        .example("x: float16[2, 3]", r#"x, "float32""#)
        .tensor("data")
        .attr("dtype", AttrKind::DType, DType::FLOAT32)
        .infer(|cx| Ok(TensorType { dtype: cx.dtype("dtype")?, ..cx.tensor("data")? }.into()))
        .decompose(|cx, emit| {
            emit.op("astype", vec![cx.operand("data")?.clone()], [("dtype", cx.attr("dtype")?.clone())])
        })
}

/// A tensor whose shape is an operand's value.
fn shaped(cx: &CallContext, param: &str, dtype: Option<DType>) -> Inferred {
    let shape = match (cx.shape(param)?, cx.operand(param)?) {
        (ShapeType::Known(dims), _) => TensorShape::Known(dims),
        (shape, Operand::Var(v)) => TensorShape::Var(*v, shape.ndim()),
        (shape, _) => shape.ndim().map_or(TensorShape::Unknown, TensorShape::Rank),
    };
    Ok(TensorType { shape, dtype, vdevice: None }.into())
}

/// The type of a fill value: a scalar or rank-0 tensor.
fn fill_value(cx: &CallContext) -> Result<TensorType, InferError> {
    let value = cx.tensor_or_scalar("fill_value")?;
    expect_ndim(cx, "fill_value", &value, 0)?;
    Ok(value)
}

fn full() -> Op {
    Op::new("full")
        .doc("A tensor filled with one value, by default of the value's dtype.")
        .example("v: float32[]", "R.shape([2, 3]), v")
        .operand("shape", OperandKind::Shape)
        .tensor("fill_value")
        .attr("dtype", AttrKind::DType, NONE)
        .precision(Precision::Follow)
        .infer(|cx| shaped(cx, "shape", cx.dtype("dtype")?.or(fill_value(cx)?.dtype)))
        .legalize(|cx| {
            let mut b = Builder::new(cx, "full")?;
            let value = b.input("fill_value")?;
            let out = b.output("T_full")?;
            b.compute(&out, |_| value.at(&[]).cast(out.dtype));
            Ok(b.finish())
        })
}

fn full_like() -> Op {
    Op::new("full_like")
        .doc("A tensor of the shape of `x` filled with one value, by default of the dtype of `x`.")
        .example("x: float32[2, 3]; v: float32[]", "x, v")
        .tensor("x")
        .tensor("fill_value")
        .attr("dtype", AttrKind::DType, NONE)
        .precision(Precision::Follow)
        .infer(|cx| {
            let (x, _) = (cx.tensor("x")?, fill_value(cx)?);
            Ok(TensorType { dtype: cx.dtype("dtype")?.or(x.dtype), ..x }.into())
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "full")?;
            let value = b.input("fill_value")?;
            let out = b.output("T_full")?;
            b.compute(&out, |_| value.at(&[]).cast(out.dtype));
            Ok(b.finish())
        })
}

/// `zeros`, `ones`, `zeros_like` and `ones_like`.
fn filled() -> Vec<Op> {
    let by_shape = |name, doc, value: f64| {
        Op::new(name)
            .doc(doc)
            .example("", r#"R.shape([2, 3]), "float32""#)
            .operand("shape", OperandKind::Shape)
            .required("dtype", AttrKind::DType)
            .precision(Precision::Follow)
            .infer(|cx| shaped(cx, "shape", cx.dtype("dtype")?))
            .legalize(move |cx| constant(cx, cx.op.name, value))
    };
    let like = |name: &'static str, doc, value: f64| {
        Op::new(name)
            .doc(doc)
            .example("x: float32[2, 3]", "x")
            .tensor("x")
            .attr("dtype", AttrKind::DType, NONE)
            .infer(|cx| {
                let x = cx.tensor("x")?;
                Ok(TensorType { dtype: cx.dtype("dtype")?.or(x.dtype), ..x }.into())
            })
            .legalize(move |cx| constant(cx, name.trim_end_matches("_like"), value))
    };
    vec![
        by_shape("zeros", "A tensor of zeros.", 0.0),
        by_shape("ones", "A tensor of ones.", 1.0),
        like("zeros_like", "A tensor of zeros of the shape of `x`.", 0.0),
        like("ones_like", "A tensor of ones of the shape of `x`.", 1.0),
    ]
}

fn constant(cx: &CallContext, name: &str, value: f64) -> Result<crate::legalize::Legalized, InferError> {
    let mut b = Builder::new(cx, name)?;
    let out = b.output("T_full")?;
    b.compute(&out, |_| PrimExpr::constant(value, out.dtype));
    Ok(b.finish())
}

fn eye() -> Op {
    Op::new("eye")
        .doc(
            "An n by m matrix with ones on the `k`th diagonal and zeros elsewhere; a positive `k` is above the main \
             diagonal.",
        )
        .example("", "3")
        .operand("n", OperandKind::Prim)
        .operand_or("m", OperandKind::Prim, NONE)
        .operand_or("k", OperandKind::Prim, 0)
        .attr("dtype", AttrKind::DType, DType::FLOAT32)
        .complete(|call| {
            if call.args.get(1).is_none_or(is_absent) {
                let n = call.args.first().cloned();
                n.into_iter().for_each(|n| set_arg(call, 1, n));
            }
        })
        .precision(Precision::Follow)
        .infer(|cx| {
            let dims = [cx.prim("n")?, cx.prim("m")?].map(|d| d.cast(DType::INT64));
            let ty = TensorType::new(dims, DType::FLOAT32);
            Ok(TensorType { dtype: cx.dtype("dtype")?, ..ty }.into())
        })
        .legalize(|cx| diagonal(cx, "eye"))
}

/// Replaces one argument, or appends it.
fn set_arg(call: &mut Call, index: usize, arg: Operand) {
    match call.args.get_mut(index) {
        Some(slot) => *slot = arg,
        None => call.args.push(arg),
    }
}

fn eye_like() -> Op {
    Op::new("eye_like")
        .doc("A matrix of the shape of `x` with ones on the `k`th diagonal and zeros elsewhere.")
        .example("x: float32[3, 4]", "x, k=1")
        .tensor("x")
        .operand_or("k", OperandKind::Prim, 0)
        .attr("dtype", AttrKind::DType, NONE)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            expect_ndim(cx, "x", &x, 2)?;
            Ok(TensorType { dtype: cx.dtype("dtype")?.or(x.dtype), ..x }.into())
        })
        .legalize(|cx| diagonal(cx, "eye_like"))
}

fn diagonal(cx: &CallContext, name: &str) -> Result<crate::legalize::Legalized, InferError> {
    let mut b = Builder::new(cx, name)?;
    let k = b.prim("k")?.cast(DType::INT64);
    let out = b.output("T_eye")?;
    let number = |v| PrimExpr::constant(v, out.dtype);
    b.compute(&out, |i| dims::sub(&i[1], &i[0]).eq(k).select(number(1.0), number(0.0)));
    Ok(b.finish())
}

/// `tril` and `triu`.
fn triangle(name: &'static str) -> Op {
    let upper = name == "triu";
    Op::new(name)
        .doc(match upper {
            true => "The upper triangle of matrices: zeros below the `k`th diagonal.",
            false => "The lower triangle of matrices: zeros above the `k`th diagonal.",
        })
        .example("x: float32[3, 3]", "x")
        .tensor("x")
        .operand_or("k", OperandKind::Prim, 0)
        .infer(|cx| {
            let x = cx.tensor("x")?;
            match x.ndim() {
                Some(n @ 0..2) => Err(cx.error_at("x", format_args!("`x` must have at least 2 dimensions, not {n}"))),
                _ => Ok(x.into()),
            }
        })
        .legalize(move |cx| {
            let mut b = Builder::new(cx, name)?;
            let x = b.input("x")?;
            let k = b.prim("k")?.cast(DType::INT64);
            let out = b.output("trilu")?;
            b.compute(&out, |i| {
                let [.., row, column] = i else { return x.at(i) };
                let offset = dims::sub(column, row);
                let kept = if upper { offset.ge(k) } else { offset.le(k) };
                kept.select(x.at(i), PrimExpr::constant(0.0, out.dtype))
            });
            Ok(b.finish())
        })
}

fn one_hot() -> Op {
    Op::new("one_hot")
        .doc("One-hot encoding along a new axis: `on_value` at the index, `off_value` elsewhere.")
        .example("i: int64[3]", "i, R.prim_value(1.0), R.prim_value(0.0), depth=4")
        .tensor("indices")
        .operand("on_value", OperandKind::Prim)
        .operand("off_value", OperandKind::Prim)
        .required("depth", AttrKind::Int)
        .attr("axis", AttrKind::Int, -1)
        .infer(one_hot_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "one_hot")?;
            let x = b.input("indices")?;
            let (on, off) = (b.prim("on_value")?, b.prim("off_value")?);
            let axis = cx.axis("axis", x.ndim() + 1)?;
            let out = b.output("T_one_hot")?;
            b.compute(&out, |i| {
                let (before, after) = (&i[..axis], &i[axis + 1..]);
                let index = x.index_at(&[before, after].concat());
                index.eq(i[axis].clone()).select(on, off)
            });
            Ok(b.finish())
        })
}

fn one_hot_type(cx: &CallContext) -> Inferred {
    let indices = cx.tensor("indices")?;
    let (on, off) = (cx.prim("on_value")?.dtype(), cx.prim("off_value")?.dtype());
    if on != off {
        return Err(cx.error_at("off_value", format_args!("`on_value` is {on}, but `off_value` is {off}")));
    }
    if indices.dtype.is_some_and(|t| !t.is_integer()) {
        return Err(cx.error_at("indices", "`indices` must hold integers"));
    }
    let depth = cx.int("depth")?;
    if depth <= 0 {
        return Err(cx.error_at("depth", format_args!("`depth` must be positive, not {depth}")));
    }
    let Some(ndim) = indices.ndim() else {
        return Ok(TensorType { shape: TensorShape::Unknown, dtype: Some(on), ..indices }.into());
    };
    let axis = cx.axis("axis", ndim + 1)?;
    let shape = match indices.dims() {
        Some(dims) => {
            let mut dims = dims.to_vec();
            dims.insert(axis, depth.into());
            TensorShape::Known(dims.into())
        }
        None => TensorShape::Rank(ndim + 1),
    };
    Ok(TensorType { shape, dtype: Some(on), ..indices }.into())
}

fn meshgrid() -> Op {
    Op::new("meshgrid")
        .doc("Coordinate grids: for each vector, a tensor that repeats it along the other axes.")
        .example("x: float32[2]; y: float32[3]", r#"(x, y), indexing="ij""#)
        .operand("tensors", OperandKind::Tensors)
        .attr("indexing", AttrKind::OptionalStr, "ij")
        .precision(Precision::Follow)
        .infer(meshgrid_type)
        .legalize(|cx| {
            let mut b = Builder::new(cx, "meshgrid")?;
            let xs = b.inputs("tensors")?;
            let swap = swaps(cx)?;
            for (n, x) in xs.iter().enumerate() {
                let out = b.output("T_meshgrid")?;
                let axis = if swap && n < 2 && xs.len() > 1 { 1 - n } else { n };
                b.compute(&out, |i| if x.ndim() == 0 { x.at(&[]) } else { x.at(&i[axis..=axis]) });
            }
            Ok(b.finish())
        })
}

/// Returns true if the first two axes are swapped: `indexing="xy"`.
fn swaps(cx: &CallContext) -> Result<bool, InferError> {
    Ok(cx.optional_str("indexing")?.is_some() && cx.one_of("indexing", &["ij", "xy"])? == "xy")
}

fn meshgrid_type(cx: &CallContext) -> Inferred {
    let xs = cx.tensors("tensors")?;
    let mut shape = Some(Vec::new());
    for (i, x) in xs.iter().enumerate() {
        if x.ndim().is_some_and(|n| n > 1) {
            return Err(cx.error_at("tensors", format_args!("`tensors[{i}]` must have one dimension")));
        }
        let length = x.dims().map(|d| d.first().cloned().unwrap_or(1i64.into()));
        shape = shape.zip(length).map(|(mut s, d)| {
            s.push(d);
            s
        });
    }
    if let Some(shape) = shape.as_mut().filter(|s| s.len() > 1)
        && swaps(cx)?
    {
        shape.swap(0, 1);
    }
    let shape = shape.map_or(TensorShape::Rank(xs.len()), |s| TensorShape::Known(s.into()));
    Ok(Type::Tuple(xs.into_iter().map(|x| TensorType { shape: shape.clone(), ..x }.into()).collect()))
}
