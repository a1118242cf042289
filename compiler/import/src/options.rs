//! Options for reading text.

use hammock_ir::Tensor;

/// Options for reading a text module.
#[derive(Default)]
pub struct ReadOptions {
    /// The class to read if the file has several; otherwise the file must have one module.
    pub module: Option<String>,
    /// Source of constants that the text refers to but omits.
    pub constants: Constants,
}

/// Source of the constants `metadata["ir.GenericConst"][i]` if the text has no metadata section.
#[derive(Default)]
pub enum Constants {
    /// None: a text without its constants is an error.
    #[default]
    Missing,
    /// Zeros of the annotated shape and dtype: enough to inspect shapes and measure performance.
    Zeros,
    /// Tensors by name or by index: the constant `i` is the tensor named `i`, or the `i`-th one if no name is a number.
    Tensors(Vec<(String, Tensor)>),
}
