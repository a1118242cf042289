//! Launches of kernels: checks, and copies of the parameters.
use super::{
    Code, Driver, Handle, Result, host,
    modules::{Function, Image, max_threads},
    work::Work,
};
use crate::ptx::Kernel;
use std::sync::Arc;

/// Maximum threads of a block.
const MAX_THREADS: u64 = 1024;
/// Maximum threads of a block along x, y and z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Maximum blocks along x, y and z.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// A launch whose parameters are copied.
#[derive(Debug, Clone)]
pub(super) struct KernelCall {
    pub(super) function: Handle,
    pub(super) module: Handle,
    pub(super) image: Arc<Image>,
    pub(super) kernel: Arc<str>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared_bytes: u32,
    pub(super) params: Arc<[u8]>,
    /// The launch, of a kernel or of a graph, that queued it, counted from 1.
    pub(super) launch: u64,
}

/// A launch as the program passes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LaunchArguments {
    /// The kernel.
    pub function: Handle,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Address of an array with the address of each parameter's value, or 0.
    pub params: usize,
    /// Address of a list of options that says where all parameters are, or 0.
    pub extra: usize,
}

impl Driver {
    /// Launches a kernel in a stream.
    ///
    /// # Errors
    /// If there is no such kernel or stream, a limit is exceeded, parameters are missing, or the launch fails on request.
    pub fn launch(&mut self, arguments: &LaunchArguments, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let mut call = self.kernel_call(arguments)?;
        if self.streams.get(stream)?.context != call.image.context {
            return Err(Code::INVALID_HANDLE);
        }
        call.launch = self.count_launch()?;
        if self.config.no_op && !self.is_capturing(stream) {
            return Ok(());
        }
        self.enqueue(stream, Work::Kernel(call)).map(|_| ())
    }

    /// Counts a launch of a kernel or a graph.
    ///
    /// # Errors
    /// If it fails on request.
    pub(super) fn count_launch(&mut self) -> Result<u64> {
        self.counts.launches += 1;
        let is_refused = self.config.fail_launch == Some(self.counts.launches);
        if is_refused { Err(Code::LAUNCH_OUT_OF_RESOURCES) } else { Ok(self.counts.launches) }
    }

    /// Changes a kernel node of a graph.
    ///
    /// # Errors
    /// As for a launch, or if there is no such node.
    pub fn set_graph_node(&mut self, node: Handle, arguments: &LaunchArguments) -> Result {
        self.current()?;
        let call = self.kernel_call(arguments)?;
        self.set_kernel_node(node, call)
    }

    /// Changes a kernel node of an executable, for launches from now on.
    ///
    /// # Errors
    /// As for a launch, or if there is no such node.
    pub fn set_exec_node(&mut self, exec: Handle, node: Handle, arguments: &LaunchArguments) -> Result {
        self.current()?;
        let call = self.kernel_call(arguments)?;
        self.set_exec_kernel_node(exec, node, call)
    }

    pub(super) fn kernel_call(&self, arguments: &LaunchArguments) -> Result<KernelCall> {
        let object = self.functions.get(arguments.function)?;
        let kernel = object.declaration()?;
        check_limits(object, kernel, arguments)?;
        Ok(KernelCall {
            function: arguments.function,
            module: object.module,
            image: object.image.clone(),
            kernel: object.kernel.clone(),
            grid: arguments.grid,
            block: arguments.block,
            shared_bytes: arguments.shared_bytes,
            params: copy_params(kernel, arguments)?.into(),
            launch: 0,
        })
    }
}

fn check_limits(function: &Function, kernel: &Kernel, arguments: &LaunchArguments) -> Result {
    let LaunchArguments { grid, block, shared_bytes, .. } = arguments;
    let fits =
        |sizes: &[u32; 3], limits: [u32; 3]| sizes.iter().zip(limits).all(|(&n, limit)| (1..=limit).contains(&n));
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    if !fits(grid, MAX_GRID) || !fits(block, MAX_BLOCK) || threads > MAX_THREADS {
        return Err(Code::INVALID_VALUE);
    }
    // The reference gives no code for a block beyond `.maxntid`.
    let is_required = kernel.required_block.is_none_or(|required| required == *block);
    if threads > u64::from(max_threads(kernel)) || !is_required || *shared_bytes > function.max_dynamic_shared {
        return Err(Code::INVALID_VALUE);
    }
    Ok(())
}

fn copy_params(kernel: &Kernel, arguments: &LaunchArguments) -> Result<Vec<u8>> {
    let size = kernel.param_bytes as usize;
    if arguments.extra != 0 {
        if arguments.params != 0 {
            return Err(Code::INVALID_VALUE);
        }
        return packed_params(arguments.extra, size);
    }
    let mut bytes = vec![0; size];
    if arguments.params == 0 && !kernel.params.is_empty() {
        return Err(Code::INVALID_VALUE);
    }
    for (index, param) in kernel.params.iter().enumerate() {
        let value = host::read_word(arguments.params + index * 8);
        if value == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let offset = param.offset as usize;
        host::read_into(value, &mut bytes[offset..offset + param.bytes as usize]);
    }
    Ok(bytes)
}

/// Reads parameters from `extra`: pairs of a key and a value, up to the key 0. Key 1 is the address of the parameters,
/// key 2 the address of their size.
fn packed_params(extra: usize, size: usize) -> Result<Vec<u8>> {
    let (mut buffer, mut bytes) = (0, 0);
    for pair in 0..3 {
        let key = host::read_word(extra + pair * 16);
        if key == 0 {
            break;
        }
        let value = host::read_word(extra + pair * 16 + 8);
        match key {
            1 => buffer = value,
            2 if value != 0 => bytes = host::read_word(value),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    if buffer == 0 || bytes != size {
        return Err(Code::INVALID_VALUE);
    }
    Ok(host::read(buffer, size))
}
