//! Limits of a device, and the check of launches against them.
use super::Cuda;
use crate::device::launch::{DeviceKernel, Launch};
use crate::ffi::Error;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

/// Limits of a device.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// Compute capability: 10 times the major number plus the minor one.
    pub(super) capability: u32,
    /// Maximum number of blocks along each axis.
    grid: [i64; 3],
    /// Maximum number of threads of a block along each axis.
    block: [i64; 3],
    /// Maximum number of threads of a block.
    threads: i64,
    /// Maximum shared memory of a block in bytes.
    shared: i64,
    /// Shared memory of a block in bytes that a function may use without reserving more.
    pub(super) default_shared: i64,
    /// Memory of the device in bytes.
    pub(super) memory: usize,
}

/// A launch within the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub(super) shared: u32,
}

impl Limits {
    /// Reads the limits of device number `device`.
    pub(super) fn read(
        device: sys::CUdevice,
        check: impl Fn(sys::CUresult) -> Result<(), Error>,
    ) -> Result<Limits, Error> {
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: the driver is initialized, and the address is that of a variable.
            check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) }).map(|()| i64::from(value))
        };
        let major = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let default_shared = get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
        let mut memory = 0;
        // SAFETY: as above.
        check(unsafe { sys::cuDeviceTotalMem_v2(&mut memory, device) })?;
        Ok(Limits {
            capability: (10 * major + minor) as u32,
            grid: [
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            block: [
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            threads: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(default_shared),
            default_shared,
            memory,
        })
    }

    /// Checks a launch; `None` if it has no blocks.
    ///
    /// # Errors
    /// The limit that it exceeds, without the names of kernel and device.
    pub(super) fn check(&self, launch: &Launch, kernel: &DeviceKernel) -> Result<Option<Extents>, String> {
        let Launch { grid, block, shared, .. } = launch;
        if grid.contains(&0) && grid.iter().all(|extent| *extent >= 0) {
            return Ok(None);
        }
        for (axis, name) in ["x", "y", "z"].iter().enumerate() {
            within(grid[axis], self.grid[axis], &format!("blocks along {name}"))?;
            within(block[axis], self.block[axis], &format!("threads of a block along {name}"))?;
        }
        let threads: i64 = block.iter().product();
        within(threads, self.threads, "threads of a block")?;
        if threads > i64::from(kernel.max_threads) {
            return Err(format!("blocks of {threads} threads, and it is compiled for {} at most", kernel.max_threads));
        }
        let total = shared.saturating_add(i64::from(kernel.static_shared));
        if *shared < 0 || total > self.shared {
            return Err(format!("{total} bytes of shared memory per block, and the device has {}", self.shared));
        }
        let narrow = |extents: &[i64; 3]| extents.map(|extent| extent as u32);
        Ok(Some(Extents { grid: narrow(grid), block: narrow(block), shared: *shared as u32 }))
    }
}

fn within(value: i64, limit: i64, what: &str) -> Result<(), String> {
    match value {
        value if value < 1 => Err(format!("{value} {what}")),
        value if value > limit => Err(format!("{value} {what}, and the device allows {limit}")),
        _ => Ok(()),
    }
}

impl Cuda {
    /// Checks that device code can run on the device: `ptx` names the oldest compute capability that runs it.
    pub(super) fn check_target(&self, ptx: &str, name: &str) -> Result<(), Error> {
        let own = self.limits.capability;
        let Some((needed, is_exact)) = target(ptx) else { return Ok(()) };
        if own == needed || own > needed && !is_exact {
            return Ok(());
        }
        let (device, suffix) = (self.named(), if is_exact { "a" } else { "" });
        let advice = format!("compile it with `--target cuda:sm_{own}` or an older one");
        Err(Error::value(format!(
            "device function `{name}` is compiled for sm_{needed}{suffix}, and {device} is sm_{own}: {advice}"
        )))
    }
}

/// The compute capability of a PTX text's `.target`, and whether only that one runs it.
fn target(ptx: &str) -> Option<(u32, bool)> {
    let name = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".target"))?;
    let name = name.trim_start().strip_prefix("sm_")?;
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    Some((name[..digits].parse().ok()?, name[digits..].starts_with('a')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    const LIMITS: Limits = Limits {
        capability: 80,
        grid: [i32::MAX as i64, 65535, 65535],
        block: [1024, 1024, 64],
        threads: 1024,
        shared: 166_912,
        default_shared: 49_152,
        memory: 1 << 30,
    };

    fn check(grid: [i64; 3], block: [i64; 3], shared: i64) -> Result<Option<Extents>, String> {
        let kernel = DeviceKernel {
            hash: [0; 2],
            ptx: null(),
            ptx_bytes: 0,
            name: null(),
            max_threads: 256,
            static_shared: 1024,
            messages: null(),
            message_count: 0,
        };
        LIMITS.check(&Launch { kernel: &kernel, grid, block, shared, args: null(), arg_count: 0 }, &kernel)
    }

    #[test]
    fn launches_are_checked_against_the_limits() {
        let fits = check([7, 1, 1], [32, 8, 1], 100_000).unwrap().unwrap();
        assert_eq!(fits, Extents { grid: [7, 1, 1], block: [32, 8, 1], shared: 100_000 });
        assert_eq!(check([7, 0, 1], [32, 1, 1], 0), Ok(None));
        let refused = |grid, block, shared| check(grid, block, shared).unwrap_err();
        let text = refused([1 << 32, 1, 1], [1; 3], 0);
        assert_eq!(text, "4294967296 blocks along x, and the device allows 2147483647");
        assert_eq!(refused([1, -1, 0], [1; 3], 0), "-1 blocks along y");
        assert_eq!(refused([1; 3], [0, 1, 1], 0), "0 threads of a block along x");
        assert!(refused([1; 3], [1, 1, 65], 0).contains("65 threads of a block along z"));
        assert!(refused([1; 3], [32, 16, 1], 0).contains("512 threads, and it is compiled for 256"));
        assert!(refused([1; 3], [1; 3], 166_000).contains("167024 bytes of shared memory"));
        assert!(refused([1; 3], [1; 3], i64::MAX).contains("shared memory"));
    }

    #[test]
    fn targets_are_read_from_ptx() {
        assert_eq!(target("//\n.version 7.0\n.target sm_80\n"), Some((80, false)));
        assert_eq!(target(".version 8.0\n.target sm_90a, debug\n"), Some((90, true)));
        assert_eq!(target("nothing"), None);
    }
}
