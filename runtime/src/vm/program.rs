//! A program: an image made ready to run.
use super::Options;
use super::builtins;
use super::current;
use super::decode::{self, Body};
use super::run::Machine;
use crate::executable::{Constant, FunctionInfo, FunctionKind};
use crate::ffi::{Error, SafeCall};
use crate::image::Image;
use crate::memory::Allocator;
use crate::registry;
use crate::value::{Any, Closure, Device, Function, Tensor};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A function that is not bytecode: what to call, and what keeps it callable.
pub(super) struct Native {
    pub(super) call: SafeCall,
    pub(super) handle: *mut c_void,
    /// Index of the signature its arguments are checked against.
    pub(super) signature: Option<u32>,
    value: Function,
}

/// A function of the table.
pub(super) enum Callable {
    Native(Native),
    Bytecode(Body),
}

/// An image with its functions resolved and its instructions decoded.
pub(super) struct Program {
    /// Tells the program's closures from those of others.
    pub(super) id: u64,
    pub(super) image: Arc<Image>,
    pub(super) options: Options,
    /// By index of the function table.
    pub(super) functions: Vec<Callable>,
    /// One for each device; the host's is the last.
    pub(super) allocators: Vec<Arc<Allocator>>,
    /// Machines at rest, for the next calls.
    machines: Mutex<Vec<Machine>>,
}

// SAFETY: raw pointers in a program are handles of native functions, which may be called from any thread, and
// addresses within its own immutable parts.
unsafe impl Send for Program {}
// SAFETY: as above; what changes is behind a lock.
unsafe impl Sync for Program {}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Program {
    pub(super) fn load(
        image: Arc<Image>,
        mut options: Options,
        kernel: impl Fn(&str) -> Result<Option<Function>, Error>,
    ) -> Result<Program, Error> {
        if options.devices.last().is_none_or(|device| !device.is_host()) {
            options.devices.push(Device::CPU);
        }
        let allocator = |device: &Device| Allocator::new(*device, options.allocator, options.memory_limit);
        let allocators = options.devices.iter().map(allocator).collect::<Result<Vec<_>, _>>()?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let table = &image.executable.functions;
        let natives = table.iter().map(|info| resolve(info, &image, &options, &kernel));
        let natives = natives.collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Any> = natives.iter().enumerate().map(|(i, native)| function_value(id, i, native)).collect();
        let constants = load_constants(&image, options.devices[0])?;
        let functions = natives.into_iter().zip(table).map(|(native, info)| match native {
            Some(native) => Ok(Callable::Native(native)),
            None => decode::decode(&image.executable, info, &values, &constants).map(Callable::Bytecode),
        });
        let functions = functions.collect::<Result<Vec<_>, _>>()?;
        let mut program = Program { id, image, options, functions, allocators, machines: Mutex::default() };
        program.link();
        Ok(program)
    }

    /// Writes native callees into the instructions that call them.
    fn link(&mut self) {
        let targets: Vec<_> = self.functions.iter().map(Callable::target).collect();
        for function in &mut self.functions {
            if let Callable::Bytecode(body) = function {
                body.link(&targets);
            }
        }
    }

    /// Calls function number `function` from outside.
    pub(super) fn call(&self, function: usize, args: &[Any]) -> Result<Any, Error> {
        match &self.functions[function] {
            Callable::Bytecode(body) => {
                self.check_arity(function, body, args.len())?;
                let args = args.iter().map(Any::clone).collect();
                current::within(self, || self.with_machine(|machine| machine.call(self, function, args)))
            }
            Callable::Native(native) => native.value.call(args),
        }
    }

    /// Calls a function, or a closure of this program, from outside.
    pub(super) fn invoke(&self, callee: &Any, args: &[Any]) -> Result<Any, Error> {
        if let Some(function) = callee.get::<&Function>() {
            return current::within(self, || function.call(args));
        }
        let closure = self.own_closure(callee)?;
        let args: Vec<_> = args.iter().chain(closure.bound()).cloned().collect();
        self.call(closure.function() as usize, &args)
    }

    /// The closure, if it is one of this program's.
    pub(super) fn own_closure<'a>(&self, callee: &'a Any) -> Result<&'a Closure, Error> {
        match callee.get::<&Closure>() {
            Some(closure) if closure.program() == self.id => Ok(closure),
            Some(_) => Err(Error::value("the closure belongs to another program")),
            None => Err(Error::type_error(format!("{callee} is no function"))),
        }
    }

    pub(super) fn check_arity(&self, function: usize, body: &Body, count: usize) -> Result<(), Error> {
        if count == body.num_args {
            return Ok(());
        }
        let FunctionInfo { name, param_names, .. } = &self.image.executable.functions[function];
        let plural = if body.num_args == 1 { "" } else { "s" };
        let named = if param_names.is_empty() { String::new() } else { format!(" ({})", param_names.join(", ")) };
        let message = format!("function `{name}` takes {} argument{plural}{named}, not {count}", body.num_args);
        Err(Error::type_error(message))
    }

    pub(super) fn name(&self, function: u32) -> &str {
        &self.image.executable.functions[function as usize].name
    }

    fn with_machine<R>(&self, body: impl FnOnce(&mut Machine) -> R) -> R {
        let resting = self.machines.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut machine = resting.unwrap_or_default();
        let result = body(&mut machine);
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).push(machine);
        result
    }
}

/// What an instruction needs to call a function.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Native { call: SafeCall, handle: *mut c_void, signature: Option<u32> },
    Bytecode,
}

impl Callable {
    fn target(&self) -> Target {
        match self {
            Callable::Native(Native { call, handle, signature, .. }) => {
                Target::Native { call: *call, handle: *handle, signature: *signature }
            }
            Callable::Bytecode(_) => Target::Bytecode,
        }
    }
}

/// Finds the function behind an entry of the table; none for bytecode.
fn resolve(
    info: &FunctionInfo,
    image: &Image,
    options: &Options,
    kernel: &impl Fn(&str) -> Result<Option<Function>, Error>,
) -> Result<Option<Native>, Error> {
    match info.kind {
        FunctionKind::Bytecode => return Ok(None),
        FunctionKind::Compiled => {
            return Err(Error::value(format!("function `{}` has no bytecode, only machine code", info.name)));
        }
        FunctionKind::Packed => (),
    }
    if let Some(value) = kernel(&info.name)? {
        let position = image.kernels.iter().position(|signature| signature.name == info.name);
        let signature = position.filter(|_| options.check_kernels).map(|position| position as u32);
        return Ok(Some(Native { call: value.safe_call(), handle: value.handle(), signature, value }));
    }
    if let Some(builtin) = builtins::find(&info.name) {
        let (call, handle) = builtin.safe_call();
        return Ok(Some(Native { call, handle, signature: None, value: builtin.function() }));
    }
    let value = registry::get(&info.name).unwrap_or_else(|| missing(&info.name));
    Ok(Some(Native { call: value.safe_call(), handle: value.handle(), signature: None, value }))
}

/// Stands in for a function that nobody provides: programs may name functions they never call.
fn missing(name: &str) -> Function {
    let message =
        format!("function `{name}` is neither a kernel of the program nor a builtin, and nobody registered it");
    Function::new(move |_| Err(Error::value(message.clone())))
}

/// The function as a value.
fn function_value(id: u64, index: usize, native: &Option<Native>) -> Any {
    match native {
        Some(native) => native.value.clone().into(),
        None => Closure::new(id, index as u32, Vec::new()).into(),
    }
}

/// The constant pool, its tensors on `device` unless their memory scope says otherwise.
fn load_constants(image: &Image, device: Device) -> Result<Vec<Any>, Error> {
    let load = |constant: &Constant| match constant {
        Constant::Tensor(tensor) => Ok(Tensor::to_device(tensor, device)?.into()),
        other => Ok(Any::from(other)),
    };
    image.executable.constants.iter().map(load).collect()
}
