//! Loading of programs.
use super::Options;
use super::builtins;
use super::decode::{Callee, Native, Plans};
use super::instrument::CalleeKind;
use super::native::{MachineCode, NOT_NATIVE};
use super::program::{Program, Programs, numbered};
use crate::device::find;
use crate::executable::compact::Folding;
use crate::executable::{Constant, FunctionInfo, FunctionKind};
use crate::ffi::{Error, kind, launch};
use crate::image::{Image, KernelSignature};
use crate::memory::{Allocator, Cache};
use crate::registry;
use crate::value::{Any, Closure, Device, Function, Tensor, device_kind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Program {
    /// Loads an image; the file that it comes from has `size` bytes, or 0.
    pub(super) fn load(
        image: Arc<Image>,
        size: usize,
        mut options: Options,
        kernel: &dyn Fn(&str) -> Result<Option<Function>, Error>,
        machine_code: &dyn Fn(&str) -> Result<Option<MachineCode>, Error>,
    ) -> Result<Arc<Program>, Error> {
        if options.devices.is_empty() {
            options.devices = default_devices(&image);
        }
        if options.devices.last().is_none_or(|device| !device.is_host()) {
            options.devices.push(Device::CPU);
        }
        check_devices(&image, &options.devices)?;
        let allocator = |device: &Device| {
            let limit =
                options.memory_limit.map_or_else(|| Ok::<_, Error>(find(*device)?.default_memory_limit()), Ok)?;
            Allocator::new(*device, options.allocator, limit)
        };
        let allocators = options.devices.iter().map(allocator).collect::<Result<Vec<_>, _>>()?;
        let size = size.max(constant_bytes(&image));
        let size = allocators[allocators.len() - 1].reserve(size);
        let size = size.map_err(|error| Error::new(kind::MEMORY, format!("the model: {}", error.message())))?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let table = &image.executable.functions;
        let shared: Arc<[Arc<Allocator>]> = allocators.clone().into();
        let natives = table.iter().map(|info| resolve(info, &image, &options, &shared, kernel));
        let natives = natives.collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Any> = natives.iter().enumerate().map(|(i, native)| function_value(id, i, native)).collect();
        let constants = load_constants(&image, &allocators)?;
        let machine_code = load_machine_code(&image, &options, &constants, machine_code)?;
        let callee = |native: &Option<Native>| native.as_ref().map_or(NOT_NATIVE, |native| native.callee);
        let callees = natives.iter().map(callee).collect();
        let (plain, machines, graphs, instrument, is_watched, prepared) = Default::default();
        let (bodies, plans, arenas) = (Vec::new(), Vec::new(), Vec::new());
        let is_on_device = options.devices.iter().any(|device| !device.is_host());
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
            graphs,
            instrument,
            is_watched,
            is_on_device,
            prepared,
            _size: size,
        };
        let mut plans = Plans::default();
        program.bodies = program.decode(Folding::Full, &mut plans);
        (program.plans, program.arenas) = (plans.list, plans.arenas);
        let program = Arc::new(program);
        Programs::add(&program);
        let cache: Weak<dyn Cache> = Arc::<Program>::downgrade(&program);
        program.allocators.iter().for_each(|allocator| allocator.set_cache(cache.clone()));
        Ok(program)
    }
}

/// The devices that a program runs on by default: as many CUDA devices as it uses.
fn default_devices(image: &Image) -> Vec<Device> {
    let has_device_kernels = image.kernels.iter().any(|kernel| !kernel.device.is_host());
    let count = image.placement.device_count.max(u32::from(has_device_kernels));
    (0..count).filter_map(|id| i32::try_from(id).ok()).map(Device::cuda).collect()
}

/// Checks that the program has kernels for its first device, if it has any, and devices for all of its kernels and tensors.
fn check_devices(image: &Image, devices: &[Device]) -> Result<(), Error> {
    let (count, given) =
        (image.placement.device_count as usize, devices.iter().filter(|device| !device.is_host()).count());
    if given < count && !devices[0].is_host() {
        let example: Vec<String> = (0..count).map(|id| format!("cuda:{id}")).collect();
        let message = format!("the program uses {count} devices, and has {given} to run on; give it all, such as");
        return Err(Error::value(format!("{message} {}", example.join(","))));
    }
    let (first, is_for) = (devices[0], |kernel: &KernelSignature, device: Device| {
        kernel.device.kind == device.kind || kernel.device.is_host() && device.is_host()
    });
    let elsewhere = |kernel: &&KernelSignature| !devices.iter().any(|device| is_for(kernel, *device));
    let kind = match image.kernels.iter().find(elsewhere) {
        Some(_) => "CUDA devices",
        None if !image.kernels.is_empty() && !image.kernels.iter().any(|kernel| is_for(kernel, first)) => "the CPU",
        None => return Ok(()),
    };
    Err(Error::value(format!("the program's kernels are compiled for {kind}, and it cannot run on {first}")))
}

/// Resolves an entry of the function table; `None` for bytecode.
fn resolve(
    info: &FunctionInfo,
    image: &Image,
    options: &Options,
    allocators: &Arc<[Arc<Allocator>]>,
    kernel: &dyn Fn(&str) -> Result<Option<Function>, Error>,
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
        let found = match signature.device.is_host() {
            true => found,
            false => on_device(signature.guarded(&found).unwrap_or(&found), signature.device, allocators),
        };
        let callee = callee(signature.guarded(&found).unwrap_or(&found));
        let (value, signature) = (signature.guard(found), Some(number as u32));
        return Ok(Some(Native { callee, kind: CalleeKind::Kernel, signature, value }));
    }
    if let Some(builtin) = builtins::find(&info.name) {
        let (call, handle) = builtin.safe_call();
        let (callee, value) = (Callee { call, handle }, builtin.function());
        return Ok(Some(Native { callee, kind: CalleeKind::Builtin, signature: None, value }));
    }
    let value = match registry::get(&info.name) {
        Some(registered) => registered,
        None => match builtins::missing_feature(&info.name) {
            Some(feature) => return Err(left_out(&info.name, feature)),
            None => missing_function(&info.name),
        },
    };
    Ok(Some(Native { callee: callee(&value), kind: CalleeKind::Registered, signature: None, value }))
}

/// Wraps a kernel for other devices than the host: it runs on the device of its tensors.
fn on_device(kernel: &Function, device: Device, allocators: &Arc<[Arc<Allocator>]>) -> Function {
    let (kernel, allocators) = (kernel.clone(), allocators.clone());
    Function::new(move |args| launch::call_on_device(&kernel, args, launch::device_of(args, device), &allocators))
}

fn callee(value: &Function) -> Callee {
    Callee { call: value.safe_call(), handle: value.handle() }
}

fn left_out(name: &str, feature: &str) -> Error {
    Error::value(format!(
        "the program calls `{name}`, which this build of the runtime leaves out: build it with the feature `{feature}`"
    ))
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
    find: &dyn Fn(&str) -> Result<Option<MachineCode>, Error>,
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

/// The constant pool. Tensors are on the devices of their placement. Those of another device than the host are copied once,
/// into memory of its allocator; the host uses those of the image.
fn load_constants(image: &Image, allocators: &[Arc<Allocator>]) -> Result<Vec<Any>, Error> {
    let load = |(index, constant): (usize, &Constant)| {
        let Constant::Tensor(tensor) = constant else { return Ok(Any::from(constant)) };
        let allocator = numbered(allocators, image.placement.constant(index))?;
        let placed = match allocator.device().is_host() {
            true => tensor.to_device(allocator.device())?,
            false => tensor.copy_into(allocator)?,
        };
        Ok(placed.constant().into())
    };
    image.executable.constants.iter().enumerate().map(load).collect()
}
