//! Device functions, which are loaded once per device.
use super::{Cuda, driver};
use crate::device::launch::{DeviceKernel, DeviceMessage, ErrorRecord};
use crate::ffi::{Error, kind};
use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUjit_option, CUresult};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Space for the messages of the driver's compiler in bytes.
const LOG_BYTES: usize = 4096;

/// The functions of a device. Modules stay loaded as long as the process lives: work that uses them may be queued.
#[derive(Default)]
pub(super) struct Functions {
    /// By the address of the kernel's record. Another library may have another record there later.
    by_address: RwLock<HashMap<usize, Arc<DeviceFunction>>>,
    /// By the hash of their code.
    modules: Mutex<HashMap<[u64; 2], Module>>,
}

/// A loaded module.
#[derive(Clone, Copy)]
struct Module(sys::CUmodule);

/// A loaded function.
pub(super) struct DeviceFunction {
    pub(super) name: CString,
    hash: [u64; 2],
    pub(super) function: sys::CUfunction,
    messages: Vec<Message>,
    /// Sizes of its parameters in bytes, if the driver says them and none is larger than a word.
    param_bytes: Option<Vec<usize>>,
    /// Dynamic shared memory that it may use, in bytes.
    dynamic_shared: AtomicU32,
}

// SAFETY: any thread may use the driver's objects.
unsafe impl Send for DeviceFunction {}
// SAFETY: as above.
unsafe impl Sync for DeviceFunction {}
// SAFETY: as above.
unsafe impl Send for Module {}

/// A message of an error that the function can report.
struct Message {
    kind: String,
    /// Texts before, between and after the values.
    texts: Vec<String>,
}

impl Cuda {
    /// Returns the function of a kernel's record, which is loaded at first use.
    ///
    /// # Safety
    /// The record and what it points to are as [`DeviceKernel`] documents.
    pub(super) unsafe fn function(&self, kernel: &DeviceKernel) -> Result<Arc<DeviceFunction>, Error> {
        let address = (&raw const *kernel).addr();
        // SAFETY: as the caller promises.
        let name = unsafe { CStr::from_ptr(kernel.name) };
        let known = &self.functions.by_address;
        if let Some(function) = known.read().unwrap_or_else(PoisonError::into_inner).get(&address)
            && function.hash == kernel.hash
            && *function.name == *name
        {
            return Ok(function.clone());
        }
        // SAFETY: as the caller promises.
        let function = Arc::new(unsafe { self.load(kernel, name) }?);
        known.write().unwrap_or_else(PoisonError::into_inner).insert(address, function.clone());
        Ok(function)
    }

    /// # Safety
    /// As for [`Cuda::function`].
    unsafe fn load(&self, kernel: &DeviceKernel, name: &CStr) -> Result<DeviceFunction, Error> {
        let _entered = self.enter()?;
        // SAFETY: as the caller promises.
        let module = unsafe { self.module(kernel, name) }?;
        let mut function = null_mut();
        // SAFETY: the module is loaded, the name a C string, and the address that of a variable.
        let status = unsafe { sys::cuModuleGetFunction(&mut function, module.0, name.as_ptr()) };
        self.check(status, || format!("find the device function `{}`", name.to_string_lossy()))?;
        let param_bytes = param_bytes(function)?;
        let free = self.limits.default_shared - i64::from(kernel.static_shared);
        Ok(DeviceFunction {
            name: name.to_owned(),
            hash: kernel.hash,
            function,
            // SAFETY: as the caller promises.
            messages: unsafe { messages(kernel) },
            param_bytes,
            dynamic_shared: AtomicU32::new(u32::try_from(free).unwrap_or(0)),
        })
    }

    /// Loads the module of a function, unless it is loaded.
    ///
    /// # Safety
    /// As for [`Cuda::function`].
    unsafe fn module(&self, kernel: &DeviceKernel, name: &CStr) -> Result<Module, Error> {
        // Held while the module is loaded, so that it is loaded once.
        let mut modules = self.functions.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&kernel.hash) {
            return Ok(*module);
        }
        // SAFETY: as the caller promises.
        let ptx = unsafe { std::slice::from_raw_parts(kernel.ptx, kernel.ptx_bytes as usize) };
        let name = name.to_string_lossy();
        self.check_target(&String::from_utf8_lossy(ptx), &name)?;
        let text = CString::new(ptx);
        let text = text.map_err(|_| Error::value(format!("the code of the device function `{name}` is no text")))?;
        let module = self.compile(&text, &name)?;
        modules.insert(kernel.hash, module);
        Ok(module)
    }

    /// Compiles PTX by the driver's compiler.
    fn compile(&self, ptx: &CStr, name: &str) -> Result<Module, Error> {
        let (mut module, mut log) = (null_mut(), vec![0u8; LOG_BYTES]);
        let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
        // SAFETY: the text is a C string; there are as many values as options; the log has that many bytes.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                ptx.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match self.check(status, || format!("load the code of the device function `{name}`")) {
            Ok(()) => Ok(Module(module)),
            Err(error) => Err(self.explain(status, &error, driver::text(&log).trim())),
        }
    }

    /// Adds what the driver's compiler says, and advice.
    fn explain(&self, status: CUresult, error: &Error, log: &str) -> Error {
        let mut message = error.message().to_owned();
        if !log.is_empty() {
            message += &format!(": {log}");
        }
        if status == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
            let version = driver::Driver::get().map(|driver| driver.version()).unwrap_or_default();
            message += &format!(": the NVIDIA driver, for CUDA {version}, is older than the code; update it");
        }
        Error::new(error.kind().to_owned(), message)
    }

    /// Allows a function to use more dynamic shared memory than it may by default.
    pub(super) fn reserve_shared(&self, function: &DeviceFunction, bytes: u32) -> Result<(), Error> {
        if bytes <= function.dynamic_shared.load(Relaxed) {
            return Ok(());
        }
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded.
        let status = unsafe { sys::cuFuncSetAttribute(function.function, attribute, bytes as i32) };
        self.check(status, || {
            format!("give {bytes} bytes of shared memory to the device function `{}`", function.text())
        })?;
        function.dynamic_shared.fetch_max(bytes, Relaxed);
        Ok(())
    }
}

/// Sizes of a function's parameters in bytes, if the driver says them and none is larger than a word.
fn param_bytes(function: sys::CUfunction) -> Result<Option<Vec<usize>>, Error> {
    if !driver::Driver::get()?.has_graphs() {
        return Ok(None);
    }
    let size = |index| {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the function is loaded, and the addresses are those of variables.
        let status = unsafe { sys::cuFuncGetParamInfo(function, index, &mut offset, &mut bytes) };
        (status == CUresult::CUDA_SUCCESS).then_some(bytes)
    };
    // The driver refuses the index after the last one.
    let sizes: Vec<usize> = (0..).map_while(size).collect();
    Ok(sizes.iter().all(|bytes| *bytes <= size_of::<u64>()).then_some(sizes))
}

/// # Safety
/// As for [`Cuda::function`].
unsafe fn messages(kernel: &DeviceKernel) -> Vec<Message> {
    if kernel.messages.is_null() {
        return Vec::new();
    }
    // SAFETY: as the caller promises.
    let messages = unsafe { std::slice::from_raw_parts(kernel.messages, kernel.message_count as usize) };
    // SAFETY: the texts are C strings.
    let text = |text: *const std::ffi::c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let message = |message: &DeviceMessage| Message {
        kind: text(message.kind),
        texts: message.texts.iter().take_while(|part| !part.is_null()).map(|part| text(*part)).collect(),
    };
    messages.iter().map(message).collect()
}

impl DeviceFunction {
    /// Returns true if it takes an error record and a token.
    pub(super) fn reports_errors(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Copies of the values of its arguments, if the sizes of its parameters are known.
    ///
    /// # Safety
    /// The arguments are addresses of values for its parameters.
    pub(super) unsafe fn copy_args(&self, args: &[*mut c_void]) -> Option<Box<[u64]>> {
        let sizes = self.param_bytes.as_ref().filter(|sizes| sizes.len() == args.len())?;
        let copy = |(arg, bytes): (&*mut c_void, &usize)| {
            let mut value = 0u64;
            // SAFETY: as the caller promises; no parameter is larger than the word.
            unsafe { (&raw mut value).cast::<u8>().copy_from_nonoverlapping(arg.cast(), *bytes) };
            value
        };
        Some(args.iter().zip(sizes).map(copy).collect())
    }

    /// Its name, for messages.
    pub(super) fn text(&self) -> std::borrow::Cow<'_, str> {
        self.name.to_string_lossy()
    }

    /// The error that a record says.
    pub(super) fn error(&self, record: &ErrorRecord) -> Error {
        let Some(message) = self.messages.get(record.message as usize) else {
            let (name, number) = (self.text(), record.message);
            return Error::new(kind::INTERNAL, format!("device function `{name}` reported the unknown error {number}"));
        };
        let mut text = String::new();
        for (i, part) in message.texts.iter().enumerate() {
            if i > 0 {
                text += &record.values[i - 1].to_string();
            }
            text += part;
        }
        Error::new(message.kind.clone(), text)
    }
}
