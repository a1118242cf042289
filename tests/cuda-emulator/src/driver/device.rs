//! Properties of the devices: those of T4 (7.5), A100 (8.0) and H100 (9.0), less what the emulator lacks.
use super::{Code, Driver, Result};

/// Limits of a device that launches and occupancy depend on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of shared memory of a block without opt-in.
    pub shared_per_block: u32,
    /// Bytes of shared memory of a block with opt-in.
    pub shared_opt_in: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// Bytes of shared memory of each block that the system uses.
    pub shared_reserved: u32,
    /// Threads of a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks of a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

/// Attributes that are equal for all devices: number, value. Those of features that the emulator lacks are 0, as
/// mapped and managed memory, cooperative and cluster launches, virtual memory management and stream memory operations.
const COMMON: &[(u32, i32)] = &[
    (1, 1024),      // MAX_THREADS_PER_BLOCK
    (2, 1024),      // MAX_BLOCK_DIM_X
    (3, 1024),      // MAX_BLOCK_DIM_Y
    (4, 64),        // MAX_BLOCK_DIM_Z
    (5, i32::MAX),  // MAX_GRID_DIM_X
    (6, 65535),     // MAX_GRID_DIM_Y
    (7, 65535),     // MAX_GRID_DIM_Z
    (8, 48 << 10),  // MAX_SHARED_MEMORY_PER_BLOCK
    (9, 64 << 10),  // TOTAL_CONSTANT_MEMORY
    (10, 32),       // WARP_SIZE
    (11, i32::MAX), // MAX_PITCH
    (12, 65536),    // MAX_REGISTERS_PER_BLOCK
    (14, 512),      // TEXTURE_ALIGNMENT
    (15, 1),        // GPU_OVERLAP
    (17, 0),        // KERNEL_EXEC_TIMEOUT
    (18, 0),        // INTEGRATED
    (19, 0),        // CAN_MAP_HOST_MEMORY
    (20, 0),        // COMPUTE_MODE
    (31, 1),        // CONCURRENT_KERNELS
    (32, 1),        // ECC_ENABLED
    (34, 0),        // PCI_DEVICE_ID
    (35, 0),        // TCC_DRIVER
    (40, 3),        // ASYNC_ENGINE_COUNT
    (41, 1),        // UNIFIED_ADDRESSING
    (50, 0),        // PCI_DOMAIN_ID
    (51, 32),       // TEXTURE_PITCH_ALIGNMENT
    (78, 1),        // STREAM_PRIORITIES_SUPPORTED
    (79, 1),        // GLOBAL_L1_CACHE_SUPPORTED
    (80, 1),        // LOCAL_L1_CACHE_SUPPORTED
    (82, 65536),    // MAX_REGISTERS_PER_MULTIPROCESSOR
    (83, 0),        // MANAGED_MEMORY
    (84, 0),        // MULTI_GPU_BOARD
    (86, 0),        // HOST_NATIVE_ATOMIC_SUPPORTED
    (88, 0),        // PAGEABLE_MEMORY_ACCESS
    (89, 0),        // CONCURRENT_MANAGED_ACCESS
    (90, 1),        // COMPUTE_PREEMPTION_SUPPORTED
    (91, 0),        // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    (95, 0),        // COOPERATIVE_LAUNCH
    (96, 0),        // COOPERATIVE_MULTI_DEVICE_LAUNCH
    (98, 0),        // CAN_FLUSH_REMOTE_WRITES
    (99, 1),        // HOST_REGISTER_SUPPORTED
    (100, 0),       // PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    (101, 0),       // DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    (102, 0),       // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    (103, 0),       // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    (107, 0),       // GENERIC_COMPRESSION_SUPPORTED
    (108, 0),       // MAX_PERSISTING_L2_CACHE_SIZE
    (109, 0),       // MAX_ACCESS_POLICY_WINDOW_SIZE
    (110, 0),       // GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
    (115, 1),       // MEMORY_POOLS_SUPPORTED
    (116, 0),       // GPU_DIRECT_RDMA_SUPPORTED
    (119, 0),       // MEMPOOL_SUPPORTED_HANDLE_TYPES
    (120, 0),       // CLUSTER_LAUNCH
    (122, 0),       // CAN_USE_64_BIT_STREAM_MEM_OPS
    (123, 0),       // CAN_USE_STREAM_WAIT_VALUE_NOR
    (125, 0),       // IPC_EVENT_SUPPORTED
    (126, 1),       // MEM_SYNC_DOMAIN_COUNT
    (127, 0),       // TENSOR_MAP_ACCESS_SUPPORTED
    (129, 0),       // UNIFIED_FUNCTION_POINTERS
    (132, 0),       // MULTICAST_SUPPORTED
];

/// Attributes that differ: number, value for 7.5, 8.0 and 9.0.
const BY_CAPABILITY: &[(u32, [i32; 3])] = &[
    (13, [1_590_000, 1_410_000, 1_980_000]), // CLOCK_RATE
    (16, [40, 108, 132]),                    // MULTIPROCESSOR_COUNT
    (36, [5_001_000, 1_215_000, 2_619_000]), // MEMORY_CLOCK_RATE
    (37, [256, 5120, 5120]),                 // GLOBAL_MEMORY_BUS_WIDTH
    (38, [4 << 20, 40 << 20, 50 << 20]),     // L2_CACHE_SIZE
    (39, [1024, 2048, 2048]),                // MAX_THREADS_PER_MULTIPROCESSOR
    (75, [7, 8, 9]),                         // COMPUTE_CAPABILITY_MAJOR
    (76, [5, 0, 0]),                         // COMPUTE_CAPABILITY_MINOR
    (81, [64 << 10, 164 << 10, 228 << 10]),  // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    (87, [32, 2, 2]),                        // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    (97, [64 << 10, 163 << 10, 227 << 10]),  // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    (106, [16, 32, 32]),                     // MAX_BLOCKS_PER_MULTIPROCESSOR
    (111, [0, 1 << 10, 1 << 10]),            // RESERVED_SHARED_MEMORY_PER_BLOCK
];

/// `PCI_BUS_ID`.
const PCI_BUS: u32 = 33;
/// `MULTI_GPU_BOARD_GROUP_ID`.
const BOARD_GROUP: u32 = 85;

impl Driver {
    /// Checks a device's ordinal.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn device(&self, ordinal: i32) -> Result<u32> {
        let device = u32::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
        if device < self.config.devices { Ok(device) } else { Err(Code::INVALID_DEVICE) }
    }

    /// Returns an attribute of a device.
    ///
    /// # Errors
    /// If the emulator does not know it.
    pub fn device_attribute(&mut self, device: u32, attribute: u32) -> Result<i32> {
        match attribute {
            PCI_BUS => return Ok(device as i32 + 1),
            BOARD_GROUP => return Ok(device as i32),
            _ => {}
        }
        self.known_attribute(attribute).ok_or_else(|| {
            self.report(format!("unsupported: device attribute {attribute}"));
            Code::INVALID_VALUE
        })
    }

    fn known_attribute(&self, attribute: u32) -> Option<i32> {
        let column = match self.config.capability.0 {
            7 => 0,
            8 => 1,
            _ => 2,
        };
        let common = COMMON.iter().find(|row| row.0 == attribute).map(|row| row.1);
        common.or_else(|| BY_CAPABILITY.iter().find(|row| row.0 == attribute).map(|row| row.1[column]))
    }

    /// Returns the limits of a device.
    pub fn limits(&self) -> Limits {
        let value = |attribute| self.known_attribute(attribute).unwrap_or_default() as u32;
        Limits {
            shared_per_block: value(8),
            shared_opt_in: value(97),
            shared_per_multiprocessor: value(81),
            shared_reserved: value(111),
            threads_per_multiprocessor: value(39),
            blocks_per_multiprocessor: value(106),
            multiprocessors: value(16),
        }
    }

    /// Returns a device's name.
    pub fn device_name(&self, device: u32) -> String {
        let (major, minor) = self.config.capability;
        format!("CUDA emulator {device} (sm_{major}{minor})")
    }

    /// Returns a device's unique bytes.
    pub fn device_uuid(&self, device: u32) -> [u8; 16] {
        let mut uuid = *b"cuda emulator \0\0";
        uuid[15] = device as u8;
        uuid
    }
}
