//! Virtual machines: models that are ready to run.
use crate::error::{infallible, status};
use crate::function::write_result;
use crate::library::hammock_library;
use crate::pointers::{array, reference, text, value, values, write};
use hammock_runtime::image::signature::{Param, Size};
use hammock_runtime::memory::AllocatorKind;
use hammock_runtime::vm::{CallLimits, Interrupt, Options};
use hammock_runtime::{Any, Device, Error, Tuple, Vm, parallel};
use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// A virtual machine with a loaded model. Any number of threads may call it at once. It is reference counted: calls in
/// progress hold a reference.
pub struct hammock_vm(pub(crate) Vm);

/// Returns the virtual machine behind a pointer, with a reference for the duration of a call.
///
/// # Safety
/// `vm` is null or alive.
pub(crate) unsafe fn acquire(vm: *const hammock_vm) -> Result<Arc<hammock_vm>, Error> {
    // SAFETY: as the caller promises; not null, it was made from an `Arc`.
    unsafe {
        reference(vm, "vm")?;
        Arc::increment_strong_count(vm);
        Ok(Arc::from_raw(vm))
    }
}

/// Options of a virtual machine. Zero selects the default.
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

/// Value of `hammock_allocator` in C.
const NAIVE: i32 = 1;

impl hammock_options {
    /// Copies options. Fields that the caller's version of the header lacks are zero.
    ///
    /// # Safety
    /// `given` points to options whose first field is their size.
    unsafe fn copy(given: *const hammock_options) -> Result<hammock_options, Error> {
        // SAFETY: as the caller promises.
        let size = unsafe { (*given).size };
        if !(size_of::<usize>()..=size_of::<hammock_options>()).contains(&size) {
            return Err(Error::value(format!("`options.size` is {size}; set options to HAMMOCK_OPTIONS first")));
        }
        // SAFETY: all zeros are valid options; the caller's are `size` bytes, which is no more than ours.
        unsafe {
            let mut options: hammock_options = std::mem::zeroed();
            (&raw mut options).cast::<u8>().copy_from_nonoverlapping(given.cast(), size);
            Ok(options)
        }
    }

    /// # Safety
    /// `devices` is null or points to `device_count` devices.
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
        options.memory_limit =
            (self.memory_limit != 0).then(|| usize::try_from(self.memory_limit).unwrap_or(usize::MAX));
        set(&mut options.max_depth, self.max_depth);
        set(&mut options.max_stack, self.max_stack);
        Ok(options)
    }
}

/// A time limit in milliseconds; zero means none.
fn timeout(ms: u64) -> Option<Duration> {
    (ms != 0).then(|| Duration::from_millis(ms))
}

/// Loads a model into a new virtual machine. `options` may be null.
///
/// # Safety
/// `library` is null or open; `options` is null or initialized; `vm` is null or valid for writes.
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

/// Releases a virtual machine. Its function values and calls in progress keep their own references.
///
/// # Safety
/// `vm` is null, or was created here and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_free(vm: *mut hammock_vm) {
    if !vm.is_null() {
        // SAFETY: not null, so it was created here and belongs to the caller.
        let vm = unsafe { Arc::from_raw(vm) };
        infallible(|| drop(vm));
    }
}

/// The names of the callable functions: a tuple of strings.
///
/// # Safety
/// `vm` is null or alive; `names` is null or valid for writes.
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
/// `vm` is null or alive; `function` is null or a C string; `names` is null or valid for writes.
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

/// The signature of a function: a tuple of its parameters and results.
///
/// # Safety
/// `vm` is null or alive; `function` is null or a C string; `signature` is null or valid for writes.
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

/// Role, name, type, dtype and shape of a parameter or result.
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
/// `vm` is null or alive; `function` is null or a C string; `args` is null or points to `count` values; `result` is
/// null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_call(
    vm: *const hammock_vm,
    function: *const c_char,
    args: *const Any,
    count: usize,
    result: *mut Any,
) -> c_int {
    // SAFETY: as the caller promises; without an interrupt and a timeout, the machine's options apply.
    unsafe { hammock_vm_call_with(vm, std::ptr::null(), 0, function, args, count, result) }
}

/// Returns a function of the model as a value, which keeps the model alive.
///
/// # Safety
/// `vm` is null or alive; `name` is null or a C string; `function` is null or valid for writes.
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
/// `vm` is null or alive; `callee` is null or a value; `args` is null or points to `count` values; `result` is null or
/// valid for writes.
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
        let (vm, callee) = (acquire(vm)?, value(callee, "callee")?);
        write_result(result, vm.0.invoke(callee, values(args, count, "args")?)?)
    })
}

/// Memory statistics of the model's tensors on device number `device`; the host is the last one.
///
/// # Safety
/// `vm` is null or alive; `memory` is null or valid for writes.
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

/// The model's devices in order of preference: a tuple.
///
/// # Safety
/// `vm` is null or alive; `devices` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_vm_devices(vm: *const hammock_vm, devices: *mut Any) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        let allocators = reference(vm, "vm")?.0.allocators();
        write(devices, "devices", Tuple::new(allocators.iter().map(|one| one.device().into())).into())
    })
}

/// Sets the number of threads for kernels in the whole process; 0 for the number of CPUs.
#[unsafe(no_mangle)]
pub extern "C" fn hammock_set_threads(count: usize) {
    infallible(|| parallel::set_threads(count));
}

/// Runs parallel loops of kernels through `runner` from now on; null for the runtime's own thread pool.
///
/// # Safety
/// As for [`parallel::set_host_pool`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_set_pool(runner: Option<parallel::Runner>, pool: *mut c_void) {
    // SAFETY: as the caller promises.
    infallible(|| unsafe { parallel::set_host_pool(runner, pool) });
}

/// Returns cached memory to the devices.
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

/// A handle that stops calls from other threads.
pub struct hammock_interrupt(Interrupt);

/// Creates an interrupt that is not cancelled.
///
/// # Safety
/// `interrupt` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_new(interrupt: *mut *mut hammock_interrupt) -> c_int {
    // SAFETY: as the caller promises.
    status(|| unsafe {
        reference(interrupt, "interrupt")?;
        write(interrupt, "interrupt", Box::into_raw(Box::new(hammock_interrupt(Interrupt::new()))))
    })
}

/// Stops all calls with this interrupt, present and future.
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

/// Returns 1 if the interrupt was cancelled and 0 otherwise.
///
/// # Safety
/// `interrupt` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_is_cancelled(interrupt: *const hammock_interrupt) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { interrupt.as_ref() }.is_some_and(|interrupt| interrupt.0.is_cancelled()).into()
}

/// Releases an interrupt.
///
/// # Safety
/// `interrupt` is null, or was created here and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hammock_interrupt_free(interrupt: *mut hammock_interrupt) {
    if !interrupt.is_null() {
        // SAFETY: not null, so it was boxed here and belongs to the caller.
        let interrupt = unsafe { Box::from_raw(interrupt) };
        infallible(|| drop(interrupt));
    }
}

/// The arguments of a function, with their tensors on the devices of its parameters.
pub(crate) fn placed<'a>(vm: &Vm, function: &str, args: &'a [Any]) -> Result<Cow<'a, [Any]>, Error> {
    match vm.options().devices[0].is_host() {
        true => Ok(args.into()),
        false => Ok(vm.place_arguments(function, args)?.into()),
    }
}

/// Calls a function with an optional interrupt (may be null) and an optional timeout (zero for none).
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
        let (vm, function) = (acquire(vm)?, text(function, "function")?);
        let interrupt = interrupt.as_ref().map(|interrupt| interrupt.0.clone());
        let limits = CallLimits { interrupt, timeout: timeout(timeout_ms) };
        let args = placed(&vm.0, function, values(args, count, "args")?)?;
        write_result(result, vm.0.call_with(&limits, function, &args)?)
    })
}
