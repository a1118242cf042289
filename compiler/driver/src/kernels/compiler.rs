//! The kernel compiler: TIR functions to object code, or from the cache.
//!
//! Kernels of the same structure share code, whatever their names, unless messages in the code name something, as those of
//! run-time checks do. Code without names is cached by structure alone, other code by names and locations too. Which of the
//! two applies is known only once a kernel is compiled, so lookups try both keys.

use super::{CompileError, Compiled, SYMBOL, location::each_location};
use crate::{
    Cache,
    cache::{Bytes, Key},
};
use hammock_codegen::llvm::{self, Host, LlvmError, OptLevel};
use hammock_ir::{Function, hash, print::function_text, tir::PrimFunc};
use hammock_kernels::{Accesses, FlatKernel, arguments, lower_with, schedule::ParsedPlan};
use hammock_runtime::library::KERNEL_PREFIX;
use hammock_target::Target;

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
                let flat = lower_with(&func, options)?;
                let flat = FlatKernel { name: symbol.into(), said: name.into(), ..flat };
                let object =
                    llvm::object(&flat, options.target, self.host, self.level).map_err(|e| code_error(name, &e))?;
                let code = Code::of(&flat, object.bytes, options.target.threads);
                if let Some((cache, keys)) = &keys {
                    cache.put(&keys[usize::from(object.has_names)], &code.bytes());
                }
                code
            }
        };
        let Code { written, accesses, temporary_bytes, object } = code;
        let signature = llvm::signature(name, &args, &written);
        Ok(Compiled { name: name.to_owned(), object, signature, accesses, temporary_bytes, is_cached })
    }

    /// Compiles kernels as one module, or takes it from the cache. Returns true if it was cached.
    ///
    /// # Errors
    /// If LLVM rejects a kernel.
    pub fn one_module(
        self,
        kernels: &[FlatKernel],
        target: &Target,
        emit: llvm::Emit,
    ) -> Result<(Vec<u8>, bool), LlvmError> {
        let cached = self.cache.map(|cache| (cache, self.key_of_all(kernels, target, emit)));
        if let Some(bytes) = cached.as_ref().and_then(|(cache, key)| cache.get(key)) {
            return Ok((bytes, true));
        }
        let bytes = llvm::compile(kernels, target, self.host, self.level, emit)?;
        if let Some((cache, key)) = cached {
            cache.put(&key, &bytes);
        }
        Ok((bytes, false))
    }

    /// Key of kernels as one module, with their names.
    fn key_of_all(self, kernels: &[FlatKernel], target: &Target, emit: llvm::Emit) -> Key {
        let mut facts = Bytes::default();
        [llvm::SOURCES, &llvm::version()].iter().for_each(|text| facts.text(text));
        facts.text(&format!("{:?}", (target, self.level, self.host, emit)));
        for FlatKernel { name, said, func, signature, .. } in kernels {
            facts.text(&format!("{:?}", (name, said, signature)));
            hash::kernel(func, &mut facts);
            facts.text(&function_text(&"f".into(), &Function::Tir(func.clone())));
        }
        Key::of(&facts)
    }

    /// Keys of a kernel: without names, and with the names that its messages may contain.
    fn keys(self, name: &str, func: &mut PrimFunc, options: hammock_kernels::Options<'_>) -> [Key; 2] {
        let hammock_kernels::Options { target, gpu, checked, strict_order, plan, locate } = options;
        let mut facts = Bytes::default();
        [llvm::SOURCES, &llvm::version()].iter().for_each(|text| facts.text(text));
        facts.text(&format!("{:?}", (target, gpu, checked, strict_order, self.level, self.host, plan)));
        // The symbol is a name too, and an attribute.
        let symbol = func.attrs.remove("global_symbol");
        hash::kernel(func, &mut facts);
        let mut named = facts.clone();
        [name, &function_text(&"f".into(), &Function::Tir(func.clone()))].iter().for_each(|text| named.text(text));
        each_location(func, locate, &mut |location| named.text(&location));
        if let Some(symbol) = symbol {
            func.attrs.set("global_symbol", symbol);
        }
        // Plans may name axes and buffers, and TVM finds kernels by name.
        let is_named = plan.is_some_and(ParsedPlan::has_names) || self.host == Host::Tvm;
        let named = Key::of(&named);
        [if is_named { named } else { Key::of(&facts) }, named]
    }
}

/// LLVM's error about a kernel.
fn code_error(name: &str, error: &LlvmError) -> CompileError {
    CompileError::Code(match error {
        LlvmError::Kernel { .. } => error.to_string(),
        error => format!("kernel `{name}`: {error}"),
    })
}

/// Cached form of a kernel.
struct Code {
    /// True for each argument that it writes.
    written: Vec<bool>,
    accesses: Accesses,
    temporary_bytes: u64,
    object: Vec<u8>,
}

impl Code {
    fn of(flat: &FlatKernel, object: Vec<u8>, threads: u32) -> Code {
        let temporary_bytes = flat.temporary_bytes(threads as usize);
        Code { written: flat.output_args(), accesses: flat.accesses, temporary_bytes, object }
    }

    fn bytes(&self) -> Vec<u8> {
        let Accesses { proved, checked } = self.accesses;
        let numbers = [proved as u64, checked as u64, self.temporary_bytes, self.written.len() as u64];
        let written = self.written.iter().map(|written| u8::from(*written));
        let head: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).chain(written).collect();
        [head, self.object.clone()].concat()
    }

    /// Reads a kernel with `args` arguments that defines `symbol`.
    fn read(bytes: &[u8], args: usize, symbol: &str) -> Option<Code> {
        let mut rest = bytes;
        let mut number = || {
            let (first, others) = rest.split_first_chunk()?;
            rest = others;
            Some(u64::from_le_bytes(*first))
        };
        let [proved, checked, temporary_bytes, count] = [number()?, number()?, number()?, number()?];
        let accesses = Accesses { proved: proved.try_into().ok()?, checked: checked.try_into().ok()? };
        let (written, object) = rest.split_at_checked(args).filter(|_| count == args as u64)?;
        let written = written.iter().map(|byte| (*byte < 2).then_some(*byte == 1)).collect::<Option<_>>()?;
        let defined = hammock_link::exports(object).ok()?;
        let packed = format!("{KERNEL_PREFIX}{symbol}");
        defined.contains(&packed.as_str()).then(|| Code { written, accesses, temporary_bytes, object: object.to_vec() })
    }
}
