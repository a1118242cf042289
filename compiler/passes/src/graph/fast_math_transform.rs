//! FastMathTransform: approximates exponentials, error functions and hyperbolic tangents by polynomials.
//!
//! The kernels are those of TVM's `topi` (`fast_exp`, `fast_erf`, `fast_tanh`, `fast_softmax`): on float32, within about
//! 5e-6 of the exact functions, relative to the result for `exp`, absolute for the others. Tensors of other dtypes, and
//! of unknown shape, keep their operators.

use crate::{
    Context, Pass,
    rewrite::{self, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Function as Global, Module, PrimExpr,
    relax::{Call, Callee, Function, InferError, Value},
    tir::{Stmt, StmtKind},
};
use hammock_ops::{
    CallContext,
    legalize::{Builder, Input, Legalized},
    lookup,
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FastMathTransform",
    doc: "Approximates exp, erf, tanh and softmax by polynomials",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made = SharedFunctions::default();
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Some(Legalized { name, func, args, out_ty }) = approximation(module, function, &binding.value) {
                let name = made.share(module, &name, Global::Tir(func));
                binding.value = Value::Call(Call::tir(name, args, out_ty));
            }
            out.push(binding);
            Ok(())
        })
    })
}

/// Returns the kernel for a call that can be approximated.
fn approximation(module: &Module, function: &Function, value: &Value) -> Option<Legalized> {
    let Value::Call(call @ Call { callee: Callee::Op(name), .. }) = value else { return None };
    let build = match *name {
        "exp" => fast_exp,
        "erf" => fast_erf,
        "tanh" => fast_tanh,
        "nn.softmax" => fast_softmax,
        _ => return None,
    };
    let tensor = function.operand_ty(module, call.args.first()?);
    let tensor = tensor.as_tensor().filter(|t| t.dtype == Some(DType::FLOAT32) && t.dims().is_some());
    tensor?;
    build(&CallContext { module, function, op: lookup(name)?, call }).ok()
}

/// Returns a float32 constant.
fn float(value: f64) -> PrimExpr {
    PrimExpr::float(value, DType::FLOAT32)
}

fn fast_exp(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "fast_exp")?;
    let x = b.input("x")?;
    let out = b.output("T_fast_exp")?;
    b.compute(&out, |i| exp(&x.at(i)));
    Ok(b.finish())
}

/// `2^n · p(f)`, where `x = n · ln 2 + f` and `|f| ≤ ln 2 / 2`; never below `x`, so that infinity stays.
fn exp(x: &PrimExpr) -> PrimExpr {
    let bounded = x.clone().min(float(88.376_266_479_492_19)).max(float(-88.376_258_850_097_66));
    let n = (&bounded * float(1.442_695_021_629_333_5) + float(0.5)).unary("floor");
    let f = &bounded - &n * float(0.693_147_182_464_599_6);
    let coefficients =
        [0.001_398_199_936_375_022, 0.008_333_452_045_917_511, 0.041_665_796_190_500_26, 0.166_666_656_732_559_2, 0.5];
    let p = coefficients.into_iter().fold(float(0.000_198_756_912_141_107_02), |p, c| p * &f + float(c));
    let p = p * &f * &f + &f + float(1.0);
    let exponent = (n + float(127.0)).cast(DType::INT32);
    let shifted = PrimExpr::intrin("shift_left", vec![exponent, PrimExpr::int32(23)], DType::INT32);
    (PrimExpr::intrin("reinterpret", vec![shifted], DType::FLOAT32) * p).max(x.clone())
}

fn fast_erf(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "fast_erf")?;
    let x = b.input("x")?;
    let out = b.output("T_fast_erf")?;
    b.compute(&out, |i| {
        let x = x.at(i).min(float(4.0)).max(float(-4.0));
        ratio(
            &x,
            [
                -2.726_142_367_404_094e-10,
                2.770_681_462_038_737_7e-8,
                -2.101_023_937_939_317e-6,
                -5.692_506_238_119_677e-5,
                -0.000_734_990_637_283_772_2,
                -0.002_954_599_913_209_676_7,
                -0.016_096_033_155_918_12,
            ],
            &[
                -1.456_607_151_339_994_7e-5,
                -0.000_213_374_049_053_527_41,
                -0.001_682_827_016_338_706,
                -0.007_373_329_252_004_623,
                -0.014_264_739_118_516_445,
            ],
        )
    });
    Ok(b.finish())
}

fn fast_tanh(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "fast_tanh")?;
    let x = b.input("x")?;
    let out = b.output("T_fast_tanh")?;
    let shape = out.shape.clone();
    let below = b.stage("T_minimum", shape.clone(), DType::FLOAT32, |i| float(9.0).min(x.at(i)));
    let x = b.stage("T_maximum", shape, DType::FLOAT32, |i| float(-9.0).max(below.at(i)));
    b.compute(&out, |i| {
        ratio(
            &x.at(i),
            [
                -2.760_768_477_423_55e-16,
                2.000_187_904_824_77e-13,
                -8.604_671_522_137_35e-11,
                5.122_297_090_371_14e-8,
                1.485_722_357_179_79e-5,
                0.000_637_261_928_875_436,
                0.004_893_524_558_917_86,
            ],
            &[1.198_258_394_667_02e-6, 0.000_118_534_705_686_654, 0.002_268_434_632_439, 0.004_893_525_185_543_85],
        )
    });
    Ok(b.finish())
}

/// `x · p(x²) / q(x²)`, coefficients from the highest power on.
fn ratio(x: &PrimExpr, p: [f64; 7], q: &[f64]) -> PrimExpr {
    let square = x * x;
    let horner = |coefficients: &[f64]| {
        let rest = coefficients[1..].iter();
        rest.fold(float(coefficients[0]), |value, c| &square * value + float(*c))
    };
    x * horner(&p) / horner(q)
}

fn fast_softmax(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "fast_softmax")?;
    let x = b.input("data")?;
    let axis = cx.axis("axis", x.ndim())?;
    let out = b.output("T_softmax_norm")?;
    let shape = out.shape.clone();
    let without_axis = |of_all: &[PrimExpr]| -> Vec<PrimExpr> {
        of_all.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, e)| e.clone()).collect()
    };
    let at = |i: &[PrimExpr], k: &[PrimExpr]| [&i[..axis], k, &i[axis..]].concat();
    let over = [("k".to_owned(), shape[axis].clone())];
    let max = b.temp("T_softmax_maxelem", without_axis(&shape), DType::FLOAT32);
    b.fold(&[&max], &over, vec![float(f32::MIN.into())], |so_far, i, k| vec![so_far[0].clone().max(x.at(&at(i, k)))]);
    let max = Input::Buffer(max);
    let below = |i: &[PrimExpr]| x.at(i) - max.at(&without_axis(i));
    let delta = b.stage("T_softmax_delta", shape.clone(), DType::FLOAT32, below);
    let exp = b.stage("T_fast_exp", shape.clone(), DType::FLOAT32, |i| exp(&delta.at(i)));
    let sum = b.temp("T_softmax_expsum", without_axis(&shape), DType::FLOAT32);
    b.fold(&[&sum], &over, vec![float(0.0)], |so_far, i, k| vec![&so_far[0] + exp.at(&at(i, k))]);
    let sum = Input::Buffer(sum);
    b.compute(&out, |i| exp.at(i) / sum.at(&without_axis(i)));
    let mut made = b.finish();
    note_axis(&mut made.func.body, axis as i64);
    Ok(made)
}

/// Sets the attribute with the axis that the last stage normalizes, which schedules use.
fn note_axis(stmt: &mut Stmt, axis: i64) {
    if let StmtKind::Block(block) = &mut stmt.kind
        && *block.name == *"T_softmax_norm"
    {
        block.annotations.set("axis", axis);
    }
    stmt.each_child_mut(&mut |child| note_axis(child, axis));
}
