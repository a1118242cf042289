//! Options for reading text.

use hammock_ir::Tensor;

/// How to read a text module.
#[derive(Default)]
pub struct ReadOptions {
    /// The class to read when the file holds several; otherwise the file must hold one module.
    pub module: Option<String>,
    /// Where constants come from that the text names but leaves out.
    pub constants: Constants,
}

/// Where the constants of `metadata["ir.GenericConst"][i]` come from when the text has no metadata section.
#[derive(Default)]
pub enum Constants {
    /// Nowhere: a text without its constants is an error.
    #[default]
    Missing,
    /// Zeros of the annotated shape and dtype: enough to look at shapes and timings.
    Zeros,
    /// Tensors by name or by number: the constant `i` is the tensor named `i`, or the `i`-th one when no name is a
    /// number.
    Tensors(Vec<(String, Tensor)>),
}
