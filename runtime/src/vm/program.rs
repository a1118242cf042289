//! A program: an image that is ready to run.
use super::Options;
use super::builtins;
use super::current;
use super::decode::{self, Body, Callee, CheckedKernel, Tables};
use super::instrument::{CalleeKind, Instrument};
use super::machine::Machine;
use super::native::{MachineCode, NOT_NATIVE, NativeFunction};
use super::run::Run;
use crate::executable::compact::{AllocPlan, ArenaPlan, Folding};
use crate::executable::{Constant, FunctionInfo, FunctionKind};
use crate::ffi::{Error, kind};
use crate::image::Image;
use crate::memory::{Allocator, AllocatorKind, MemoryStats, Reservation};
use crate::registry;
use crate::value::{Any, Closure, Device, Function, Tensor, device_kind};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// A function that is not bytecode, with the owner of its code.
pub(super) struct Native {
    pub(super) callee: Callee,
    pub(super) kind: CalleeKind,
    /// Index of the signature for the check of its arguments.
    pub(super) signature: Option<u32>,
    value: Function,
}

/// An allocation.
pub(super) struct Plan {
    pub(super) alloc: AllocPlan,
    /// True if all sizes are constants.
    pub(super) is_static: bool,
}

/// Allocation plans of the program, without duplicates.
#[derive(Default)]
pub(super) struct Plans {
    list: Vec<Plan>,
    numbers: HashMap<AllocPlan, u32>,
    arenas: Vec<ArenaPlan>,
}

impl Plans {
    /// The index of a plan.
    pub(super) fn number(&mut self, plan: &AllocPlan) -> u32 {
        *self.numbers.entry(plan.clone()).or_insert_with(|| {
            self.list.push(Plan { alloc: plan.clone(), is_static: !plan.reads_heap() });
            self.list.len() as u32 - 1
        })
    }

    /// The index of an arena, which belongs to one function.
    pub(super) fn arena(&mut self, plan: ArenaPlan) -> u32 {
        self.arenas.push(plan);
        self.arenas.len() as u32 - 1
    }
}

/// An image with its functions resolved and its instructions decoded.
pub(super) struct Program {
    /// Identifies the program's closures.
    pub(super) id: u64,
    pub(super) image: Arc<Image>,
    pub(super) options: Options,
    /// By index of the function table; `None` for bytecode.
    pub(super) natives: Vec<Option<Native>>,
    /// The same functions as machine code accesses them.
    pub(super) callees: Vec<NativeFunction>,
    /// By index of the function table; `None` for functions that are interpreted, and for native ones.
    machine_code: Vec<Option<MachineCode>>,
    /// By index of the function table; `None` for native functions.
    bodies: Vec<Option<Body>>,
    /// The unfolded bodies, with one step per instruction: created when an instrument is set.
    plain: OnceLock<Vec<Option<Body>>>,
    /// The functions as values.
    pub(super) values: Vec<Any>,
    pub(super) constants: Vec<Any>,
    pub(super) plans: Vec<Plan>,
    pub(super) arenas: Vec<ArenaPlan>,
    instrument: RwLock<Option<Arc<dyn Instrument>>>,
    is_watched: AtomicBool,
    /// One per device; the host's is the last.
    pub(super) allocators: Vec<Arc<Allocator>>,
    /// Idle machines.
    machines: Mutex<Vec<Machine>>,
    /// Constants that were computed at first use, by their number in the program.
    pub(super) prepared: RwLock<HashMap<i64, Tensor>>,
    /// Reserves the model's own memory.
    _size: Reservation,
}

// SAFETY: raw pointers in a program are handles of native functions, which any thread may call, and addresses in its
// own immutable parts.
unsafe impl Send for Program {}
// SAFETY: as above; mutable state is behind locks.
unsafe impl Sync for Program {}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The programs of the process by their IDs, for forks, which take all their locks.
#[cfg(not(any(loom, miri)))]
static ALL: Mutex<std::collections::BTreeMap<u64, std::sync::Weak<Program>>> =
    Mutex::new(std::collections::BTreeMap::new());

/// Programs whose locks are held.
#[cfg(not(any(loom, miri)))]
pub(crate) struct Programs(#[expect(dead_code, reason = "held for their drop")] Vec<Arc<Program>>);

/// Takes the locks of all programs, and keeps programs from being created and dropped. The result must outlive the
/// guards.
#[cfg(not(any(loom, miri)))]
pub(super) fn take_locks(guards: &mut crate::fork::Guards) -> Programs {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let programs: Vec<Arc<Program>> = all.values().filter_map(std::sync::Weak::upgrade).collect();
    guards.push(Box::new(all));
    for program in &programs {
        // SAFETY: the result owns the program and outlives the guards.
        let program: &'static Program = unsafe { &*Arc::as_ptr(program) };
        guards.push(Box::new(program.idle_machines()));
        guards.push(Box::new(program.instrument.write().unwrap_or_else(PoisonError::into_inner)));
        guards.push(Box::new(program.prepared.write().unwrap_or_else(PoisonError::into_inner)));
    }
    Programs(programs)
}

#[cfg(not(any(loom, miri)))]
impl Drop for Program {
    fn drop(&mut self) {
        ALL.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Program {
    /// Loads an image; the file that it comes from has `size` bytes, or 0.
    pub(super) fn load(
        image: Arc<Image>,
        size: usize,
        mut options: Options,
        kernel: impl Fn(&str) -> Result<Option<Function>, Error>,
        machine_code: impl Fn(&str) -> Result<Option<MachineCode>, Error>,
    ) -> Result<Arc<Program>, Error> {
        if options.devices.last().is_none_or(|device| !device.is_host()) {
            options.devices.push(Device::CPU);
        }
        let allocator = |device: &Device| Allocator::new(*device, options.allocator, options.memory_limit);
        let allocators = options.devices.iter().map(allocator).collect::<Result<Vec<_>, _>>()?;
        let size = size.max(constant_bytes(&image));
        let size = allocators[allocators.len() - 1].reserve(size);
        let size = size.map_err(|error| Error::new(kind::MEMORY, format!("the model: {}", error.message())))?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let table = &image.executable.functions;
        let natives = table.iter().map(|info| resolve(info, &image, &options, &kernel));
        let natives = natives.collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Any> = natives.iter().enumerate().map(|(i, native)| function_value(id, i, native)).collect();
        let constants = load_constants(&image, options.devices[0])?;
        let machine_code = load_machine_code(&image, &options, &constants, machine_code)?;
        let callee = |native: &Option<Native>| native.as_ref().map_or(NOT_NATIVE, |native| native.callee);
        let callees = natives.iter().map(callee).collect();
        let (plain, machines, instrument, is_watched, prepared) = Default::default();
        let (bodies, plans, arenas) = (Vec::new(), Vec::new(), Vec::new());
        let mut program = Program {
            id,
            image,
            options,
            natives,
            callees,
            machine_code,
            bodies,
            plain,
            values,
            constants,
            plans,
            arenas,
            allocators,
            machines,
            instrument,
            is_watched,
            prepared,
            _size: size,
        };
        let mut plans = Plans::default();
        program.bodies = program.decode(Folding::Full, &mut plans);
        (program.plans, program.arenas) = (plans.list, plans.arenas);
        let program = Arc::new(program);
        #[cfg(not(any(loom, miri)))]
        ALL.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::downgrade(&program));
        Ok(program)
    }

    fn decode(&self, folding: Folding, plans: &mut Plans) -> Vec<Option<Body>> {
        let tables = Tables {
            executable: &self.image.executable,
            signatures: &self.image.kernels,
            natives: &self.natives,
            values: &self.values,
            constants: &self.constants,
            machine_code: &self.machine_code,
            devices: &self.options.devices,
        };
        let decode = |i: usize| self.natives[i].is_none().then(|| decode::decode(&tables, i, folding, plans));
        (0..self.natives.len()).map(decode).collect()
    }

    /// Calls function number `function` from outside. `flag` interrupts it; by default, that of the enclosing call.
    pub(super) fn call(&self, function: usize, args: &[Any], flag: Option<&AtomicU8>) -> Result<Any, Error> {
        match (&self.bodies[function], &self.natives[function]) {
            (Some(_), _) if args.iter().any(Any::is_borrowed) => self.call_with_copies(function, args, flag),
            (Some(body), _) => {
                self.check_arity(function, body, args.len())?;
                current::within(self, flag, |flag| self.run(function, args, flag))
            }
            (None, Some(native)) => current::within(self, flag, |_| native.value.call(args)),
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
        if !self.is_watched.load(Ordering::Relaxed) {
            let run = Run { program: self, bodies: &self.bodies, flag, instrument: None };
            return self.with_machine(|machine| machine.call(&run, function, args));
        }
        let instrument = self.instrument.read().unwrap_or_else(PoisonError::into_inner).clone();
        let bodies = self.plain.get_or_init(|| self.decode(Folding::None, &mut Plans::default()));
        let run = Run { program: self, bodies, flag, instrument: instrument.as_deref() };
        self.with_machine(|machine| machine.call(&run, function, args))
    }

    /// Sets the instrument for future calls.
    pub(super) fn set_instrument(&self, instrument: Option<Arc<dyn Instrument>>) {
        let is_watched = instrument.is_some();
        *self.instrument.write().unwrap_or_else(PoisonError::into_inner) = instrument;
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    /// Checks arguments against a kernel's signature.
    #[inline]
    pub(super) fn check_arguments(&self, kernel: &CheckedKernel, args: &[Any]) -> Result<(), Error> {
        if kernel.check.accepts(args) { Ok(()) } else { self.image.kernels[kernel.signature as usize].check(args) }
    }

    /// The allocator of a device of the program; -1 is the host.
    pub(super) fn allocator(&self, device: i64) -> Result<&Arc<Allocator>, Error> {
        let host = self.allocators.len() - 1;
        let index = if device == -1 { host } else { usize::try_from(device).unwrap_or(usize::MAX) };
        let allocator = self.allocators.get(index);
        allocator.ok_or_else(|| Error::value(format!("the program has no device {device}")))
    }

    /// The allocator of the host's memory.
    pub(super) fn host(&self) -> &Allocator {
        &self.allocators[self.allocators.len() - 1]
    }

    /// The mark of tensors that are allocated by a plan of this program.
    pub(super) fn plan_key(&self, number: u32) -> u64 {
        (self.id << 32) | u64::from(number)
    }

    /// The index of the plan of a mark, if it belongs to this program.
    #[inline]
    pub(super) fn own_plan(&self, key: u64) -> Option<usize> {
        (key >> 32 == self.id & 0xFFFF_FFFF).then_some((key & 0xFFFF_FFFF) as usize)
    }

    /// Memory statistics of a device, by number; memory that idle machines cache counts as pooled.
    pub(super) fn memory(&self, device: usize) -> MemoryStats {
        let (stats, device) = (self.allocators[device].stats(), self.allocators[device].device());
        let spare: usize = self.idle_machines().iter().map(|machine| machine.spare_bytes(device)).sum();
        MemoryStats { used: stats.used.saturating_sub(spare), pooled: stats.pooled + spare, ..stats }
    }

    /// Returns cached memory to the devices.
    pub(super) fn trim(&self) {
        self.idle_machines().iter_mut().for_each(|machine| _ = machine.trim());
        self.allocators.iter().for_each(|allocator| allocator.clear());
    }

    /// Releases memory that an idle machine caches; returns true if there was any.
    pub(super) fn trim_machine(&self) -> bool {
        self.idle_machines().iter_mut().any(Machine::trim)
    }

    /// Calls a function, or a closure of this program, from outside.
    pub(super) fn invoke(&self, callee: &Any, args: &[Any]) -> Result<Any, Error> {
        if let Some(function) = callee.get::<&Function>() {
            return current::within(self, None, |_| function.call(args));
        }
        let closure = self.own_closure(callee)?;
        let args: Vec<_> = args.iter().chain(closure.bound()).cloned().collect();
        self.call(closure.function() as usize, &args, None)
    }

    /// The closure, if it belongs to this program.
    pub(super) fn own_closure<'a>(&self, callee: &'a Any) -> Result<&'a Closure, Error> {
        match callee.get::<&Closure>() {
            Some(closure) if closure.program() == self.id => Ok(closure),
            Some(_) => Err(Error::value("the closure belongs to another program")),
            None => Err(Error::type_error(format!("{callee} is not a function"))),
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

    fn idle_machines(&self) -> MutexGuard<'_, Vec<Machine>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Resolves an entry of the function table; `None` for bytecode.
fn resolve(
    info: &FunctionInfo,
    image: &Image,
    options: &Options,
    kernel: &impl Fn(&str) -> Result<Option<Function>, Error>,
) -> Result<Option<Native>, Error> {
    match info.kind {
        FunctionKind::Bytecode => return Ok(None),
        FunctionKind::Compiled if info.start < info.end => return Ok(None),
        FunctionKind::Compiled => {
            let name = &info.name;
            let value =
                failing_function(format!("function `{name}` has no bytecode, only machine code for TVM's runtime"));
            let callee = callee(&value);
            return Ok(Some(Native { callee, kind: CalleeKind::Function, signature: None, value }));
        }
        FunctionKind::Packed => (),
    }
    if let Some(found) = kernel(&info.name)? {
        let number = image.kernels.iter().position(|signature| signature.name == info.name);
        let Some(number) = number.filter(|_| options.check_kernels) else {
            return Ok(Some(Native {
                callee: callee(&found),
                kind: CalleeKind::Kernel,
                signature: None,
                value: found,
            }));
        };
        // Calls by bytecode are checked by the machine, or known to fit; the function value checks all others.
        let signature = &image.kernels[number];
        let callee = callee(signature.guarded(&found).unwrap_or(&found));
        let (value, signature) = (signature.guard(found), Some(number as u32));
        return Ok(Some(Native { callee, kind: CalleeKind::Kernel, signature, value }));
    }
    if let Some(builtin) = builtins::find(&info.name) {
        let (call, handle) = builtin.safe_call();
        let (callee, value) = (Callee { call, handle }, builtin.function());
        return Ok(Some(Native { callee, kind: CalleeKind::Builtin, signature: None, value }));
    }
    let value = registry::get(&info.name).unwrap_or_else(|| missing_function(&info.name));
    Ok(Some(Native { callee: callee(&value), kind: CalleeKind::Registered, signature: None, value }))
}

fn callee(value: &Function) -> Callee {
    Callee { call: value.safe_call(), handle: value.handle() }
}

/// Placeholder for a function that was not found: programs may name functions they never call.
fn missing_function(name: &str) -> Function {
    failing_function(format!(
        "function `{name}` is neither a kernel of the program nor a builtin, and nobody registered it"
    ))
}

/// A function that always fails.
fn failing_function(message: String) -> Function {
    Function::new(move |_| Err(Error::value(message.clone())))
}

/// The function as a value.
fn function_value(id: u64, index: usize, native: &Option<Native>) -> Any {
    match native {
        Some(native) => native.value.clone().into(),
        None => Closure::new(id, index as u32, Vec::new()).into(),
    }
}

/// The machine code of functions that have some, after checking its assumptions.
fn load_machine_code(
    image: &Image,
    options: &Options,
    constants: &[Any],
    find: impl Fn(&str) -> Result<Option<MachineCode>, Error>,
) -> Result<Vec<Option<MachineCode>>, Error> {
    let of = |info: &FunctionInfo| match info.kind {
        FunctionKind::Compiled if info.start < info.end => match find(&info.name)? {
            None => Err(Error::value(format!("function `{}` is compiled, but its machine code is missing", info.name))),
            found => Ok(found),
        },
        _ => Ok(None),
    };
    let code = image.executable.functions.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    if code.iter().all(Option::is_none) {
        return Ok(code);
    }
    if options.devices[0].kind != device_kind::CPU {
        let device = options.devices[0];
        return Err(Error::value(format!("the program's functions are compiled for the CPU, not {device}")));
    }
    let is_usable = |tensor: &Tensor| tensor.is_contiguous() && tensor.is_aligned();
    match constants.iter().position(|value| value.get::<&Tensor>().is_some_and(|tensor| !is_usable(tensor))) {
        None => Ok(code),
        Some(index) => Err(Error::value(format!("constant {index} is not where compiled functions expect it"))),
    }
}

/// Size of the tensors in the constant pool.
fn constant_bytes(image: &Image) -> usize {
    let bytes = |constant: &Constant| if let Constant::Tensor(tensor) = constant { tensor.nbytes() } else { 0 };
    image.executable.constants.iter().map(bytes).fold(0, usize::saturating_add)
}

/// The constant pool. Tensors are on `device` unless their memory scope says otherwise.
fn load_constants(image: &Image, device: Device) -> Result<Vec<Any>, Error> {
    let load = |constant: &Constant| match constant {
        Constant::Tensor(tensor) => Ok(Tensor::to_device(tensor, device)?.constant().into()),
        other => Ok(Any::from(other)),
    };
    image.executable.constants.iter().map(load).collect()
}
