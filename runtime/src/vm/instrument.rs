//! Instruments: callbacks before and after every `Call` instruction, which may also replace it.
//!
//! While an instrument is set, the virtual machine runs the unfolded executable: instruction by instruction, with one
//! event per `Call`. An instrument receives, in order:
//!
//! | event | when |
//! |---|---|
//! | [`Instrument::enter`] | a function of the program begins: it was called from outside, or by the preceding `Call` |
//! | [`Instrument::before`] | a `Call` is about to run |
//! | [`Instrument::after`] | it has returned or failed; not after a skipped one |
//! | [`Instrument::leave`] | the function ends, by `Ret` or by an error |
//!
//! There are no tail calls in this mode. All events of a call from outside occur on its thread, properly nested; events
//! of calls on different threads interleave.
use crate::ffi::{Error, Location};
use crate::image::SourceMap;
use crate::value::{Any, Function};
use std::fmt;
use std::time::Duration;

/// Kind of the callee of a `Call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CalleeKind {
    /// A compiled kernel of the program.
    Kernel,
    /// A builtin of the runtime.
    Builtin,
    /// A bytecode function of the program.
    Function,
    /// A function from the global registry.
    Registered,
}

impl fmt::Display for CalleeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CalleeKind::Kernel => "kernel",
            CalleeKind::Builtin => "builtin",
            CalleeKind::Function => "function",
            CalleeKind::Registered => "registered",
        })
    }
}

/// A `Call` instruction in progress.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Name of the caller.
    pub function: &'a str,
    /// Name of the callee.
    pub callee: &'a str,
    /// Kind of the callee.
    pub kind: CalleeKind,
    /// The callee as a value: a function, or a closure of the program.
    pub value: &'a Any,
    /// Index of the instruction in the executable.
    pub instruction: usize,
    /// The arguments.
    pub args: &'a [Any],
    /// Source locations of instructions.
    pub sources: &'a SourceMap,
    /// Time that the device functions of a kernel took on their device, from the start of the first to the end of the last;
    /// `None` before the call, and if it launched none.
    pub device_time: Option<Duration>,
}

impl Call<'_> {
    /// Source location of the instruction.
    pub fn location(&self) -> Option<Location> {
        self.sources.locate(self.instruction)
    }
}

/// Result of [`Instrument::before`].
#[derive(Debug, Clone, Default)]
pub enum Action {
    /// It runs.
    #[default]
    Run,
    /// It is skipped; the value is its result.
    Skip(Any),
}

/// Observes a program. An error of an instrument becomes an error of the call.
pub trait Instrument: Send + Sync {
    /// Called before a `Call`.
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        let _ = call;
        Ok(Action::Run)
    }

    /// Called after a `Call`.
    fn after(&self, call: &Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        let _ = (call, result);
        Ok(())
    }

    /// Called when a function of the program begins.
    fn enter(&self, function: &str) {
        let _ = function;
    }

    /// Called when a function of the program ends.
    fn leave(&self, function: &str) {
        let _ = function;
    }
}

/// An instrument as TVM defines it: a function of `(function, name, before_run, result, args…)`, called before and
/// after every `Call`. If it returns 1 before the call, the call is skipped.
impl Instrument for Function {
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        let answer = notify(self, call, true, &Any::NONE)?;
        Ok(if answer.get::<i64>() == Some(SKIP_RUN) { Action::Skip(Any::NONE) } else { Action::Run })
    }

    fn after(&self, call: &Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        match result {
            Ok(result) => notify(self, call, false, result).map(drop),
            Err(_) => Ok(()),
        }
    }
}

/// Result of a TVM instrument that skips the call.
const SKIP_RUN: i64 = 1;

fn notify(function: &Function, call: &Call<'_>, before: bool, result: &Any) -> Result<Any, Error> {
    let head = [call.value.clone(), call.callee.into(), before.into(), result.clone()];
    let args: Vec<Any> = head.into_iter().chain(call.args.iter().cloned()).collect();
    function.call(&args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(args: &'a [Any], value: &'a Any, sources: &'a SourceMap) -> Call<'a> {
        let kind = CalleeKind::Kernel;
        Call { function: "main", callee: "add", kind, value, instruction: 3, args, sources, device_time: None }
    }

    #[test]
    fn functions_of_tvms_form_may_skip_calls() {
        let skip_add = Function::new(|args| {
            assert!(args.len() == 5 && args[0].get() == Some(7i64));
            Ok(Any::from(i64::from(args[1].as_str() == Some("add") && args[2].get() == Some(true))))
        });
        let (args, value, sources) = ([Any::from(1i64)], Any::from(7i64), SourceMap::default());
        let call = call(&args, &value, &sources);
        assert!(matches!(skip_add.before(&call), Ok(Action::Skip(value)) if value.is_none()));
        assert!(matches!(skip_add.before(&Call { callee: "sub", ..call }), Ok(Action::Run)));
        assert!(skip_add.after(&call, Ok(&Any::NONE)).is_ok());
        assert!(call.location().is_none());
    }

    #[test]
    fn errors_of_instruments_are_passed_on() {
        let failing = Function::new(|_| Err(Error::value("no")));
        let (args, value, sources) = ([], Any::NONE, SourceMap::default());
        let call = call(&args, &value, &sources);
        assert!(failing.before(&call).is_err() && failing.after(&call, Ok(&Any::NONE)).is_err());
    }
}
