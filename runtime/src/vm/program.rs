//! A program: an image that is ready to run.
use super::Options;
use super::decode::{self, Body, CheckedKernel, Native, Plan, Plans, Tables};
use super::instrument::Instrument;
use super::machine::Machine;
use super::native::{MachineCode, NativeFunction};
use crate::device::{self, graph_state::GraphStates};
use crate::executable::FunctionInfo;
use crate::executable::compact::{ArenaPlan, Folding};
use crate::ffi::Error;
use crate::fork::{self, ForkHandler, Guards, Stage};
use crate::image::Image;
use crate::memory::{Allocator, Cache, MemoryStats, Reservation, workspace};
use crate::sorted_map::SortedMap;
use crate::value::{Any, Closure, Device, Tensor};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

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
    pub(super) machine_code: Vec<Option<MachineCode>>,
    /// By index of the function table; `None` for native functions.
    pub(super) bodies: Vec<Option<Body>>,
    /// The unfolded bodies, with one step per instruction: created when an instrument is set.
    pub(super) plain: OnceLock<Vec<Option<Body>>>,
    /// The functions as values.
    pub(super) values: Vec<Any>,
    pub(super) constants: Vec<Any>,
    pub(super) plans: Vec<Plan>,
    pub(super) arenas: Vec<ArenaPlan>,
    pub(super) instrument: RwLock<Option<Arc<dyn Instrument>>>,
    pub(super) is_watched: AtomicBool,
    /// True if one of its devices is not the host.
    pub(super) is_on_device: bool,
    /// One per device; the host's is the last.
    pub(super) allocators: Vec<Arc<Allocator>>,
    /// Idle machines.
    pub(super) machines: Mutex<Vec<Machine>>,
    /// What calls that ended keep for graphs.
    pub(super) graphs: GraphStates,
    /// Constants that were computed at first use, by their number in the program.
    pub(super) prepared: RwLock<HashMap<i64, Tensor>>,
    /// Reserves the model's own memory.
    pub(super) _size: Reservation,
}

// SAFETY: raw pointers in a program are handles of native functions, which any thread may call, and addresses in its
// own immutable parts.
unsafe impl Send for Program {}
// SAFETY: as above; mutable state is behind locks.
unsafe impl Sync for Program {}

/// The programs of the process by their IDs, for forks, which take all their locks.
pub(super) struct Programs(Mutex<SortedMap<u64, Weak<Program>>>);

static ALL: Programs = Programs(Mutex::new(SortedMap::new()));

impl Programs {
    fn lock(&self) -> MutexGuard<'_, SortedMap<u64, Weak<Program>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a program.
    pub(super) fn add(program: &Arc<Program>) {
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        fork::register(&REGISTERED, Stage::Programs, &ALL);
        ALL.lock().insert(program.id, Arc::downgrade(program));
    }

    /// The program with an identity, if it still exists.
    pub(super) fn find(id: u64) -> Option<Arc<Program>> {
        ALL.lock().get(&id).and_then(Weak::upgrade)
    }
}

impl ForkHandler for Programs {
    /// Locks all programs, and keeps programs from being created and dropped.
    fn take_locks(&'static self, guards: &mut Guards) {
        let all = self.lock();
        let programs: Vec<Arc<Program>> = all.values().filter_map(Weak::upgrade).collect();
        guards.push(all);
        for owner in programs {
            // SAFETY: the guards keep the program until its locks are released.
            let program: &'static Program = unsafe { &*Arc::as_ptr(&owner) };
            guards.keep(owner);
            guards.push(program.idle_machines());
            guards.push(program.graphs.lock());
            guards.push(program.instrument.write().unwrap_or_else(PoisonError::into_inner));
            guards.push(program.prepared.write().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Cache for Program {
    /// Releases this thread's scratch memory, or what an idle machine or graphs retain.
    fn release_idle(&self) -> bool {
        workspace::release_idle() || self.idle_machines().iter_mut().any(Machine::trim) || self.graphs.release()
    }
}

/// The allocator of a device by its number in a program; -1 is the host, which is the last one.
pub(super) fn numbered(allocators: &[Arc<Allocator>], device: i64) -> Result<&Arc<Allocator>, Error> {
    let index = if device == -1 { allocators.len() - 1 } else { usize::try_from(device).unwrap_or(usize::MAX) };
    allocators.get(index).ok_or_else(|| Error::value(format!("the program has no device {device}")))
}

impl Drop for Program {
    fn drop(&mut self) {
        ALL.lock().remove(&self.id);
    }
}

impl Program {
    /// Decodes all functions of bytecode.
    pub(super) fn decode(&self, folding: Folding, plans: &mut Plans) -> Vec<Option<Body>> {
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

    /// Waits for the devices; returns an error that work on them reported.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        let devices = self.allocators.iter().map(|allocator| allocator.device()).filter(|device| !device.is_host());
        // All of them, so that none has work left after an error.
        devices.map(|device| device::find(device)?.synchronize()).fold(Ok(()), Result::and)
    }

    /// The allocator of a device of the program; -1 is the host.
    pub(super) fn allocator(&self, device: i64) -> Result<&Arc<Allocator>, Error> {
        numbered(&self.allocators, device)
    }

    /// The device that the module of the program names: number `id` of its kind among those of the program. A device of
    /// another kind is that of the machine.
    pub(super) fn named_device(&self, named: Device) -> Result<Device, Error> {
        let mut same_kind = self.options.devices.iter().filter(|device| device.kind == named.kind).peekable();
        if named.is_host() || same_kind.peek().is_none() {
            return Ok(named);
        }
        let found = usize::try_from(named.id).ok().and_then(|id| same_kind.nth(id));
        found.copied().ok_or_else(|| Error::value(format!("the program has no device {named}")))
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
        self.graphs.release();
        self.allocators.iter().for_each(|allocator| allocator.clear());
    }

    /// The closure, if it belongs to this program.
    pub(super) fn own_closure<'a>(&self, callee: &'a Any) -> Result<&'a Closure, Error> {
        match callee.get::<&Closure>() {
            Some(closure) if closure.program() == self.id => Ok(closure),
            Some(_) => Err(Error::value("the closure belongs to another program")),
            None => Err(Error::type_error(format!("{callee} is not a function"))),
        }
    }

    /// Fails unless a function takes `given` arguments, after which a closure has `bound` others.
    pub(super) fn check_arity(&self, function: usize, body: &Body, given: usize, bound: usize) -> Result<(), Error> {
        if given + bound == body.num_args {
            return Ok(());
        }
        let FunctionInfo { name, param_names, .. } = &self.image.executable.functions[function];
        let expected = body.num_args.saturating_sub(bound);
        let plural = if expected == 1 { "" } else { "s" };
        let names = &param_names[..expected.min(param_names.len())];
        let named = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        Err(Error::type_error(format!("function `{name}` takes {expected} argument{plural}{named}, not {given}")))
    }

    pub(super) fn name(&self, function: u32) -> &str {
        &self.image.executable.functions[function as usize].name
    }

    /// Returns true if an instrument is set.
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    pub(super) fn idle_machines(&self) -> MutexGuard<'_, Vec<Machine>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
