//! Cached form of a compiled kernel.

use hammock_codegen::llvm::{DeviceEntry, Object};
use hammock_kernels::{Accesses, GpuKernel};
use hammock_runtime::library::KERNEL_PREFIX;
use serde_json::{Value, json};

/// A compiled kernel without its names.
pub struct Code {
    /// True for each argument that it writes.
    pub written: Vec<bool>,
    /// How its accesses stay in bounds.
    pub accesses: Accesses,
    /// Maximum bytes of temporaries that a call allocates at once.
    pub temporary_bytes: u64,
    /// Device functions.
    pub device: Vec<DeviceEntry>,
    /// The object.
    pub object: Vec<u8>,
}

impl Code {
    /// The code of a kernel that runs on `threads` threads.
    pub fn of(kernel: &GpuKernel, object: Object, threads: u32) -> Code {
        let temporary_bytes = kernel.host.temporary_bytes(threads as usize);
        let (written, accesses) = (kernel.output_args.clone(), kernel.host.accesses);
        Code { written, accesses, temporary_bytes, device: object.device, object: object.bytes }
    }

    /// Returns the code as bytes: numbers, a flag for each argument, device functions as JSON, the object.
    pub fn bytes(&self) -> Vec<u8> {
        let Accesses { proved, checked } = self.accesses;
        let device = if self.device.is_empty() { String::new() } else { functions_text(&self.device) };
        let numbers = [proved, checked, self.temporary_bytes as usize, self.written.len(), device.len()];
        let written = self.written.iter().map(|written| u8::from(*written));
        let head = numbers.iter().flat_map(|number| (*number as u64).to_le_bytes()).chain(written);
        head.chain(device.bytes()).chain(self.object.iter().copied()).collect()
    }

    /// Reads a kernel with `args` arguments that defines `symbol`.
    pub fn read(bytes: &[u8], args: usize, symbol: &str) -> Option<Code> {
        let mut rest = bytes;
        let mut number = || {
            let (first, others) = rest.split_first_chunk()?;
            rest = others;
            Some(u64::from_le_bytes(*first))
        };
        let [proved, checked, temporary_bytes, count, text] = [number()?, number()?, number()?, number()?, number()?];
        let accesses = Accesses { proved: proved.try_into().ok()?, checked: checked.try_into().ok()? };
        let (written, rest) = rest.split_at_checked(args).filter(|_| count == args as u64)?;
        let written = written.iter().map(|byte| (*byte < 2).then_some(*byte == 1)).collect::<Option<_>>()?;
        let (text, object) = rest.split_at_checked(text.try_into().ok()?)?;
        let device = if text.is_empty() { Vec::new() } else { functions(text)? };
        let defined = hammock_link::exports(object).ok()?;
        let packed = format!("{KERNEL_PREFIX}{symbol}");
        let object = defined.contains(&packed.as_str()).then(|| object.to_vec())?;
        Some(Code { written, accesses, temporary_bytes, device, object })
    }
}

fn functions_text(device: &[DeviceEntry]) -> String {
    let object = |DeviceEntry { name, symbol, max_threads, shared_bytes }: &DeviceEntry| json!({ "name": name, "symbol": symbol, "max_threads": max_threads, "shared_bytes": shared_bytes });
    Value::from_iter(device.iter().map(object)).to_string()
}

fn functions(text: &[u8]) -> Option<Vec<DeviceEntry>> {
    let list: Vec<Value> = serde_json::from_slice(text).ok()?;
    let entry = |object: &Value| {
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| object.get(key).and_then(Value::as_u64).and_then(|number| number.try_into().ok());
        Some(DeviceEntry {
            name: text("name")?,
            symbol: text("symbol")?,
            max_threads: number("max_threads")?,
            shared_bytes: number("shared_bytes")?,
        })
    };
    list.iter().map(entry).collect()
}
