//! Device memory, pinned memory, copies and fills.
use super::{In, Out, abi, initialized};
use crate::driver::{Code, Driver, Handle, Result, copies::Side, pointers::PointerValue};
use std::ffi::c_void;

/// Memory of the program.
fn host(pointer: Out<c_void>) -> Side {
    Side::Host(pointer.0 as usize)
}

fn host_source(pointer: In<c_void>) -> Side {
    Side::Host(pointer.0 as usize)
}

fn store_attribute(driver: &mut Driver, data: Out<u8>, attribute: u32, pointer: u64) -> Result {
    if data.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    match driver.pointer_attribute(pointer, attribute)? {
        PointerValue::Bool(value) => data.store(u8::from(value)),
        PointerValue::Word(value) => data.store_all(&value.to_ne_bytes()),
        PointerValue::Long(value) => data.store_all(&value.to_ne_bytes()),
    }
    Ok(())
}

abi! {
    functions by initialized;

    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) |driver| { address.fill(|| driver.allocate(bytes)) }
    fn cuMemFree_v2(address: u64) |driver| { driver.free(address) }
    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) |driver| {
        address.fill(|| driver.allocate_async(bytes, None, stream))
    }
    fn cuMemFreeAsync(address: u64, stream: Handle) |driver| { driver.free_async(address, stream) }
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |driver| {
        let (unused, all) = driver.memory_info()?;
        free.fill(|| Ok(unused))?;
        total.fill(|| Ok(all))
    }
    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) |driver| {
        let (first, size) = driver.address_range(address)?;
        base.store(first);
        bytes.store(size);
        Ok(())
    }
    fn cuMemHostAlloc(pointer: Out<usize>, bytes: usize, flags: u32) |driver| {
        pointer.fill(|| driver.allocate_host(bytes, flags))
    }
    fn cuMemAllocHost_v2(pointer: Out<usize>, bytes: usize) |driver| { pointer.fill(|| driver.allocate_host(bytes, 0)) }
    fn cuMemFreeHost(pointer: Out<c_void>) |driver| { driver.free_host(pointer.0 as usize) }
    fn cuMemHostRegister_v2(pointer: Out<c_void>, bytes: usize, flags: u32) |driver| {
        driver.register_host(pointer.0 as usize, bytes, flags)
    }
    fn cuMemHostUnregister(pointer: Out<c_void>) |driver| { driver.unregister_host(pointer.0 as usize) }
    fn cuMemHostGetFlags(flags: Out<u32>, pointer: Out<c_void>) |driver| {
        flags.fill(|| driver.host_flags(pointer.0 as usize))
    }
    fn cuPointerGetAttribute(data: Out<u8>, attribute: u32, pointer: u64) |driver| {
        store_attribute(driver, data, attribute, pointer)
    }
    fn cuPointerGetAttributes(count: u32, attributes: In<u32>, data: In<Out<u8>>, pointer: u64) |driver| {
        let (attributes, data) = (attributes.list(count as usize)?, data.list(count as usize)?);
        for (attribute, data) in attributes.into_iter().zip(data) {
            store_attribute(driver, data, attribute, pointer)?;
        }
        Ok(())
    }
}

abi! {
    copies by initialized;

    fn cuMemcpy(to: u64, from: u64, bytes: usize) |driver| {
        driver.copy_sync(Side::of_address(to), Side::of_address(from), bytes)
    }
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) |driver| {
        driver.copy_async(Side::of_address(to), Side::of_address(from), bytes, stream)
    }
    fn cuMemcpyHtoD_v2(to: u64, from: In<c_void>, bytes: usize) |driver| {
        driver.copy_sync(Side::Device(to), host_source(from), bytes)
    }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: In<c_void>, bytes: usize, stream: Handle) |driver| {
        driver.copy_async(Side::Device(to), host_source(from), bytes, stream)
    }
    fn cuMemcpyDtoH_v2(to: Out<c_void>, from: u64, bytes: usize) |driver| {
        driver.copy_sync(host(to), Side::Device(from), bytes)
    }
    fn cuMemcpyDtoHAsync_v2(to: Out<c_void>, from: u64, bytes: usize, stream: Handle) |driver| {
        driver.copy_async(host(to), Side::Device(from), bytes, stream)
    }
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) |driver| {
        driver.copy_sync(Side::Device(to), Side::Device(from), bytes)
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) |driver| {
        driver.copy_async(Side::Device(to), Side::Device(from), bytes, stream)
    }
    fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize) |driver| {
        driver.copy_peer((to, to_context), (from, from_context), bytes, None)
    }
    fn cuMemcpyPeerAsync(
        to: u64,
        to_context: Handle,
        from: u64,
        from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) |driver| {
        driver.copy_peer((to, to_context), (from, from_context), bytes, Some(stream))
    }
    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) |driver| { driver.fill(to, &[value], count, None) }
    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) |driver| {
        driver.fill(to, &value.to_le_bytes(), count, None)
    }
    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) |driver| {
        driver.fill(to, &value.to_le_bytes(), count, None)
    }
    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) |driver| {
        driver.fill(to, &[value], count, Some(stream))
    }
    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) |driver| {
        driver.fill(to, &value.to_le_bytes(), count, Some(stream))
    }
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) |driver| {
        driver.fill(to, &value.to_le_bytes(), count, Some(stream))
    }
}
