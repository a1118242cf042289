//! Patterns of values, in the notation of `tvm.relax.dpl`:
//!
//! ```python
//! x, w, b = wildcard(), is_const(), wildcard()
//! conv = R.nn.conv2d(x, w, strides=[1, 1])
//! biased = conv | R.add(conv, b)
//! patterns = [
//!     ("dnnl.conv2d_relu", R.nn.relu(biased)),
//!     ("dnnl.conv2d", biased),
//! ]
//! ```
//!
//! A file has assignments, in which a name that is used twice matches one value, and finally the list `patterns`. An
//! operator is called as in a graph (`R.nn.relu(x)`), with attributes by name, or as in TVM:
//! `is_op("relax.nn.relu")(x)`. [`codes::BAD_PATTERN`]'s page has the complete notation.

mod calls;
mod error;
mod file;
mod reader;
#[cfg(test)]
mod tests;
mod values;

use hammock_diagnostics::{Diagnostic, SourceFile};
use hammock_ir::relax::pattern::{NamedPattern, Pattern};

/// Reads a file of patterns.
///
/// # Errors
/// All errors in the text; the diagnostics name the file.
pub fn read_patterns(source: &SourceFile) -> Result<Vec<NamedPattern>, Vec<Diagnostic>> {
    let (tree, found) = hammock_syntax::parse(source);
    checked(source, found).and_then(|()| file::read(source, &tree).map_err(|found| of(source, found)))
}

/// Reads one pattern, an expression.
///
/// # Errors
/// All errors in the text; the diagnostics name the file.
pub fn read_pattern(source: &SourceFile) -> Result<Pattern, Vec<Diagnostic>> {
    let (tree, found) = hammock_syntax::parse(source);
    checked(source, found).and_then(|()| file::expression(source, &tree).map_err(|error| of(source, vec![error])))
}

fn checked(source: &SourceFile, found: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if found.iter().any(Diagnostic::is_error) { Err(of(source, found)) } else { Ok(()) }
}

fn of(source: &SourceFile, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.into_iter().map(|diagnostic| diagnostic.of(source)).collect()
}
