//! Virtual machines: a model ready to run.
use crate::error::{quietly, status};
use crate::function::give;
use crate::library::hammock_library;
use crate::pointers::{array, reference, text, value, values, write};
use hammock_runtime::image::signature::{Param, Size};
use hammock_runtime::memory::AllocatorKind;
use hammock_runtime::vm::{CallLimits, Interrupt, Options};
use hammock_runtime::{Any, Device, Error, Tuple, Vm, parallel};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// A model ready to run. Any thread may call it, several at a time. It is counted by those who have it and by the calls under
/// way, which end before it does.
pub struct hammock_vm(pub(crate) Vm);

/// The machine at an address, held for a call.
///
/// # Safety
/// `vm` is null or alive.
pub(crate) unsafe fn held(vm: *const hammock_vm) -> Result<Arc<hammock_vm>, Error> {
    // SAFETY: as the caller promises; not null, it was made from an `Arc`.
    unsafe {
        reference(vm, "vm")?;
        Arc::increment_strong_count(vm);
        Ok(Arc::from_raw(vm))
    }
}

/// How a model runs. Zero means the usual.
#[repr(C)]
pub struct hammock_options {
    size: usize,
    devices: *const Device,
    device_count: usize,
    allocator: i32,
    unchecked_kernels: i32,
    memory_limit: u64,
    max_depth: u64,
    max_stack: u64,
    timeout_ms: u64,
    flush_denormals: i32,
}

/// Memory of one device, in bytes.
#[repr(C)]
pub struct hammock_memory {
    used: u64,
    peak: u64,
    pooled: u64,
}

/// `hammock_allocator` in C.
const NAIVE: i32 = 1;

impl hammock_options {
    /// The options at an address, those that the caller's header does not know left at zero.
    ///
    /// # Safety
    /// `given` leads to options whose first field is their size.
    unsafe fn copy(given: *const hammock_options) -> Result<hammock_options, Error> {
        // SAFETY: as the caller promises.
        let size = unsafe { (*given).size };
        if !(size_of::<usize>()..=size_of::<hammock_options>()).contains(&size) {
            return Err(Error::value(format!("`options.size` is {size}; set options to HAMMOCK_OPTIONS first")));
        }
        // SAFETY: all zeros are options; the caller's are `size` bytes, which is no more than ours.
        unsafe {
            let mut options: hammock_options = std::mem::zeroed();
            (&raw mut options).cast::<u8>().copy_from_nonoverlapping(given.cast(), size);
            Ok(options)
        }
    }

    /// # Safety
    /// `devices` is null or leads to `device_count` devices.
    unsafe fn read(&self) -> Result<Options, Error> {
        let mut options = Options::default();
        let set = |option: &mut usize, given: u64| {
            if given != 0 {
                *option = usize::try_from(given).unwrap_or(usize::MAX);
            }
        };
        // SAFETY: as the caller promises.
        let devices = unsafe { array(self.devices, self.device_count, "devices") }?;
        if !devices.is_empty() {
            options.devices = devices.to_vec();
        }
        options.allocator = if self.allocator == NAIVE { AllocatorKind::Naive } else { AllocatorKind::Pooled };
        options.check_kernels = self.unchecked_kernels == 0;
        options.flush_denormals = self.flush_denormals != 0;
        options.timeout = timeout(self.timeout_ms);
        set(&mut options.memory_limit, self.memory_limit);
        set(&mut options.max_depth, self.max_depth);
        set(&mut options.max_stack, self.max_stack);
        Ok(options)
    }
}

/// A limit on the time of calls; zero is none.
fn timeout(ms: u64) -> Option<Duration> {
    (ms != 0).then(|| Duration::from_millis(ms))
}

/// Makes a model ready to run. `options` may be null.
///
/// # Safety
/// `library` is null or open; `options` is null or set; `vm` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_new(
    library: *const hammock_library,
    options: *const hammock_options,
    vm: *mut *mut hammock_vm,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let library = reference(library, "library")?;
        if vm.is_null() {
            return Err(Error::value("`vm` is null"));
        }
        let options = if options.is_null() { Options::default() } else { hammock_options::copy(options)?.read()? };
        let made = Vm::from_library(&library.0, options)?;
        write(vm, "vm", Arc::into_raw(Arc::new(hammock_vm(made))).cast_mut())
    })
}

/// Gives up a machine. Functions taken from it go on, and so do calls under way.
///
/// # Safety
/// `vm` is null or was made here and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_free(vm: *mut hammock_vm) {
    if !vm.is_null() {
        // SAFETY: not null, so it was made here and is the caller's to give up.
        let vm = unsafe { Arc::from_raw(vm) };
        quietly(|| drop(vm));
    }
}

/// The names of the functions that may be called: a tuple of strings.
///
/// # Safety
/// `vm` is null or alive; `names` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_functions(vm: *const hammock_vm, names: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let functions: Vec<Any> = reference(vm, "vm")?.0.functions().map(Any::from).collect();
        write(names, "names", Tuple::new(functions.into_iter()).into())
    })
}

/// The names of a function's parameters: a tuple of strings.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `names` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_parameters(
    vm: *const hammock_vm,
    function: *const c_char,
    names: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let parameters = reference(vm, "vm")?.0.parameters(text(function, "function")?)?;
        let parameters: Vec<Any> = parameters.iter().map(|name| Any::from(name.as_str())).collect();
        write(names, "names", Tuple::new(parameters.into_iter()).into())
    })
}

/// What a function takes and gives: a tuple of its parameters and results.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `signature` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_signature(
    vm: *const hammock_vm,
    function: *const c_char,
    signature: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let found = reference(vm, "vm")?.0.signature(text(function, "function")?)?;
        let entries: Vec<Any> = found.params.iter().chain(&found.results).map(entry).collect();
        write(signature, "signature", Tuple::new(entries.into_iter()).into())
    })
}

/// Role, name, type, dtype and sizes of a parameter or result.
fn entry(param: &Param) -> Any {
    let size = |size: &Size| match size {
        Size::Static(size) => Any::from(*size),
        Size::Symbol(text) => text.as_str().into(),
    };
    let sizes = param.ty.sizes().map(|sizes| Any::from(Tuple::new(sizes.iter().map(size))));
    let dtype = param.ty.dtype().map(Any::from);
    let text = param.ty.to_string();
    let fields = [
        param.role.name().into(),
        param.name.as_str().into(),
        text.as_str().into(),
        dtype.unwrap_or_default(),
        sizes.unwrap_or_default(),
    ];
    Tuple::new(fields.into_iter()).into()
}

/// Calls a function by name. `result` may be null.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `args` is null or leads to `count` values; `result` is null
/// or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_call(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
    result: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises; without an interrupt and a time the call ends as the machine's options say.
    unsafe { hammock_vm_call_with(vm, std::ptr::null(), 0, function, args, count, result) }
}

/// A function of the model as a value, which keeps the model alive.
///
/// # Safety
/// `vm` is null or alive; `name` is null or a C string; `function` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_function(vm: *const hammock_vm, name: *const c_char, function: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, name) = (reference(vm, "vm")?, text(name, "name")?);
        let found = vm.0.function(name).ok_or_else(|| Error::value(format!("there is no function `{name}`")))?;
        write(function, "function", found.into())
    })
}

/// Calls a function or closure that the model returned. `result` may be null.
///
/// # Safety
/// `vm` is null or alive; `callee` is null or a value; `args` is null or leads to `count` values; `result` is null or
/// has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_invoke(
    vm: *const hammock_vm,
    callee: *const Any,
    args: *const Any,
    count: usize,
    result: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, callee) = (held(vm)?, value(callee, "callee")?);
        give(result, vm.0.invoke(callee, values(args, count, "args")?)?)
    })
}

/// What the model's tensors take on its device number `device`; the host is the last.
///
/// # Safety
/// `vm` is null or alive; `memory` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_memory(vm: *const hammock_vm, device: usize, memory: *mut hammock_memory) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let vm = &reference(vm, "vm")?.0;
        let count = vm.allocators().len();
        let missing = || Error::new("IndexError", format!("the machine has {count} devices, none is number {device}"));
        let stats = vm.memory_of(device).ok_or_else(missing)?;
        let [used, peak, pooled] = [stats.used, stats.peak, stats.pooled].map(|bytes| bytes as u64);
        write(memory, "memory", hammock_memory { used, peak, pooled })
    })
}

/// The model's devices, most wanted first: a tuple.
///
/// # Safety
/// `vm` is null or alive; `devices` is null or has room for a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_devices(vm: *const hammock_vm, devices: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let allocators = reference(vm, "vm")?.0.allocators();
        write(devices, "devices", Tuple::new(allocators.iter().map(|one| one.device().into())).into())
    })
}

/// How many threads kernels may use, in the whole process; 0 for as many as the machine has.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_set_threads(count: usize) {
    quietly(|| parallel::set_threads(count));
}

/// Runs parallel loops of kernels through `runner` from now on; null for the runtime's own threads.
///
/// # Safety
/// As for [`parallel::set_caller_pool`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_set_pool(runner: Option<parallel::Runner>, pool: *mut c_void) {
    // SAFETY: as the caller promises.
    quietly(|| unsafe { parallel::set_caller_pool(runner, pool) });
}

/// Gives memory that is kept for reuse back to the devices.
///
/// # Safety
/// `vm` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_trim(vm: *const hammock_vm) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(vm, "vm")?.0.trim();
        Ok(())
    })
}

/// Stops calls from other threads.
pub struct hammock_interrupt(Interrupt);

/// Makes an interrupt that stops nothing yet.
///
/// # Safety
/// `interrupt` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_new(interrupt: *mut *mut hammock_interrupt) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(interrupt, "interrupt")?;
        write(interrupt, "interrupt", Box::into_raw(Box::new(hammock_interrupt(Interrupt::new()))))
    })
}

/// Stops the calls it was given to, now and from now on.
///
/// # Safety
/// `interrupt` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_cancel(interrupt: *const hammock_interrupt) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(interrupt, "interrupt")?.0.cancel();
        Ok(())
    })
}

/// Was it cancelled? 1 or 0.
///
/// # Safety
/// `interrupt` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_is_cancelled(interrupt: *const hammock_interrupt) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { interrupt.as_ref() }.is_some_and(|interrupt| interrupt.0.is_cancelled()).into()
}

/// Gives up an interrupt.
///
/// # Safety
/// `interrupt` is null or was made here and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_free(interrupt: *mut hammock_interrupt) {
    if !interrupt.is_null() {
        // SAFETY: not null, so it was boxed here and is the caller's to give up.
        let interrupt = unsafe { Box::from_raw(interrupt) };
        quietly(|| drop(interrupt));
    }
}

/// Calls a function that `interrupt`, if it is not null, may stop, and that may take `timeout_ms`, if that is not zero.
///
/// # Safety
/// As for [`hammock_vm_call`]; `interrupt` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_call_with(
    vm: *const hammock_vm,
    interrupt: *const hammock_interrupt,
    timeout_ms: u64,
    function: *const c_char,
    args: *const Any,
    count: usize,
    result: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let (vm, function) = (held(vm)?, text(function, "function")?);
        let interrupt = interrupt.as_ref().map(|interrupt| interrupt.0.clone());
        let limits = CallLimits { interrupt, timeout: timeout(timeout_ms) };
        give(result, vm.0.call_with(&limits, function, values(args, count, "args")?)?)
    })
}
