//! ConvTransposeToConv: makes transposed convolutions of stride 1 convolutions.
//!
//! Without inserted zeros, a transposed convolution is a convolution with the reversed kernel, and the padding that
//! completes its own to the reach of the window, `(K - 1)·d - p`. The other passes then choose its layout and
//! algorithm like that of any convolution. Weights must be known at compile time, so that FoldConstant reverses them.
//! Grouped ones, whose kernels have other axes, and those with more padding than the reach stay as they are.
//!
//! Results are the same: the same summands in the same order.

use crate::{
    Context, Pass,
    analysis::compile_time::CompileTime,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module,
    relax::{Call, Callee, Value},
};
use hammock_ops::layout::Layout;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ConvTransposeToConv",
    doc: "Makes transposed convolutions of stride 1 convolutions with the reversed kernel",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| {
        let known = CompileTime::of(function, false);
        (!editor::is_primitive(function)).then_some(move |e: &mut Editor, value: &Value| rewrite(e, &known, value))
    })
}

fn rewrite(e: &mut Editor, known: &CompileTime, value: &Value) -> Option<Value> {
    let Value::Call(call) = value else { return None };
    let Callee::Op(name) = &call.callee else { return None };
    let (name, spatial) = match &**name {
        "nn.conv1d_transpose" => ("nn.conv1d", "W"),
        "nn.conv2d_transpose" => ("nn.conv2d", "HW"),
        "nn.conv3d_transpose" => ("nn.conv3d", "DHW"),
        _ => return None,
    };
    let [data, weights] = call.operands()?;
    let strides = ints(call, "strides")?;
    if strides.iter().any(|stride| *stride != 1) || call.attrs.get("groups")?.as_int()? != 1 || !known.knows(weights) {
        return None;
    }
    let layout = Layout::parse(call.attrs.get("kernel_layout")?.as_str()?)?;
    let axes: Vec<usize> = spatial.chars().map(|letter| layout.position(letter)).collect::<Option<_>>()?;
    let sizes = e.tensor(weights)?.dims()?.to_vec();
    let reach = axes.iter().zip(ints(call, "dilation")?);
    let reach = reach.map(|(axis, dilation)| sizes.get(*axis)?.as_int()?.checked_sub(1)?.checked_mul(dilation));
    let reach: Vec<i64> = reach.collect::<Option<_>>()?;
    let padding = ints(call, "padding")?.into_iter().zip(reach.iter().chain(&reach));
    let padding: Vec<i64> = padding.map(|(own, reach)| reach - own).collect();
    if layout.has_blocks() || padding.len() != 2 * reach.len() || padding.iter().any(|size| *size < 0) {
        return None;
    }
    let mut reversed = weights.clone();
    for axis in axes.into_iter().filter(|axis| sizes[*axis].as_int() != Some(1)) {
        reversed = e.emit("flip", [reversed], [("axis", AttrValue::Int(axis as i64))])?;
    }
    let mut convolution = Call { callee: Callee::Op(name), args: vec![data.clone(), reversed], ..call.clone() };
    convolution.attrs.set("padding", padding);
    convolution.attrs.remove("output_padding");
    Some(Value::Call(convolution))
}

fn ints(call: &Call, name: &str) -> Option<Vec<i64>> {
    call.attrs.get(name)?.as_list()?.iter().map(AttrValue::as_int).collect()
}
