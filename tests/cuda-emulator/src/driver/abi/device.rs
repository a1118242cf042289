//! Devices.
use super::{Out, abi, early, initialized};
use crate::driver::Code;

abi! {
    early_functions by early;

    fn cuInit(flags: u32) |driver| { driver.initialize(flags) }
    fn cuDriverGetVersion(version: Out<i32>) |driver| { version.fill(|| Ok(driver.config.driver_version as i32)) }
}

abi! {
    functions by initialized;

    fn cuDeviceGet(device: Out<i32>, ordinal: i32) |driver| {
        device.fill(|| driver.device(ordinal).map(|device| device as i32))
    }
    fn cuDeviceGetCount(count: Out<i32>) |driver| { count.fill(|| Ok(driver.config.devices as i32)) }
    fn cuDeviceGetName(name: Out<u8>, size: i32, device: i32) |driver| {
        let device = driver.device(device)?;
        let size = usize::try_from(size).ok().filter(|&size| size > 0 && !name.is_null()).ok_or(Code::INVALID_VALUE)?;
        name.store_text(&driver.device_name(device), size);
        Ok(())
    }
    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) |driver| {
        uuid.fill(|| Ok(driver.device_uuid(driver.device(device)?)))
    }
    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) |driver| {
        uuid.fill(|| Ok(driver.device_uuid(driver.device(device)?)))
    }
    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) |driver| {
        let device = driver.device(device)?;
        value.fill(|| driver.device_attribute(device, attribute))
    }
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) |driver| {
        driver.device(device)?;
        major.fill(|| Ok(driver.config.capability.0 as i32))?;
        minor.fill(|| Ok(driver.config.capability.1 as i32))
    }
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) |driver| { bytes.fill(|| driver.total_memory(device)) }
    fn cuDeviceGetPCIBusId(text: Out<u8>, size: i32, device: i32) |driver| {
        let device = driver.device(device)?;
        let size = usize::try_from(size).ok().filter(|&size| size > 0 && !text.is_null()).ok_or(Code::INVALID_VALUE)?;
        text.store_text(&format!("0000:{:02x}:00.0", device + 1), size);
        Ok(())
    }
    fn cuDeviceCanAccessPeer(value: Out<i32>, device: i32, peer: i32) |driver| {
        value.fill(|| Ok(i32::from(driver.device(device)? != driver.device(peer)?)))
    }
    fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, device: i32, peer: i32) |driver| {
        if driver.device(device)? == driver.device(peer)? {
            return Err(Code::INVALID_DEVICE);
        }
        // Performance rank, access, native atomics, access to arrays.
        let known = [0, 1, 1, 0];
        let index = (attribute as usize).checked_sub(1).ok_or(Code::INVALID_VALUE)?;
        value.fill(|| known.get(index).copied().ok_or(Code::INVALID_VALUE))
    }
}
