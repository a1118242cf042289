//! Launches and occupancy.
use super::{In, Out, abi, initialized};
use crate::driver::{Code, Driver, Handle, LaunchArguments, Result};

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: Handle,
    attributes: In<LaunchAttribute>,
    count: u32,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// Attributes without effect here: none, synchronization policy, priority, preferred shared memory.
const IGNORED: [u32; 4] = [0, 3, 8, 14];
/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
const COOPERATIVE: u32 = 2;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER: u32 = 4;

fn check_attribute(driver: &mut Driver, attribute: &LaunchAttribute) -> Result {
    let is_harmless = match attribute.id {
        COOPERATIVE => attribute.value[0] == 0,
        CLUSTER => attribute.value[..3] == [1, 1, 1],
        id => IGNORED.contains(&id),
    };
    if is_harmless { Ok(()) } else { Err(driver.unsupported(&format!("launch attribute {}", attribute.id))) }
}

/// A function of the program that returns the bytes of dynamic shared memory of a block.
type SharedOfBlock = Option<extern "C" fn(i32) -> usize>;

fn store_best_block(
    driver: &Driver,
    outputs: (Out<i32>, Out<i32>),
    function: Handle,
    shared_of_block: SharedOfBlock,
    shared: usize,
    limit: i32,
) -> Result {
    let shared_of = |threads| shared_of_block.map_or(shared, |function| function(threads));
    let (grid, block) = driver.best_block(function, shared_of, limit)?;
    outputs.0.fill(|| Ok(grid))?;
    outputs.1.fill(|| Ok(block))
}

abi! {
    functions by initialized;

    fn cuLaunchKernel(
        function: Handle,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: Handle,
        params: usize,
        extra: usize,
    ) |driver| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        driver.launch(&LaunchArguments { function, grid, block, shared_bytes, params, extra }, stream)
    }
    fn cuLaunchKernelEx(config: In<LaunchConfig>, function: Handle, params: usize, extra: usize) |driver| {
        let LaunchConfig { grid, block, shared_bytes, stream, attributes, count } = config.get()?;
        for attribute in attributes.list(count as usize)? {
            check_attribute(driver, &attribute)?;
        }
        driver.launch(&LaunchArguments { function, grid, block, shared_bytes, params, extra }, stream)
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<i32>,
        function: Handle,
        threads: i32,
        shared: usize,
    ) |driver| {
        blocks.fill(|| driver.active_blocks(function, threads, shared).map(|blocks| blocks as i32))
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<i32>,
        function: Handle,
        threads: i32,
        shared: usize,
        flags: u32,
    ) |driver| {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        blocks.fill(|| driver.active_blocks(function, threads, shared).map(|blocks| blocks as i32))
    }
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>,
        function: Handle,
        blocks: i32,
        threads: i32,
    ) |driver| {
        bytes.fill(|| driver.available_shared(function, blocks, threads))
    }
    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>,
        block: Out<i32>,
        function: Handle,
        shared_of_block: SharedOfBlock,
        shared: usize,
        limit: i32,
    ) |driver| {
        store_best_block(driver, (grid, block), function, shared_of_block, shared, limit)
    }
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>,
        block: Out<i32>,
        function: Handle,
        shared_of_block: SharedOfBlock,
        shared: usize,
        limit: i32,
        flags: u32,
    ) |driver| {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        store_best_block(driver, (grid, block), function, shared_of_block, shared, limit)
    }
}
