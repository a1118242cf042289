//! The class `Interrupt`.
use hammock_runtime::vm::Interrupt as Data;
use pyo3::prelude::*;

/// Ends calls from another thread: `limited = model.with_limits(interrupt=interrupt)`, then `interrupt.cancel()`.
///
/// A call ends before its next kernel or function call. A running kernel or callback is not interrupted.
#[pyclass(frozen, module = "hammock")]
pub struct Interrupt(pub Data);

#[pymethods]
impl Interrupt {
    #[new]
    fn new() -> Interrupt {
        Interrupt(Data::new())
    }

    /// Ends the calls with this interrupt, present and future, with a CancelledError.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// True if it was cancelled.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn __repr__(&self) -> String {
        format!("<hammock.Interrupt{}>", if self.0.is_cancelled() { ", cancelled" } else { "" })
    }
}
