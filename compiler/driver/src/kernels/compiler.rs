//! The kernel compiler: TIR functions to object code, or from the cache.
//!
//! Kernels of the same structure share code, whatever their names, unless messages in the code name something, as those of
//! run-time checks do. Code without names is cached by structure alone, other code by names and locations too. Which of the
//! two applies is known only once a kernel is compiled, so lookups try both keys.

use super::{CompileError, Compiled, SYMBOL, code::Code, location::each_location, lower_for};
use crate::{
    Cache,
    cache::{Bytes, Key},
};
use hammock_codegen::llvm::{self, DeviceEntry, Host, LlvmError, OptLevel};
use hammock_ir::{Function, hash, print::function_text, tir::PrimFunc};
use hammock_kernels::{DeviceFunc, FlatKernel, GpuKernel, arguments, schedule::ParsedPlan};
use hammock_runtime::{Device, image::DeviceFunction};
use hammock_target::{Gpu, Target};

/// Compiles kernels to objects.
#[derive(Clone, Copy)]
pub struct Compiler<'a> {
    /// LLVM's optimization level.
    pub level: OptLevel,
    /// Runtime that loads the objects.
    pub host: Host,
    /// Cache of objects.
    pub cache: Option<&'a Cache>,
}

impl Compiler<'_> {
    /// Compiles a kernel without calls of other kernels, or takes it from the cache.
    pub fn compile(
        self,
        name: &str,
        mut func: PrimFunc,
        options: hammock_kernels::Options<'_>,
    ) -> Result<Compiled, CompileError> {
        let args = arguments(&func);
        let keys = self.cache.map(|cache| (cache, self.keys(name, &mut func, options)));
        let symbol = if self.host == Host::Hammock { SYMBOL } else { name };
        let read = |bytes: Vec<u8>| Code::read(&bytes, args.len(), symbol);
        let cached = keys.as_ref().and_then(|(cache, keys)| keys.iter().find_map(|key| cache.get(key).and_then(read)));
        let is_cached = cached.is_some();
        let code = match cached {
            Some(code) => code,
            None => {
                let kernel = lower_for(name, &func, options)?;
                let kernel = GpuKernel { host: FlatKernel { name: symbol.into(), ..kernel.host }, ..kernel };
                let object = match options.gpu {
                    Some(gpu) => llvm::gpu_object(&kernel, gpu, options.target, self.level),
                    None => llvm::object(&kernel.host, options.target, self.host, self.level),
                };
                let object = object.map_err(|e| code_error(name, &e))?;
                let (has_names, code) = (object.has_names, Code::of(&kernel, object, options.target.threads));
                if let Some((cache, keys)) = &keys {
                    cache.put(&keys[usize::from(has_names)], &code.bytes());
                }
                code
            }
        };
        let Code { written, accesses, temporary_bytes, device, object } = code;
        let function = |entry: DeviceEntry| DeviceFunction {
            kernel: name.to_owned(),
            name: entry.symbol,
            max_threads: entry.max_threads,
            static_shared: entry.shared_bytes,
        };
        let functions = device.into_iter().map(function).collect();
        let device = options.gpu.map_or(Device::CPU, |_| Device::cuda(0));
        let signature = llvm::signature(name, &args, &written, device);
        let (name, device) = (name.to_owned(), functions);
        Ok(Compiled { name, object, signature, accesses, device, temporary_bytes, is_cached })
    }

    /// Compiles kernels as one module of host code, or without a target to one text of device code, or takes it from the
    /// cache. Returns true if it was cached.
    ///
    /// # Errors
    /// If LLVM rejects a kernel.
    pub fn one_module(
        self,
        kernels: &[GpuKernel],
        gpu: Option<&Gpu>,
        host: Option<(&Target, llvm::Emit)>,
    ) -> Result<(Vec<u8>, bool), LlvmError> {
        let compile = || match (gpu, host) {
            (Some(gpu), Some((target, emit))) => llvm::compile_gpu(kernels, gpu, target, self.level, emit),
            (None, Some((target, emit))) => {
                let flat: Vec<FlatKernel> = kernels.iter().map(|kernel| kernel.host.clone()).collect();
                llvm::compile(&flat, target, self.host, self.level, emit)
            }
            (gpu, None) => llvm::ptx(kernels, &gpu.copied().unwrap_or_default(), self.level),
        };
        self.cached(|| self.key_of_all(kernels, gpu, host), compile)
    }

    /// Takes the bytes of a key from the cache, or compiles and adds them. Returns true if they were cached.
    fn cached(
        self,
        key: impl FnOnce() -> Key,
        compile: impl FnOnce() -> Result<Vec<u8>, LlvmError>,
    ) -> Result<(Vec<u8>, bool), LlvmError> {
        let cached = self.cache.map(|cache| (cache, key()));
        if let Some(bytes) = cached.as_ref().and_then(|(cache, key)| cache.get(key)) {
            return Ok((bytes, true));
        }
        let bytes = compile()?;
        if let Some((cache, key)) = cached {
            cache.put(&key, &bytes);
        }
        Ok((bytes, false))
    }

    /// Key of kernels as one module, with their names.
    fn key_of_all(self, kernels: &[GpuKernel], gpu: Option<&Gpu>, host: Option<(&Target, llvm::Emit)>) -> Key {
        let mut facts = Bytes::default();
        [llvm::SOURCES, &llvm::version()].iter().for_each(|text| facts.text(text));
        facts.text(&format!("{:?}", (gpu, host, self.level, self.host)));
        for GpuKernel { host, device, .. } in kernels {
            facts.text(&format!("{:?}", (&host.name, &host.said, &host.signature)));
            add_func(&host.func, &mut facts);
            for DeviceFunc { name, func, max_threads, shared_bytes, follows_checks } in device {
                facts.text(&format!("{:?}", (name, max_threads, shared_bytes, follows_checks)));
                add_func(func, &mut facts);
            }
        }
        Key::of(&facts)
    }

    /// Keys of a kernel: without names, and with the names that its messages may contain.
    fn keys(self, name: &str, func: &mut PrimFunc, options: hammock_kernels::Options<'_>) -> [Key; 2] {
        let hammock_kernels::Options { target, gpu, checked, strict_order, allow_tf32, plan, locate } = options;
        let mut facts = Bytes::default();
        [llvm::SOURCES, &llvm::version()].iter().for_each(|text| facts.text(text));
        facts.text(&format!("{:?}", (target, gpu, checked, strict_order, allow_tf32, self.level, self.host, plan)));
        // The symbol is a name too, and an attribute.
        let symbol = func.attrs.remove("global_symbol");
        hash::kernel(func, &mut facts);
        let mut named = facts.clone();
        [name, &function_text(&"f".into(), &Function::Tir(func.clone()))].iter().for_each(|text| named.text(text));
        each_location(func, locate, &mut |location| named.text(&location));
        if let Some(symbol) = symbol {
            func.attrs.set("global_symbol", symbol);
        }
        // Plans may name axes and buffers, TVM finds kernels by name, and device functions are named after their kernel.
        let is_named = plan.is_some_and(ParsedPlan::has_names) || self.host == Host::Tvm || gpu.is_some();
        let named = Key::of(&named);
        [if is_named { named } else { Key::of(&facts) }, named]
    }
}

/// Adds a function with its names.
fn add_func(func: &PrimFunc, facts: &mut Bytes) {
    hash::kernel(func, facts);
    facts.text(&function_text(&"f".into(), &Function::Tir(func.clone())));
}

/// LLVM's error about a kernel.
fn code_error(name: &str, error: &LlvmError) -> CompileError {
    CompileError::Code(match error {
        LlvmError::Kernel { .. } => error.to_string(),
        error => format!("kernel `{name}`: {error}"),
    })
}
