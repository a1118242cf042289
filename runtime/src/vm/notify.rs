//! Notification of an [`Instrument`] by the interpreter loop.
use super::instrument::{Action, Call, CalleeKind};
use super::program::Program;
use super::registers::Registers;
use super::run::Run;
use crate::executable::Instruction;
use crate::executable::compact::{Op, Slots};
use crate::ffi::Error;
use crate::ffi::launch::{self, LaunchTimer};
use crate::value::Any;
use std::time::Duration;

impl Run<'_> {
    /// Runs a call of a native function, unless the instrument provides a result.
    pub(super) fn call_instrumented(
        &self,
        frame: &Registers<'_>,
        pc: usize,
        call: impl FnOnce() -> Result<Any, Error>,
    ) -> Result<Any, Error> {
        let Some(instrument) = &self.instrument else { return call() };
        if let Some(instead) = self.before(frame, pc)? {
            return Ok(instead);
        }
        let (result, device_time) = if self.program.is_on_device { self.measured(call) } else { (call(), None) };
        self.describe(frame, pc, |call| instrument.after(&Call { device_time, ..*call }, result.as_ref()))?;
        result
    }

    /// Makes a call and waits for its work on devices: instruments measure the whole call, and may read its results.
    /// Returns the time of the work as well.
    fn measured(&self, call: impl FnOnce() -> Result<Any, Error>) -> (Result<Any, Error>, Option<Duration>) {
        let (result, launches) = launch::timed(call);
        match self.program.synchronize().and(result) {
            Ok(result) => match launches.map(LaunchTimer::elapsed).transpose() {
                Ok(time) => (Ok(result), time),
                Err(error) => (Err(error), None),
            },
            failed => (failed, None),
        }
    }

    /// Notifies before a call; a returned value becomes its result.
    pub(super) fn before(&self, frame: &Registers<'_>, pc: usize) -> Result<Option<Any>, Error> {
        let Some(instrument) = &self.instrument else { return Ok(None) };
        match self.describe(frame, pc, |call| instrument.before(call))? {
            Action::Run => Ok(None),
            Action::Skip(value) => Ok(Some(value)),
        }
    }

    /// Notifies after a bytecode function or function value has returned.
    #[inline(always)]
    pub(super) fn returned(&self, frame: &Registers<'_>, pc: usize, result: &Any) -> Result<(), Error> {
        match &self.instrument {
            None => Ok(()),
            Some(instrument) => self.describe(frame, pc, |call| instrument.after(call, Ok(result))),
        }
    }

    /// Notifies that a function begins.
    #[inline(always)]
    pub(super) fn entered(&self, function: u32) {
        if let Some(instrument) = &self.instrument {
            instrument.enter(self.program.name(function));
        }
    }

    /// Notifies that a function ends.
    #[inline(always)]
    pub(super) fn left(&self, function: u32) {
        if let Some(instrument) = &self.instrument {
            instrument.leave(self.program.name(function));
        }
    }

    /// Describes the current call of a frame.
    fn describe<R>(
        &self,
        frame: &Registers<'_>,
        pc: usize,
        tell: impl FnOnce(&Call<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Program { image, natives, values, .. } = self.program;
        let instruction = frame.body.origins[pc] as usize;
        let Some(Instruction::Call { function: callee, .. }) = image.executable.code.get(instruction) else {
            return Err(Error::runtime("only calls are watched"));
        };
        let kind = natives[callee as usize].as_ref().map_or(CalleeKind::Function, |native| native.kind);
        let value = &values[callee as usize];
        let (function, callee) = (self.program.name(frame.body.function), self.program.name(callee as u32));
        let args = frame.gather(arguments(frame.op(pc)));
        tell(&Call { function, callee, kind, value, instruction, args, sources: &image.sources, device_time: None })
    }
}

/// The arguments of a step that is a call.
fn arguments<F: Copy>(op: &Op<F>) -> Slots {
    match *op {
        Op::Invoke { args, .. } | Op::TailInvoke { args, .. } | Op::InvokeValue { args, .. } => args,
        _ => op.native_args().unwrap_or(Slots { start: 0, count: 0 }),
    }
}
