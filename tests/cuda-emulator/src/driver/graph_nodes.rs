//! Nodes of graphs: enumeration, kinds, parameters of kernels.
use super::{Code, Driver, Handle, Result, launches::KernelCall, work::Work};

/// Where a node is.
struct Found {
    graph: Handle,
    index: usize,
}

/// The parameters of a kernel node as a program reads them.
#[derive(Debug, Clone, Copy)]
pub struct KernelNode {
    /// The kernel.
    pub function: Handle,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Address of an array with the address of each parameter's value. All remain until the node changes.
    pub params: usize,
}

impl Driver {
    /// Returns the nodes of a graph.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn nodes(&self, graph: Handle) -> Result<Vec<Handle>> {
        let object = self.graphs.get(graph).map_err(|_| Code::INVALID_VALUE)?;
        Ok(object.nodes.iter().map(|node| node.handle).collect())
    }

    /// Returns the nodes of a graph that wait for none.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn root_nodes(&self, graph: Handle) -> Result<Vec<Handle>> {
        let object = self.graphs.get(graph).map_err(|_| Code::INVALID_VALUE)?;
        Ok(object.nodes.iter().filter(|node| node.needs.is_empty()).map(|node| node.handle).collect())
    }

    /// Returns the edges of a graph: the node that is waited for, and the node that waits.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn edges(&self, graph: Handle) -> Result<Vec<(Handle, Handle)>> {
        let nodes = &self.graphs.get(graph).map_err(|_| Code::INVALID_VALUE)?.nodes;
        let edges = nodes.iter().flat_map(|node| node.needs.iter().map(|&need| (nodes[need].handle, node.handle)));
        Ok(edges.collect())
    }

    /// Returns the kind of a node (`CUgraphNodeType`).
    ///
    /// # Errors
    /// If there is no such node.
    pub fn node_type(&self, node: Handle) -> Result<u32> {
        Ok(match self.node_work(node)? {
            Work::Kernel(_) | Work::Matmul(_) => 0,
            Work::Copy { .. } => 1,
            Work::Fill { .. } => 2,
            Work::Host(..) => 3,
            Work::Record(_) => 7,
            Work::Allocate(_) => 10,
            Work::Free(_) => 11,
        })
    }

    /// Returns the parameters of a kernel node.
    ///
    /// # Errors
    /// If there is no such node, or it is no kernel.
    pub fn kernel_node(&mut self, node: Handle) -> Result<KernelNode> {
        let Found { graph, index } = self.find_node(node)?;
        let node = &mut self.graphs.get_mut(graph)?.nodes[index];
        let Work::Kernel(call) = &node.work else { return Err(Code::INVALID_VALUE) };
        let kernel = call.image.module.kernels.get(&*call.kernel).ok_or(Code::INVALID_VALUE)?;
        let base = call.params.as_ptr() as usize;
        node.pointers = kernel.params.iter().map(|param| base + param.offset as usize).collect();
        Ok(KernelNode {
            function: call.function,
            grid: call.grid,
            block: call.block,
            shared_bytes: call.shared_bytes,
            params: node.pointers.as_ptr() as usize,
        })
    }

    /// Changes a kernel node of a graph. Its executables remain as they are.
    ///
    /// # Errors
    /// If there is no such node, or it is no kernel.
    pub(super) fn set_kernel_node(&mut self, node: Handle, call: KernelCall) -> Result {
        let Found { graph, index } = self.find_node(node)?;
        let context = self.context_of(&call)?;
        let graph = self.graphs.get_mut(graph)?;
        if graph.context != context || !matches!(graph.nodes[index].work, Work::Kernel(_)) {
            return Err(Code::INVALID_VALUE);
        }
        graph.nodes[index].work = Work::Kernel(call);
        Ok(())
    }

    /// Changes a kernel node of an executable, for launches from now on.
    ///
    /// # Errors
    /// If there is no such executable or node, or it is no kernel.
    pub(super) fn set_exec_kernel_node(&mut self, exec: Handle, node: Handle, call: KernelCall) -> Result {
        let context = self.context_of(&call)?;
        let exec = self.execs.get_mut(exec)?;
        if exec.context != context {
            return Err(Code::INVALID_VALUE);
        }
        let node = exec.nodes.iter_mut().find(|other| other.handle == node).ok_or(Code::INVALID_VALUE)?;
        if !matches!(node.work, Work::Kernel(_)) {
            return Err(Code::INVALID_VALUE);
        }
        node.work = Work::Kernel(call);
        Ok(())
    }

    pub(super) fn context_of(&self, call: &KernelCall) -> Result<Handle> {
        self.modules.get(call.module).map(|module| module.context)
    }

    fn node_work(&self, node: Handle) -> Result<&Work> {
        let Found { graph, index } = self.find_node(node)?;
        Ok(&self.graphs.get(graph)?.nodes[index].work)
    }

    fn find_node(&self, node: Handle) -> Result<Found> {
        let found = self.graphs.iter().find_map(|(graph, object)| {
            let index = object.nodes.iter().position(|other| other.handle == node)?;
            Some(Found { graph, index })
        });
        found.ok_or(Code::INVALID_VALUE)
    }
}
