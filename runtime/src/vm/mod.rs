//! The virtual machine: runs the bytecode of an image.
//!
//! Loading resolves every function by name (kernels of the library, then builtins, then the [`crate::registry`]), folds
//! its instructions into fewer steps ([`crate::executable::compact`]) and replaces callees with addresses: see [`load`]
//! and [`decode`]. A [`call`] runs an interpreter loop ([`run`]) on frames ([`registers`]) that a [`machine`] allocates
//! on its own stack ([`stack`]). Functions with machine code ([`native`]) are entered from the same loop and work on the
//! same frames. [`builtins`] do everything else. While an [`instrument`] is set, the unfolded program runs.
//!
//! A [`Vm`] is a handle that threads share. Each call borrows a stack of its own, so calls do not block each other;
//! constants, steps and memory pools are shared. [`Interrupt`]s, timeouts and a [`HostCheck`] end calls early. In addition
//! to calls by name there are stateful calls and saved functions ([`stateful`]), and timing ([`evaluate`]).
//!
//! Calls between functions use no native stack: recursion ends with an error at [`Options::max_depth`], and tail calls
//! replace the caller, so loops written as recursion run in constant space.
mod builtin;
pub mod builtins;
mod call;
mod check;
mod condition;
mod current;
mod decode;
#[cfg(feature = "profiler")]
pub mod evaluate;
mod host_check;
pub mod instrument;
mod interrupt;
mod load;
mod machine;
mod machine_code;
pub mod native;
mod notify;
mod program;
mod registers;
mod run;
mod sizes;
mod stack;
mod stateful;
mod transfer;

pub use builtin::Builtin;
pub use current::{check_interrupt, invoke};
pub use host_check::HostCheck;
pub use interrupt::Interrupt;

use crate::ffi::Error;
use crate::float_state::FloatState;
use crate::image::{Image, Signature};
use crate::memory::meter::Account;
use crate::memory::{Allocator, AllocatorKind, MemoryStats, Reservation};
use crate::parallel::ProgramWork;
use crate::value::{Any, Closure, Device, Function};
use instrument::Instrument;
use interrupt::Deadline;
use program::{Program, Programs};
use stateful::State;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

/// Options of a program.
#[derive(Debug, Clone)]
pub struct Options {
    /// Devices in order of preference. The host is appended if it is missing. If there are none, a program with kernels
    /// for CUDA devices runs on the first one.
    pub devices: Vec<Device>,
    /// Policy of its allocators for released blocks.
    pub allocator: AllocatorKind,
    /// Maximum memory on each device in bytes: tensors, kernels' scratch memory, values, frames, and on the host the
    /// model itself. The default is [`crate::memory::default_limit`] on the host, and the memory of another device.
    pub memory_limit: Option<usize>,
    /// Maximum depth of nested calls in one call from outside.
    pub max_depth: usize,
    /// Maximum memory of the frames of those calls in bytes.
    pub max_stack: usize,
    /// Timeout of a call from outside, unless the call specifies one.
    pub timeout: Option<Duration>,
    /// True if arguments of kernels are checked against the kernels' signatures.
    pub check_kernels: bool,
    /// True if subnormal numbers (denormals) are flushed to zero, as operands and as results, on all threads of a call.
    /// They slow down a processor by up to hundreds of times. Otherwise calls compute by IEEE 754.
    pub flush_denormals: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            devices: Vec::new(),
            allocator: AllocatorKind::Pooled,
            memory_limit: None,
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

/// Limits of a call.
#[derive(Debug, Clone, Default)]
pub struct CallLimits {
    /// Interrupt of the call.
    pub interrupt: Option<Interrupt>,
    /// Timeout; `None`: that of the program's [`Options`].
    pub timeout: Option<Duration>,
}

/// A program that is ready to run. Clones share everything.
#[derive(Clone)]
pub struct Vm(Arc<Program>, Arc<State>);

impl Vm {
    /// Loads an image; `kernel` finds its kernels by name. All functions are interpreted.
    pub fn new(
        image: Arc<Image>,
        options: Options,
        kernel: impl Fn(&str) -> Result<Option<Function>, Error>,
    ) -> Result<Vm, Error> {
        Vm::with_code(image, 0, options, &kernel, &|_| Ok(None))
    }

    /// Like [`new`](Vm::new), for an image of `bytes` bytes; `machine_code` finds the code of compiled functions.
    pub(crate) fn with_code(
        image: Arc<Image>,
        bytes: usize,
        options: Options,
        kernel: &dyn Fn(&str) -> Result<Option<Function>, Error>,
        machine_code: &dyn Fn(&str) -> Result<Option<native::MachineCode>, Error>,
    ) -> Result<Vm, Error> {
        let program = Program::load(image, bytes, options, kernel, machine_code)?;
        Ok(Vm(program, Arc::default()))
    }

    /// The image.
    pub fn image(&self) -> &Arc<Image> {
        &self.0.image
    }

    /// The program's options.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Names of the callable functions, in the table's order: not those that the compiler generated, whose names begin
    /// with `_`.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.0.image.executable.exported()
    }

    /// Names of a function's parameters.
    pub fn parameters(&self, name: &str) -> Result<&[String], Error> {
        let executable = &self.image().executable;
        let function = executable.function(name).ok_or_else(|| self.unknown(name))?;
        Ok(&executable.functions[function].param_names)
    }

    /// Signature of a function.
    pub fn signature(&self, name: &str) -> Result<Cow<'_, Signature>, Error> {
        self.image().signature(name).ok_or_else(|| self.unknown(name))
    }

    /// Calls a function of the program, or a saved one, by name.
    pub fn call(&self, name: &str, args: &[Any]) -> Result<Any, Error> {
        self.call_with(&CallLimits::default(), name, args)
    }

    /// Like [`call`](Vm::call), but the call ends with a `CancelledError` or a `TimeoutError` when a limit is reached.
    pub fn call_with(&self, limits: &CallLimits, name: &str, args: &[Any]) -> Result<Any, Error> {
        self.within_limits(limits, |flag| match self.image().executable.function(name) {
            Some(function) => self.0.call(function, args, flag),
            None => {
                let saved = self.1.saved(name).ok_or_else(|| self.unknown(name))?;
                current::within(&self.0, flag, |_| saved.call(args))
            }
        })
    }

    /// Makes a call, which gets the flag that limits set; `None` without limits.
    fn within_limits(
        &self,
        limits: &CallLimits,
        call: impl FnOnce(Option<&AtomicU8>) -> Result<Any, Error>,
    ) -> Result<Any, Error> {
        let interrupt = limits.interrupt.as_ref();
        let timeout = limits.timeout.or(self.0.options.timeout);
        let deadline = match (interrupt, timeout) {
            (None, None) => None,
            _ => Some(Deadline::start(interrupt, timeout.unwrap_or(Duration::MAX))?),
        };
        let result = call(deadline.as_ref().map(Deadline::flag))?;
        deadline.map_or(Ok(()), |deadline| deadline.check())?;
        Ok(result)
    }

    /// Runs `body`; host memory that it allocates for tensors counts towards the program's limit, as in a call.
    pub fn counting<R>(&self, body: impl FnOnce() -> R) -> R {
        let flag = AtomicU8::default();
        // SAFETY: the program lives as long as this handle, and the flag until `body` returns.
        let _work = unsafe { ProgramWork::enter(Account::new(self.0.host(), &flag)) };
        body()
    }

    /// Charges host memory from another source to the program's limit until the reservation is dropped.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Error> {
        self.0.host().reserve(bytes)
    }

    /// Sets the instrument for future calls; `None` removes it. The virtual machine is slower with an instrument.
    pub fn set_instrument(&self, instrument: Option<Arc<dyn Instrument>>) {
        self.0.set_instrument(instrument);
    }

    /// The function `name` of the program, or a saved one, as a value that keeps the program alive.
    pub fn function(&self, name: &str) -> Option<Function> {
        let Some(function) = self.image().executable.function(name) else { return self.1.saved(name) };
        let program = self.0.clone();
        Some(Function::new(move |args| program.call(function, args, None)))
    }

    /// Calls a function or closure that the program returned.
    pub fn invoke(&self, callee: &Any, args: &[Any]) -> Result<Any, Error> {
        self.within_limits(&CallLimits::default(), |flag| self.0.invoke(callee, args, flag))
    }

    /// The program of a closure, if `callee` is one and its program still exists: a virtual machine without inputs,
    /// outputs and saved functions.
    pub fn of_closure(callee: &Any) -> Option<Vm> {
        let closure = callee.get::<&Closure>()?;
        Programs::find(closure.program()).map(|program| Vm(program, Arc::default()))
    }

    /// The signature of a closure of this program, without the parameters that it binds.
    ///
    /// # Errors
    /// If `callee` is no closure of this program.
    pub fn closure_signature(&self, callee: &Any) -> Result<Signature, Error> {
        let closure = self.0.own_closure(callee)?;
        let signature = self.signature(self.0.name(closure.function()))?;
        let given = signature.given().count().saturating_sub(closure.bound().len());
        Ok(Signature { params: signature.given().take(given).cloned().collect(), ..signature.into_owned() })
    }

    /// Memory statistics of the first device.
    pub fn memory(&self) -> MemoryStats {
        self.0.memory(0)
    }

    /// Memory statistics of the program's device number `device`; the host is the last one.
    pub fn memory_of(&self, device: usize) -> Option<MemoryStats> {
        (device < self.allocators().len()).then(|| self.0.memory(device))
    }

    /// Returns cached memory to the devices.
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
mod tests;
