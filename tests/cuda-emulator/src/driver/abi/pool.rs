//! Memory pools.
use super::{In, Out, abi, initialized};
use crate::driver::{Code, Driver, Handle, pools::PoolValue};

/// The first members of `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
struct PoolProperties {
    /// 1: pinned, as all pools are.
    allocation_type: u32,
    handle_types: u32,
    /// 1: a device.
    location_type: u32,
    device: i32,
}

abi! {
    functions by initialized;

    fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: i32) |driver| { pool.fill(|| driver.default_pool(device)) }
    fn cuDeviceGetMemPool(pool: Out<Handle>, device: i32) |driver| { pool.fill(|| driver.current_pool(device)) }
    fn cuDeviceSetMemPool(device: i32, pool: Handle) |driver| { driver.set_pool(device, pool) }
    fn cuMemPoolCreate(pool: Out<Handle>, properties: In<PoolProperties>) |driver| {
        let properties = properties.get()?;
        if properties.allocation_type != 1 || properties.location_type != 1 {
            return Err(Code::INVALID_VALUE);
        }
        if properties.handle_types != 0 {
            return Err(driver.unsupported("memory pools with handles"));
        }
        pool.fill(|| driver.create_pool(properties.device))
    }
    fn cuMemPoolDestroy(pool: Handle) |driver| { driver.destroy_pool(pool) }
    fn cuMemPoolTrimTo(pool: Handle, _keep: usize) |driver| { driver.trim_pool(pool) }
    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: Out<u64>) |driver| {
        match driver.pool_attribute(pool, attribute)? {
            PoolValue::Flag(flag) => Out(value.0.cast()).fill(|| Ok(flag)),
            PoolValue::Bytes(bytes) => value.fill(|| Ok(bytes)),
        }
    }
    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: In<u64>) |driver| {
        let value = if Driver::is_pool_attribute_bytes(attribute) {
            PoolValue::Bytes(value.get()?)
        } else {
            PoolValue::Flag(In(value.0.cast()).get()?)
        };
        driver.set_pool_attribute(pool, attribute, value)
    }
    fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) |driver| {
        address.fill(|| driver.allocate_async(bytes, Some(pool), stream))
    }
}
