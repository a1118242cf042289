//! LLVM's textual IR: types, values, functions and modules as strings.
//!
//! Nothing here needs LLVM. Instructions are methods of [`Function`] that take typed values, write one line each and
//! return the typed result; trivial operations are folded (adding zero, multiplying by one), so that index arithmetic
//! does not obscure the rest. LLVM checks that the text is well-formed when it reads it, and reports an error where its
//! builder interface would crash.

mod function;
mod module;
mod name;
mod value;

pub use function::{Function, Label, Linkage};
pub use module::Module;
pub use value::{Ty, Value};
