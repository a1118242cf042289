//! Calls of a program's functions from outside.
use super::current;
use super::decode::Plans;
use super::machine::Machine;
use super::program::Program;
use super::run::Run;
use crate::executable::compact::Folding;
use crate::ffi::{Error, kind};
use crate::memory::AllocatorKind;
use crate::value::{Any, Function};
use std::sync::PoisonError;
use std::sync::atomic::AtomicU8;

impl Program {
    /// Calls function number `function` from outside. `flag` interrupts it; by default, that of the enclosing call.
    pub(super) fn call(&self, function: usize, args: &[Any], flag: Option<&AtomicU8>) -> Result<Any, Error> {
        match (&self.bodies[function], &self.natives[function]) {
            (Some(_), _) if args.iter().any(Any::is_borrowed) => self.call_with_copies(function, args, flag),
            (Some(body), _) => {
                self.check_arity(function, body, args.len(), 0)?;
                current::within(self, flag, |flag| current::finishing(self, || self.run(function, args, flag)))
            }
            (None, Some(native)) => {
                current::within(self, flag, |_| current::finishing(self, || native.value.call(args)))
            }
            (None, None) => Err(Error::new(kind::INTERNAL, "a function is neither native nor bytecode")),
        }
    }

    /// Like `call`, with copies of borrowed arguments.
    #[cold]
    fn call_with_copies(&self, function: usize, args: &[Any], flag: Option<&AtomicU8>) -> Result<Any, Error> {
        let args = args.iter().map(Any::owned).collect::<Result<Vec<_>, _>>()?;
        self.call(function, &args, flag)
    }

    fn run(&self, function: usize, args: &[Any], flag: &AtomicU8) -> Result<Any, Error> {
        if !self.is_watched() {
            let run = Run { program: self, bodies: &self.bodies, flag, instrument: None };
            return self.with_machine(|machine| machine.call(&run, function, args));
        }
        let instrument = self.instrument.read().unwrap_or_else(PoisonError::into_inner).clone();
        let bodies = self.plain.get_or_init(|| self.decode(Folding::None, &mut Plans::default()));
        let run = Run { program: self, bodies, flag, instrument: instrument.as_deref() };
        self.with_machine(|machine| machine.call(&run, function, args))
    }

    /// Calls a function, or a closure of this program, from outside. `flag` interrupts it, as in [`call`](Self::call).
    pub(super) fn invoke(&self, callee: &Any, args: &[Any], flag: Option<&AtomicU8>) -> Result<Any, Error> {
        if let Some(function) = callee.get::<&Function>() {
            return current::within(self, flag, |_| current::finishing(self, || function.call(args)));
        }
        let closure = self.own_closure(callee)?;
        let (function, bound) = (closure.function() as usize, closure.bound());
        if let Some(body) = &self.bodies[function] {
            self.check_arity(function, body, args.len(), bound.len())?;
        }
        self.call(function, &args.iter().chain(bound).cloned().collect::<Vec<_>>(), flag)
    }

    /// Calls a closure of this program within the current call.
    pub(super) fn enter_closure(&self, callee: &Any, args: &[Any], flag: &AtomicU8) -> Result<Any, Error> {
        let closure = self.own_closure(callee)?;
        let (function, bound) = (closure.function() as usize, closure.bound());
        let Some(body) = &self.bodies[function] else { return Err(Error::runtime("closures are of bytecode only")) };
        self.check_arity(function, body, args.len(), bound.len())?;
        self.run(function, &args.iter().chain(bound).cloned().collect::<Vec<_>>(), flag)
    }

    fn with_machine<R>(&self, body: impl FnOnce(&mut Machine) -> R) -> R {
        let idle = self.idle_machines().pop();
        let mut machine = idle.unwrap_or_else(|| Machine::new(self.plans.len(), self.arenas.len()));
        let workspace = machine.workspace().clone();
        let result = workspace.within(|| body(&mut machine));
        if self.options.allocator == AllocatorKind::Naive {
            workspace.release();
        }
        drop(workspace);
        self.idle_machines().push(machine);
        result
    }
}
