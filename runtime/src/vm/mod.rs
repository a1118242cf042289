//! The virtual machine: runs the bytecode of an image.
//!
//! Loading resolves every function by name (kernels of the library, then builtins, then the [`crate::registry`]), folds
//! its instructions into fewer steps ([`crate::executable::compact`]) and replaces callees with addresses: see
//! [`program`] and [`decode`]. Running is a loop over steps ([`run`]) on frames ([`registers`]) that a [`machine`] keeps on
//! its own stack ([`stack`]). Functions that come with machine code ([`native`]) are entered from the same loop and
//! work on the same frames. [`builtins`] do what the loop cannot. While an [`instrument`] is set, the unfolded program
//! runs.
//!
//! A [`Vm`] is a handle that threads share. Each call borrows a stack of its own, so calls do not wait for each
//! other; constants, steps and memory pools are shared. [`Interrupt`]s and deadlines end calls early. Beyond calls by name
//! there are calls in steps and saved functions ([`stateful`]), and timing ([`evaluate`]).
//!
//! Calls between functions use no native stack: recursion ends with an error at [`Options::max_depth`], and a call
//! whose result is returned at once replaces the caller, so that loops written as recursion run in constant space.
mod builtin;
pub mod builtins;
mod check;
mod current;
mod decode;
pub mod evaluate;
pub mod instrument;
mod interrupt;
mod machine;
pub mod native;
mod program;
mod registers;
mod run;
mod stack;
mod stateful;
mod test;
mod watch;

pub use builtin::{Builtin, Param};
pub(crate) use current::trim;
pub use current::{go_on, invoke};
pub(crate) use interrupt::EXHAUSTED;
pub use interrupt::Interrupt;
#[cfg(not(any(loom, miri)))]
pub(crate) use interrupt::start_anew;
#[cfg(not(any(loom, miri)))]
pub(crate) use program::Programs;

use crate::ffi::Error;
use crate::float_state::FloatState;
use crate::image::{Image, Signature};
use crate::memory::meter::Account;
use crate::memory::{Allocator, AllocatorKind, MemoryStats, Reservation, default_limit};
use crate::value::{Any, Device, Function};
use instrument::Instrument;
use interrupt::Deadline;
use program::Program;
use stateful::State;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

/// Takes the locks of programs and of what they share. The result is to be kept longer than the guards.
#[cfg(not(any(loom, miri)))]
pub(crate) fn take_locks(guards: &mut crate::fork::Guards) -> Programs {
    builtins::take_locks(guards);
    interrupt::take_locks(guards);
    program::take_locks(guards)
}

/// How a program runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it runs, most wanted first. The host is added at the end if it is not there.
    pub devices: Vec<Device>,
    /// What its allocators do with memory given back.
    pub allocator: AllocatorKind,
    /// The most memory it may take on each device, in bytes: tensors, kernels' scratch memory, values, frames, and on the
    /// host the model itself. By default what [`crate::memory::default_limit`] says.
    pub memory_limit: usize,
    /// The most calls that may be under way within one call from outside.
    pub max_depth: usize,
    /// The most memory that the frames of those calls may take, in bytes.
    pub max_stack: usize,
    /// How long a call from outside may take, unless it says otherwise itself.
    pub timeout: Option<Duration>,
    /// Are arguments of kernels checked against the kernels' signatures?
    pub check_kernels: bool,
    /// Are subnormal numbers (denormals) zero, as operands and as results of all that a call computes on any thread? They
    /// take a processor up to hundreds of times as long as others. Without, calls compute as IEEE 754 says.
    pub flush_denormals: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            devices: vec![Device::CPU],
            allocator: AllocatorKind::Pooled,
            memory_limit: default_limit(),
            max_depth: 1_000_000,
            max_stack: 1 << 30,
            timeout: None,
            check_kernels: true,
            flush_denormals: false,
        }
    }
}

impl Options {
    /// The floating-point state of calls.
    pub(crate) fn float_state(&self) -> FloatState {
        if self.flush_denormals { FloatState::FLUSH } else { FloatState::IEEE }
    }
}

/// What ends a call early.
#[derive(Debug, Clone, Default)]
pub struct CallLimits {
    /// Who may stop it.
    pub interrupt: Option<Interrupt>,
    /// How long it may take; none: as the program's [`Options`] say.
    pub timeout: Option<Duration>,
}

/// A program that is ready to run. Clones share everything.
#[derive(Clone)]
pub struct Vm(Arc<Program>, Arc<State>);

impl Vm {
    /// Prepares an image whose kernels `kernel` finds by name; its functions are of bytecode only.
    pub fn new(
        image: Arc<Image>,
        options: Options,
        kernel: impl Fn(&str) -> Result<Option<Function>, Error>,
    ) -> Result<Vm, Error> {
        Vm::with_code(image, 0, options, kernel, |_| Ok(None))
    }

    /// The same for an image that was read with `bytes` bytes; `machine_code` finds its functions that are compiled.
    pub(crate) fn with_code(
        image: Arc<Image>,
        bytes: usize,
        options: Options,
        kernel: impl Fn(&str) -> Result<Option<Function>, Error>,
        machine_code: impl Fn(&str) -> Result<Option<native::MachineCode>, Error>,
    ) -> Result<Vm, Error> {
        let program = Program::load(image, bytes, options, kernel, machine_code)?;
        Ok(Vm(program, Arc::default()))
    }

    /// The image.
    pub fn image(&self) -> &Arc<Image> {
        &self.0.image
    }

    /// How it runs.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Names of the functions that are there to be called, in the table's order: not those that the compiler made for
    /// others, whose names begin with `_`.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.0.image.executable.exported()
    }

    /// Names of a function's parameters.
    pub fn parameters(&self, name: &str) -> Result<&[String], Error> {
        let executable = &self.image().executable;
        let function = executable.function(name).ok_or_else(|| self.unknown(name))?;
        Ok(&executable.functions[function].param_names)
    }

    /// What a function takes and gives.
    pub fn signature(&self, name: &str) -> Result<Cow<'_, Signature>, Error> {
        self.image().signature(name).ok_or_else(|| self.unknown(name))
    }

    /// Calls a function, one of the program's or a saved one, by name.
    pub fn call(&self, name: &str, args: &[Any]) -> Result<Any, Error> {
        self.call_with(&CallLimits::default(), name, args)
    }

    /// The same, but the call ends with a `CancelledError` or a `TimeoutError` when a limit is reached.
    pub fn call_with(&self, limits: &CallLimits, name: &str, args: &[Any]) -> Result<Any, Error> {
        let interrupt = limits.interrupt.as_ref();
        let timeout = limits.timeout.or(self.0.options.timeout);
        let deadline = match (interrupt, timeout) {
            (None, None) => None,
            _ => Some(Deadline::start(interrupt, timeout.unwrap_or(Duration::MAX))?),
        };
        let flag = deadline.as_ref().map(Deadline::flag);
        let result = match self.image().executable.function(name) {
            Some(function) => self.0.call(function, args, flag),
            None => {
                let saved = self.1.saved(name).ok_or_else(|| self.unknown(name))?;
                current::within(&self.0, flag, |_| saved.call(args))
            }
        }?;
        deadline.map_or(Ok(()), |deadline| deadline.check())?;
        Ok(result)
    }

    /// Runs `body`; host memory that it takes for tensors counts towards the program's limit, as in a call.
    pub fn counting<R>(&self, body: impl FnOnce() -> R) -> R {
        let flag = AtomicU8::default();
        // SAFETY: the program lives as long as this handle, and the flag until the body is done.
        let _account = unsafe { Account::new(self.0.host(), &flag).enter() };
        body()
    }

    /// Counts host memory that was taken elsewhere towards the program's limit, as long as the reservation lives.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Error> {
        self.0.host().reserve(bytes)
    }

    /// Sets who looks on from the next call on; none: nobody. The machine is slower while somebody does.
    pub fn set_instrument(&self, instrument: Option<Arc<dyn Instrument>>) {
        self.0.set_instrument(instrument);
    }

    /// The function called `name`, one of the program's or a saved one, as a value that keeps the program alive and may
    /// be called by anyone.
    pub fn function(&self, name: &str) -> Option<Function> {
        let Some(function) = self.image().executable.function(name) else { return self.1.saved(name) };
        let program = self.0.clone();
        Some(Function::new(move |args| program.call(function, args, None)))
    }

    /// Calls a function or closure that the program returned.
    pub fn invoke(&self, callee: &Any, args: &[Any]) -> Result<Any, Error> {
        self.0.invoke(callee, args)
    }

    /// Memory in use on the first device.
    pub fn memory(&self) -> MemoryStats {
        self.0.memory(0)
    }

    /// Memory in use on device number `device` of the program's, the host being the last.
    pub fn memory_of(&self, device: usize) -> Option<MemoryStats> {
        (device < self.allocators().len()).then(|| self.0.memory(device))
    }

    /// Gives memory that is kept for reuse back to the devices.
    pub fn trim(&self) {
        self.0.trim();
    }

    /// The program's allocators, in the order of its devices.
    pub fn allocators(&self) -> &[Arc<Allocator>] {
        &self.0.allocators
    }

    fn unknown(&self, name: &str) -> Error {
        let known: Vec<_> = self.functions().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::value(format!("there is no function `{name}`; the program has {known}"))
    }
}

#[cfg(test)]
mod folding_tests;
#[cfg(test)]
mod tests;
