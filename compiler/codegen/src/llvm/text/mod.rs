//! LLVM's textual IR: types, values, functions and modules as strings.
//!
//! Nothing here needs LLVM. Instructions are methods of [`Function`] that take typed values, write one line each and
//! give the typed result; what is constant stays constant where that is plain (adding zero, multiplying by one), so
//! that index arithmetic does not bury the rest. That the text is well-formed is checked by LLVM when it reads it, with
//! an error instead of the crash that its builder interface makes of a mistake.

mod function;
mod module;
mod value;

pub use function::{Function, Label};
pub use module::{Linkage, Module};
pub use value::{Ty, Value};
