//! Devices: DLPack's device kind and number.
use std::fmt;
use std::str::FromStr;

/// DLPack device kinds that Hammock names.
pub mod kind {
    #![allow(missing_docs, reason = "each name is DLPack's, without `kDL`")]
    pub const CPU: i32 = 1;
    pub const CUDA: i32 = 2;
    pub const CUDA_HOST: i32 = 3;
    pub const OPENCL: i32 = 4;
    pub const VULKAN: i32 = 7;
    pub const METAL: i32 = 8;
    pub const ROCM: i32 = 10;
}

const NAMES: [(i32, &str); 7] = [
    (kind::CPU, "cpu"),
    (kind::CUDA, "cuda"),
    (kind::CUDA_HOST, "cuda_host"),
    (kind::OPENCL, "opencl"),
    (kind::VULKAN, "vulkan"),
    (kind::METAL, "metal"),
    (kind::ROCM, "rocm"),
];

/// One device, in DLPack's layout.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    /// Kind, one of [`kind`].
    pub kind: i32,
    /// Number among devices of that kind.
    pub id: i32,
}

impl Device {
    /// The host.
    pub const CPU: Device = Device { kind: kind::CPU, id: 0 };

    /// The CUDA device number `id`.
    pub const fn cuda(id: i32) -> Device {
        Device { kind: kind::CUDA, id }
    }

    /// Returns true if the host can access its memory through plain pointers.
    pub const fn is_host(self) -> bool {
        self.kind == kind::CPU || self.kind == kind::CUDA_HOST
    }
}

/// The text is not a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a device, such as cpu:0 or cuda:1")]
pub struct ParseDeviceError(String);

/// Parses `kind:number`, or `kind` for its first device.
impl FromStr for Device {
    type Err = ParseDeviceError;

    fn from_str(text: &str) -> Result<Device, ParseDeviceError> {
        let (name, id) = text.split_once(':').unwrap_or((text, "0"));
        let kind = NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
        let id = id.parse().ok().filter(|id| *id >= 0);
        kind.zip(id).map(|(kind, id)| Device { kind, id }).ok_or_else(|| ParseDeviceError(text.to_owned()))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, name)) => write!(f, "{name}:{}", self.id),
            None => write!(f, "device[{}]:{}", self.kind, self.id),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_prints() {
        for device in [Device::CPU, Device { kind: kind::CPU, id: 3 }, Device::cuda(1)] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("vulkan".parse(), Ok(Device { kind: kind::VULKAN, id: 0 }));
        for text in ["", "gpu:0", "cpu:", "cpu:-1", "cpu:x", "cpu:0:1"] {
            assert_eq!(text.parse::<Device>(), Err(ParseDeviceError(text.to_owned())));
        }
    }

    #[test]
    fn prints_kind_and_number() {
        assert_eq!(Device::CPU.to_string(), "cpu:0");
        assert_eq!(Device::cuda(1).to_string(), "cuda:1");
        assert_eq!(Device { kind: 99, id: 0 }.to_string(), "device[99]:0");
    }
}
