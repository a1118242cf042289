//! TrimConvKernel: removes elements of convolution kernels that only multiply padding.
//!
//! A window that reaches far beyond the data, because of its dilation, has rows and columns that are in the padding at
//! every position: of a 3x3 kernel of dilation 24 over 14x14 elements, only the center element is ever inside. These
//! rows and columns are sliced off the weights, and the padding is reduced by as much. Data that no window reaches then
//! are sliced off too.
//!
//! Results are the same, unless removed weights are infinite or NaN: these no longer multiply the zeros of the padding.

use crate::{
    Context, Pass,
    analysis::convolution::Convolution,
    rewrite::{
        editor::{self, Editor},
        int_tuple,
    },
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{Operand, Value},
};
use hammock_ops::layout::Layout;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "TrimConvKernel",
    doc: "Removes elements of convolution kernels that only multiply padding",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(trim))
}

/// A slice `begin..end` of an axis.
type Slice = (usize, i64, i64);

fn trim(e: &mut Editor, value: &Value) -> Option<Value> {
    let c = Convolution::of(e.module, e.function, value)?;
    let (mut of_weights, mut of_data): (Vec<Slice>, Vec<Slice>) = (Vec::new(), Vec::new());
    let (mut before, mut after) = (c.before.clone(), c.after.clone());
    for axis in 0..c.rank() {
        let taps = c.taps(axis)?;
        let is_read = |tap: &i64| c.inside(axis, *tap).is_some_and(|results| !results.is_empty());
        let (first, last) = ((0..taps).find(is_read)?, (0..taps).rfind(is_read)?);
        if (first, last + 1) != (0, taps) {
            of_weights.push((axis, first, last + 1));
        }
        before[axis] -= first * c.dilation[axis];
        after[axis] -= (taps - 1 - last) * c.dilation[axis];
        let (begin, end) = ((-before[axis]).max(0), c.size(axis)? + after[axis].min(0));
        if (begin, end) != (0, c.size(axis)?) {
            of_data.push((axis, begin, end));
        }
    }
    if of_weights.is_empty() {
        return None;
    }
    let padding: Vec<i64> = before.iter().chain(&after).map(|size| *size.max(&0)).collect();
    let data = slice(e, &c.data, &c.data_layout, c.primal, &of_data)?;
    let weights = slice(e, &c.weights, &c.kernel_layout, c.kernel_primal, &of_weights)?;
    let Value::Call(call) = value else { return None };
    let mut call = call.clone();
    call.args[0] = data;
    call.args[1] = weights;
    call.attrs.set("padding", padding);
    Some(Value::Call(call))
}

/// Emits slices of spatial axes; none if there is nothing to slice.
fn slice(e: &mut Editor, tensor: &Operand, layout: &Layout, primal: &str, slices: &[Slice]) -> Option<Operand> {
    if slices.is_empty() {
        return Some(tensor.clone());
    }
    let letters: Vec<char> = primal.chars().collect();
    let axes = slices.iter().map(|(axis, ..)| Some(layout.position(letters[axis + 2])? as i64));
    let axes = int_tuple(axes.collect::<Option<Vec<_>>>()?);
    let (begin, end) = (slices.iter().map(|(_, begin, _)| *begin), slices.iter().map(|(.., end)| *end));
    e.emit("strided_slice", [tensor.clone(), axes, int_tuple(begin), int_tuple(end)], [])
}
