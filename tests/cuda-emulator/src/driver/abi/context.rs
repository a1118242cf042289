//! Contexts.
use super::{Out, abi, early, initialized};
use crate::driver::{Code, Handle, streams::PRIORITIES};

abi! {
    functions by initialized;

    fn cuCtxCreate_v2(context: Out<Handle>, flags: u32, device: i32) |driver| {
        context.fill(|| driver.create_context(flags, device))
    }
    fn cuCtxCreate_v3(context: Out<Handle>, _affinities: usize, count: i32, flags: u32, device: i32) |driver| {
        if count != 0 {
            return Err(driver.unsupported("cuCtxCreate_v3 with execution affinity"));
        }
        context.fill(|| driver.create_context(flags, device))
    }
    fn cuCtxCreate_v4(context: Out<Handle>, parameters: usize, flags: u32, device: i32) |driver| {
        if parameters != 0 {
            return Err(driver.unsupported("cuCtxCreate_v4 with parameters"));
        }
        context.fill(|| driver.create_context(flags, device))
    }
    fn cuCtxDestroy_v2(context: Handle) |driver| { driver.destroy_context(context) }
    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: i32) |driver| {
        context.fill(|| driver.retain_primary(device))
    }
    fn cuDevicePrimaryCtxRelease_v2(device: i32) |driver| { driver.release_primary(device) }
    fn cuDevicePrimaryCtxReset_v2(device: i32) |driver| { driver.reset_primary(device) }
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) |driver| { driver.set_primary_flags(device, flags) }
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) |driver| {
        let (value, is_active) = driver.primary_state(device)?;
        flags.fill(|| Ok(value))?;
        active.fill(|| Ok(i32::from(is_active)))
    }
    fn cuCtxSetCurrent(context: Handle) |driver| { driver.set_current(context) }
    fn cuCtxGetCurrent(context: Out<Handle>) |driver| { context.fill(|| Ok(driver.current_or_none())) }
    fn cuCtxPushCurrent_v2(context: Handle) |driver| { driver.push_current(context) }
    fn cuCtxPopCurrent_v2(context: Out<Handle>) |driver| {
        let popped = driver.pop_current()?;
        context.store(popped);
        Ok(())
    }
    fn cuCtxGetDevice(device: Out<i32>) |driver| { device.fill(|| driver.current_device().map(|device| device as i32)) }
    fn cuCtxGetFlags(flags: Out<u32>) |driver| { flags.fill(|| driver.context_flags()) }
    fn cuCtxSetFlags(flags: u32) |driver| { driver.set_context_flags(flags) }
    fn cuCtxGetApiVersion(context: Handle, version: Out<u32>) |driver| {
        if context != 0 {
            driver.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        }
        version.fill(|| Ok(3020))
    }
    fn cuCtxGetLimit(value: Out<usize>, limit: u32) |driver| { value.fill(|| driver.limit(limit)) }
    fn cuCtxSetLimit(limit: u32, value: usize) |driver| { driver.set_limit(limit, value) }
    fn cuCtxGetCacheConfig(config: Out<u32>) |driver| { config.fill(|| driver.cache_config()) }
    fn cuCtxSetCacheConfig(config: u32) |driver| { driver.set_cache_config(config) }
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) |driver| {
        driver.current()?;
        least.store(PRIORITIES.0);
        greatest.store(PRIORITIES.1);
        Ok(())
    }
    fn cuCtxSynchronize() |driver| { driver.synchronize_context() }
    fn cuCtxEnablePeerAccess(peer: Handle, flags: u32) |driver| { driver.enable_peer_access(peer, flags) }
    fn cuCtxDisablePeerAccess(peer: Handle) |driver| { driver.disable_peer_access(peer) }
}

abi! {
    profiler_functions by early;

    fn cuProfilerStart() |_driver| { Ok(()) }
    fn cuProfilerStop() |_driver| { Ok(()) }
}
