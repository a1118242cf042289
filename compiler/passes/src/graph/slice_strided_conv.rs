//! SliceStridedConv: slices the data of strided convolutions that read few of them.
//!
//! Along an axis with stride `s` and a window of one element, a convolution reads every `s`-th element of the data.
//! These elements are sliced first, and the stride is 1 then:
//!
//! ```text
//! out[o, i] = Σ data[c, s * i] * w[o, c]        sliced[c, i] = data[c, s * i]
//!                                               out[o, i]    = Σ sliced[c, i] * w[o, c]
//! ```
//!
//! So a strided pointwise convolution becomes a matmul of contiguous rows. Not if channels are the last axis: their
//! vectors are contiguous at any stride. Results are the same.

use crate::{
    Context, Pass,
    analysis::convolution::Convolution,
    rewrite::{
        editor::{self, Editor},
        int_tuple,
    },
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Module, relax::Value};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "SliceStridedConv",
    doc: "Slices the data of strided convolutions along axes with windows of one element",
    options: &[],
    run,
};

/// Minimum number of results of each element that are worth a copy.
const MIN_CHANNELS: i64 = 8;

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(slice))
}

fn slice(e: &mut Editor, value: &Value) -> Option<Value> {
    let c = Convolution::of(e.module, e.function, value)?;
    let letters: Vec<char> = c.primal.chars().collect();
    let is_last = |axis: usize| c.data_layout.position(letters[axis + 2]) == Some(letters.len() - 1);
    let is_sliced = |axis: &usize| {
        let is_read_once = c.taps(*axis) == Some(1) && c.before[*axis] == 0 && c.after[*axis] == 0;
        is_read_once && c.strides[*axis] > 1
    };
    let sliced: Vec<usize> = (0..c.rank()).filter(is_sliced).collect();
    let is_shared = c.groups == 1 && c.kernel[0].as_int().is_some_and(|channels| channels >= MIN_CHANNELS);
    if !is_shared || !sliced.iter().any(|axis| is_last(*axis)) {
        return None;
    }
    let mut strides = c.strides.clone();
    let axes = sliced.iter().map(|axis| Some(c.data_layout.position(letters[axis + 2])? as i64));
    let ends = sliced.iter().map(|axis| c.size(*axis));
    let (axes, ends) = (axes.collect::<Option<Vec<_>>>()?, ends.collect::<Option<Vec<_>>>()?);
    let (begins, steps) = (sliced.iter().map(|_| 0), sliced.iter().map(|axis| c.strides[*axis]));
    let args = [c.data.clone(), int_tuple(axes), int_tuple(begins), int_tuple(ends), int_tuple(steps)];
    let data = e.emit("strided_slice", args, [])?;
    sliced.iter().for_each(|axis| strides[*axis] = 1);
    let Value::Call(call) = value else { return None };
    let mut call = call.clone();
    call.args[0] = data;
    call.attrs.set("strides", strides);
    Some(Value::Call(call))
}
