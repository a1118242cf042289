//! Errors of accesses of global memory.

/// An access of global memory that is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// An address in no allocation.
    #[error("access of {bytes} bytes at {address:#x}, which is in no allocation")]
    NotAllocated {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
    },
    /// An address in memory that was freed.
    #[error("access of {bytes} bytes at {address:#x}, which was freed")]
    Freed {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
    },
    /// An address in memory that its stream has not allocated yet.
    #[error("access of {bytes} bytes at {address:#x}, which its stream has not allocated yet")]
    Pending {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
    },
    /// An address in memory of another device, without peer access.
    #[error("access of {bytes} bytes at {address:#x}, which is memory of device {device} without peer access")]
    OtherDevice {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
        /// The device that has the memory.
        device: u32,
    },
    /// An access that ends outside of an allocation, and begins in it or little behind it.
    #[error("access of {bytes} bytes at offset {offset} of an allocation of {size} bytes")]
    OutOfBounds {
        /// Offset of the first byte in the allocation.
        offset: u64,
        /// Bytes accessed.
        bytes: u64,
        /// The allocation's bytes.
        size: u64,
    },
    /// An address that is no multiple of the access's width.
    #[error("misaligned access of {bytes} bytes at {address:#x}")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u64,
    },
    /// A read of bytes that nobody wrote.
    #[error("read of unwritten memory at offset {offset} of an allocation of {size} bytes")]
    Unwritten {
        /// Offset of the first unwritten byte.
        offset: u64,
        /// The allocation's bytes.
        size: u64,
    },
}
