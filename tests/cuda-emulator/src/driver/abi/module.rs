//! Modules and kernels.
use super::{In, Out, abi, initialized};
use crate::driver::{Code, Driver, Handle, Result};
use std::ffi::c_char;

/// Options of `cuModuleLoadDataEx` (`CUjit_option`) that return something: buffers of logs and their sizes.
const INFO_LOG: u32 = 3;
const INFO_LOG_SIZE: u32 = 4;
const ERROR_LOG: u32 = 5;
const ERROR_LOG_SIZE: u32 = 6;
/// Number of options of CUDA 12.9.
const OPTIONS: u32 = 34;

/// Where the compiler's logs go.
#[derive(Default)]
struct Logs {
    info: usize,
    info_size: usize,
    error: usize,
    error_size: usize,
}

impl Logs {
    fn read(options: &[u32], values: &[usize]) -> Result<Self> {
        let mut logs = Self::default();
        for (&option, &value) in options.iter().zip(values) {
            match option {
                INFO_LOG => logs.info = value,
                // A size is an `unsigned int` in the low bits of the pointer.
                INFO_LOG_SIZE => logs.info_size = value as u32 as usize,
                ERROR_LOG => logs.error = value,
                ERROR_LOG_SIZE => logs.error_size = value as u32 as usize,
                0..OPTIONS => {}
                _ => return Err(Code::INVALID_VALUE),
            }
        }
        Ok(logs)
    }

    /// Stores the logs, and the bytes of each instead of its size.
    fn store(&self, error: &str, options: &[u32], values: Out<usize>) {
        Out(self.error as *mut u8).store_text(error, self.error_size);
        Out(self.info as *mut u8).store_text("", self.info_size);
        for (index, &option) in options.iter().enumerate() {
            let value = Out(values.0.wrapping_add(index));
            match option {
                INFO_LOG_SIZE => value.store(0),
                ERROR_LOG_SIZE => value.store((error.len() + usize::from(!error.is_empty())).min(self.error_size)),
                _ => {}
            }
        }
    }
}

/// Loads a module and reports why it cannot be loaded.
fn load(driver: &mut Driver, module: Out<Handle>, image: &[u8]) -> (Result, String) {
    let mut log = String::new();
    let result = module.fill(|| {
        driver.load_module(image).map_err(|(code, text)| {
            log = text;
            code
        })
    });
    if !log.is_empty() {
        driver.report(format!("cannot load a module: {log}"));
    }
    (result, log)
}

abi! {
    functions by initialized;

    fn cuModuleLoad(module: Out<Handle>, path: In<c_char>) |driver| {
        let image = std::fs::read(path.text()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        let text = image.split(|&byte| byte == 0 && !image.starts_with(b"\x7fELF")).next().unwrap_or_default();
        load(driver, module, text).0
    }
    fn cuModuleLoadData(module: Out<Handle>, image: In<c_char>) |driver| { load(driver, module, &image.bytes()?).0 }
    fn cuModuleLoadDataEx(
        module: Out<Handle>,
        image: In<c_char>,
        count: u32,
        options: In<u32>,
        values: Out<usize>,
    ) |driver| {
        let options = options.list(count as usize)?;
        let logs = Logs::read(&options, &In(values.0.cast_const()).list(count as usize)?)?;
        let (result, log) = load(driver, module, &image.bytes()?);
        logs.store(&log, &options, values);
        result
    }
    fn cuModuleUnload(module: Handle) |driver| { driver.unload_module(module) }
    fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: In<c_char>) |driver| {
        let name = name.text()?;
        function.fill(|| driver.function(module, &name))
    }
    fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) |driver| { count.fill(|| driver.function_count(module)) }
    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: In<c_char>) |driver| {
        let (found, size) = driver.global(module, &name.text()?)?;
        address.store(found);
        bytes.store(size);
        Ok(())
    }
    fn cuModuleGetLoadingMode(mode: Out<u32>) |_driver| { mode.fill(|| Ok(1)) }
    fn cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: Handle) |driver| {
        value.fill(|| driver.function_attribute(function, attribute))
    }
    fn cuFuncSetAttribute(function: Handle, attribute: u32, value: i32) |driver| {
        driver.set_function_attribute(function, attribute, value)
    }
    fn cuFuncSetCacheConfig(function: Handle, config: u32) |driver| {
        driver.function_module(function)?;
        if config > 3 { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }
    fn cuFuncGetModule(module: Out<Handle>, function: Handle) |driver| {
        module.fill(|| driver.function_module(function))
    }
    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) |driver| {
        let (start, size) = driver.param_info(function, index)?;
        bytes.store(size);
        offset.fill(|| Ok(start))
    }
    fn cuFuncLoad(function: Handle) |driver| { driver.function_module(function).map(|_| ()) }
}
