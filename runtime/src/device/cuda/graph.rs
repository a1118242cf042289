//! Graphs: launches that were collected, and are queued by one call of the driver.
//!
//! Kernels' host functions run at every call, also when a graph has their launches: the arguments and extents of a
//! launch depend on addresses and sizes. Nodes that differ from the collected launches are changed before the graph is
//! launched; launches of other functions need a new graph.
use super::Cuda;
use super::functions::DeviceFunction;
use super::limits::Extents;
use crate::ffi::Error;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// A launch that is not queued yet.
pub(super) struct Collected {
    pub(super) function: Arc<DeviceFunction>,
    pub(super) extents: Extents,
    /// Values of the arguments, one in the first bytes of each word.
    pub(super) args: Box<[u64]>,
}

impl Collected {
    fn differs(&self, other: &Collected) -> bool {
        self.extents != other.extents || self.args != other.args
    }

    /// The launch as the driver takes it; `pointers` gets the addresses of the arguments.
    fn params(&mut self, cuda: &Cuda, pointers: &mut Vec<*mut c_void>) -> sys::CUDA_KERNEL_NODE_PARAMS {
        let Extents { grid: [gx, gy, gz], block: [bx, by, bz], shared } = self.extents;
        sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function.function,
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: shared,
            kernelParams: self.pointers(pointers),
            extra: null_mut(),
            kern: null_mut(),
            ctx: cuda.context,
        }
    }

    /// Writes the addresses of the arguments to a list and returns its address.
    pub(super) fn pointers(&mut self, pointers: &mut Vec<*mut c_void>) -> *mut *mut c_void {
        pointers.clear();
        pointers.extend(self.args.iter_mut().map(|arg| (&raw mut *arg).cast::<c_void>()));
        pointers.as_mut_ptr()
    }
}

/// What a [`crate::device::Graph`] contains.
pub(super) enum CudaGraph {
    /// Functions of the last launches, which were queued one by one.
    Seen(Vec<Arc<DeviceFunction>>),
    Made(ExecutableGraph),
}

impl CudaGraph {
    /// Returns true if it is for launches of these functions.
    pub(super) fn fits(&self, launches: &[Collected]) -> bool {
        let own: Vec<_> = match self {
            CudaGraph::Seen(functions) => functions.iter().collect(),
            CudaGraph::Made(graph) => graph.launches.iter().map(|launch| &launch.function).collect(),
        };
        own.len() == launches.len() && own.iter().zip(launches).all(|(own, launch)| Arc::ptr_eq(own, &launch.function))
    }
}

/// A graph with a node for each launch, each behind the one before it.
pub(super) struct ExecutableGraph {
    cuda: &'static Cuda,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
    launches: Vec<Collected>,
}

// SAFETY: any thread may use the driver's objects.
unsafe impl Send for ExecutableGraph {}

impl ExecutableGraph {
    /// Makes a graph. The device's context is current.
    pub(super) fn new(cuda: &'static Cuda, launches: Vec<Collected>) -> Result<ExecutableGraph, Error> {
        let count = launches.len();
        let check = |status| cuda.check(status, || format!("make a graph of {count} launches"));
        let (nodes, graph, executable) = (Vec::with_capacity(count), null_mut(), null_mut());
        let mut made = ExecutableGraph { cuda, graph, executable, nodes, launches };
        // SAFETY: the context is current, and the address is that of a variable.
        check(unsafe { sys::cuGraphCreate(&mut made.graph, 0) })?;
        let mut pointers = Vec::new();
        for launch in &mut made.launches {
            let (mut node, before) = (null_mut(), made.nodes.last());
            let (needs, need_count) = before.map_or((std::ptr::null(), 0), |before| (&raw const *before, 1));
            let params = launch.params(cuda, &mut pointers);
            // SAFETY: graph and node before are the driver's; the parameters are those of the function, whose arguments
            // are as long as its parameters.
            check(unsafe { sys::cuGraphAddKernelNode_v2(&mut node, made.graph, needs, need_count, &params) })?;
            made.nodes.push(node);
        }
        // SAFETY: the graph is the driver's, and the address is that of a variable.
        check(unsafe { sys::cuGraphInstantiateWithFlags(&mut made.executable, made.graph, 0) })?;
        Ok(made)
    }

    /// Changes the nodes whose launches differ. The launches are of the same functions.
    pub(super) fn update(&mut self, launches: Vec<Collected>) -> Result<(), Error> {
        let mut pointers = Vec::new();
        for ((node, own), mut launch) in self.nodes.iter().zip(&mut self.launches).zip(launches) {
            if !own.differs(&launch) {
                continue;
            }
            let params = launch.params(self.cuda, &mut pointers);
            // SAFETY: the graph that the node is from lives; the parameters are as in `new`.
            let status = unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.executable, *node, &params) };
            self.cuda.check(status, || format!("change a launch of `{}` in a graph", launch.function.text()))?;
            *own = launch;
        }
        Ok(())
    }

    /// Number of launches.
    pub(super) fn len(&self) -> usize {
        self.launches.len()
    }

    /// Queues its launches; returns the driver's status.
    pub(super) fn launch(&self) -> CUresult {
        // SAFETY: executable and stream are the device's. The memory that the launches use is as for single launches.
        unsafe { sys::cuGraphLaunch(self.executable, self.cuda.stream) }
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        let Ok(_entered) = self.cuda.enter() else { return };
        // SAFETY: both were made here and are not used again; what is queued runs to its end.
        unsafe {
            if !self.executable.is_null() {
                let _ = sys::cuGraphExecDestroy(self.executable);
            }
            if !self.graph.is_null() {
                let _ = sys::cuGraphDestroy(self.graph);
            }
        }
    }
}
