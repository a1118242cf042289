//! Watching a program: an [`Instrument`] sees every `Call` instruction before and after it runs, and may run in its place.
//!
//! While an instrument is set, the machine runs the program as the executable states it: instruction by instruction,
//! one event per `Call`, with nothing fused or left out. An instrument sees, in order:
//!
//! | event | when |
//! |---|---|
//! | [`Instrument::enter`] | a function of the program begins: it was called from outside, or by the `Call` before |
//! | [`Instrument::before`] | a `Call` is about to run |
//! | [`Instrument::after`] | it has run, or failed; not after one that was skipped |
//! | [`Instrument::leave`] | the function is over, by `Ret` or by an error |
//!
//! Meanwhile, a call whose result is returned at once is an ordinary call: it does not replace its caller. All events of
//! one call from outside come on its thread, properly nested; events of calls on different threads mix.
use crate::ffi::{Error, Location};
use crate::image::SourceMap;
use crate::value::{Any, Function};
use std::fmt;

/// What the callee of a `Call` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CalleeKind {
    /// A compiled kernel of the program.
    Kernel,
    /// A function of the runtime.
    Builtin,
    /// A function of the program.
    Function,
    /// A function that somebody registered.
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

/// A `Call` instruction under way.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Name of the function that calls.
    pub function: &'a str,
    /// Name of what is called.
    pub callee: &'a str,
    /// What that is.
    pub kind: CalleeKind,
    /// The same as a value: a function, or a closure of the program.
    pub value: &'a Any,
    /// Number of the instruction in the executable.
    pub instruction: usize,
    /// The arguments.
    pub args: &'a [Any],
    /// Where instructions come from.
    pub sources: &'a SourceMap,
}

impl Call<'_> {
    /// The line of the model that the instruction comes from.
    pub fn location(&self) -> Option<Location> {
        self.sources.locate(self.instruction)
    }
}

/// What happens to a `Call`.
#[derive(Debug, Clone, Default)]
pub enum Action {
    /// It runs.
    #[default]
    Run,
    /// It does not run; the value stands for its result.
    Skip(Any),
}

/// Sees what a program does. An error of an instrument is an error of the call.
pub trait Instrument: Send + Sync {
    /// A `Call` is about to run.
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        let _ = call;
        Ok(Action::Run)
    }

    /// A `Call` has run.
    fn after(&self, call: &Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        let _ = (call, result);
        Ok(())
    }

    /// A function of the program begins.
    fn enter(&self, function: &str) {
        let _ = function;
    }

    /// A function of the program is over.
    fn leave(&self, function: &str) {
        let _ = function;
    }
}

/// TVM's form of an instrument: a function of `(function, name, before_run, result, args…)`, called before and after
/// every `Call`. If it returns 1 beforehand, the call does not run.
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

/// The answer by which a function of TVM's form keeps a call from running.
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
        Call { function: "main", callee: "add", kind: CalleeKind::Kernel, value, instruction: 3, args, sources }
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
