//! Device code of an executable's kernels: the GPU architecture that it is compiled for, and the device functions.
use crate::bytes::{Put, Reader, Truncated};

/// Device code in an executable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceCode {
    /// Architecture of the GPU: `sm_80`. Devices of this one and later ones run it.
    pub architecture: String,
    /// Device functions, in the order of kernels and of their first launch.
    pub functions: Vec<DeviceFunction>,
}

/// A device function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFunction {
    /// The kernel that launches it.
    pub kernel: String,
    /// Its name in the device code.
    pub name: String,
    /// Maximum number of threads per block, for which it is compiled.
    pub max_threads: u32,
    /// Static shared memory per block in bytes.
    pub static_shared: u32,
}

pub(super) fn encode(code: &DeviceCode, out: &mut Vec<u8>) {
    out.put_blob(code.architecture.as_bytes());
    out.put_u64(code.functions.len() as u64);
    for function in &code.functions {
        out.put_blob(function.kernel.as_bytes());
        out.put_blob(function.name.as_bytes());
        out.put_u32(function.max_threads);
        out.put_u32(function.static_shared);
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<DeviceCode, Truncated> {
    let mut reader = Reader::new(bytes);
    let architecture = reader.text()?;
    let functions = reader.list(24, |reader| {
        let (kernel, name) = (reader.text()?, reader.text()?);
        Ok::<_, Truncated>(DeviceFunction { kernel, name, max_threads: reader.u32()?, static_shared: reader.u32()? })
    })?;
    if reader.remaining() == 0 { Ok(DeviceCode { architecture, functions }) } else { Err(Truncated) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_code_is_read_as_written() {
        let function = |name: &str| DeviceFunction {
            kernel: "matmul".into(),
            name: name.into(),
            max_threads: 256,
            static_shared: 4096,
        };
        let functions = ["matmul_kernel", "matmul_kernel_1"].map(function).to_vec();
        let code = DeviceCode { architecture: "sm_80".into(), functions };
        let mut bytes = Vec::new();
        encode(&code, &mut bytes);
        assert_eq!(decode(&bytes).unwrap(), code);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
    }
}
