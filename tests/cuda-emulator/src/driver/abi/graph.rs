//! Graphs.
use super::{In, Out, abi, initialized, store_list};
use crate::driver::{Code, Handle, LaunchArguments, Result};

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[derive(Clone, Copy)]
#[repr(C)]
struct KernelNodeParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    params: usize,
    extra: usize,
    kernel: usize,
    context: Handle,
}

impl KernelNodeParams {
    fn arguments(self) -> Result<LaunchArguments> {
        // A kernel of a library, which the emulator lacks.
        if self.kernel != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let Self { function, grid, block, shared_bytes, params, extra, .. } = self;
        Ok(LaunchArguments { function, grid, block, shared_bytes, params, extra })
    }
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy)]
#[repr(C)]
struct UpdateResult {
    result: u32,
    node: Handle,
    from: Handle,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct InstantiateParams {
    flags: u64,
    upload: Handle,
    node: Handle,
    result: u32,
}

abi! {
    functions by initialized;

    fn cuGraphCreate(graph: Out<Handle>, flags: u32) |driver| { graph.fill(|| driver.create_graph(flags)) }
    fn cuGraphAddKernelNode_v2(
        node: Out<Handle>,
        graph: Handle,
        needs: In<Handle>,
        need_count: usize,
        params: In<KernelNodeParams>
    ) |driver| {
        let needs = needs.list(need_count)?;
        let arguments = params.get()?.arguments()?;
        node.fill(|| driver.add_kernel_node(graph, &needs, &arguments))
    }
    fn cuGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, flags: u64) |driver| {
        exec.fill(|| driver.instantiate(graph, flags))
    }
    fn cuGraphInstantiateWithParams(exec: Out<Handle>, graph: Handle, params: Out<InstantiateParams>) |driver| {
        let given = In(params.0.cast_const()).get()?;
        exec.fill(|| driver.instantiate(graph, given.flags))?;
        params.store(InstantiateParams { node: 0, result: 0, ..given });
        Ok(())
    }
    fn cuGraphLaunch(exec: Handle, stream: Handle) |driver| { driver.launch_graph(exec, stream) }
    fn cuGraphUpload(exec: Handle, stream: Handle) |driver| { driver.upload_graph(exec, stream) }
    fn cuGraphDestroy(graph: Handle) |driver| { driver.destroy_graph(graph) }
    fn cuGraphExecDestroy(exec: Handle) |driver| { driver.destroy_exec(exec) }
    fn cuGraphExecUpdate_v2(exec: Handle, graph: Handle, info: Out<UpdateResult>) |driver| {
        match driver.update_exec(exec, graph)? {
            Ok(()) => info.fill(|| Ok(UpdateResult { result: 0, node: 0, from: 0 })),
            Err(mismatch) => {
                info.fill(|| Ok(UpdateResult { result: mismatch.result, node: mismatch.node, from: 0 }))?;
                Err(Code::GRAPH_EXEC_UPDATE_FAILURE)
            }
        }
    }
    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) |driver| {
        store_list(nodes, count, &driver.nodes(graph)?)
    }
    fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) |driver| {
        store_list(nodes, count, &driver.root_nodes(graph)?)
    }
    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) |driver| {
        let (sources, targets): (Vec<Handle>, Vec<Handle>) = driver.edges(graph)?.into_iter().unzip();
        if from.is_null() != to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let size = In(count.0.cast_const()).get()?;
        store_list(from, count, &sources)?;
        count.store(size);
        store_list(to, count, &targets)
    }
    fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) |driver| { kind.fill(|| driver.node_type(node)) }
    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: Out<KernelNodeParams>) |driver| {
        params.fill(|| {
            let node = driver.kernel_node(node)?;
            Ok(KernelNodeParams {
                function: node.function,
                grid: node.grid,
                block: node.block,
                shared_bytes: node.shared_bytes,
                params: node.params,
                extra: 0,
                kernel: 0,
                context: 0,
            })
        })
    }
    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<KernelNodeParams>) |driver| {
        driver.set_graph_node(node, &params.get()?.arguments()?)
    }
    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle, node: Handle, params: In<KernelNodeParams>) |driver| {
        driver.set_exec_node(exec, node, &params.get()?.arguments()?)
    }
}
