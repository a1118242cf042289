//! Errors about names that a namespace lacks.

use super::{Dialect, Eval};
use crate::script::{
    context::Reported,
    path::{Path, Space},
    suggest,
};
use hammock_diagnostics::{Diagnostic, Span, codes};

impl<D: Dialect> Eval<'_, '_, D> {
    /// Records that a namespace has no such name.
    pub fn unknown(&mut self, path: &Path, span: Span, known: &[&str]) -> Reported {
        let (message, help) = match path.space {
            Space::Python => {
                let help = "the text is read, not run: only `R`, `T` and `I` have a meaning";
                (format!("`{path}` cannot be called here"), Some(help))
            }
            _ => (format!("there is no `{path}`"), None),
        };
        // Kernels have no operators, and graphs no functions of kernels.
        let elsewhere = || D::namesake(&path.name).filter(|other| *other != path.to_string());
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION, message).label(span, "");
        if let Some(near) = suggest::nearest_path(&path.name, known) {
            let near = Path::new(path.space, near);
            diagnostic = diagnostic.did_you_mean(span, near.to_string());
        } else if let Some(other) = elsewhere() {
            diagnostic = diagnostic.did_you_mean(span, other);
        } else if let Some(help) = help {
            diagnostic = diagnostic.help(help);
        } else if path.space == Space::Relax && known.is_empty() {
            diagnostic = diagnostic.help(
                "operators of `R` compute whole tensors in an `@R.function`; a kernel computes elements, one after the other",
            );
        }
        self.cx.report(diagnostic)
    }
}
