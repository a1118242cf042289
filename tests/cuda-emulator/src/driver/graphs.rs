//! Graphs and their executables. Each launch queues all nodes, ordered only by the graph's edges.
use super::{Code, Driver, Handle, LaunchArguments, Result, queue::OpId, work::Work};

/// A graph.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    pub(super) context: Handle,
    /// Nodes; each comes after those that it needs.
    pub(super) nodes: Vec<Node>,
    /// True while a capture builds it.
    pub(super) is_captured: bool,
}

/// A node of a graph.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) handle: Handle,
    pub(super) work: Work,
    /// Indices of the nodes that it waits for.
    pub(super) needs: Vec<usize>,
    /// Addresses of a kernel's parameters, once the program asked for them.
    pub(super) pointers: Vec<usize>,
}

impl Node {
    pub(super) fn new(handle: Handle, work: Work, needs: Vec<usize>) -> Self {
        Self { handle, work, needs, pointers: Vec::new() }
    }
}

/// An executable graph.
#[derive(Debug)]
pub(super) struct Exec {
    pub(super) context: Handle,
    pub(super) nodes: Vec<Node>,
    /// Last operations of its last launch, which the next launch waits for.
    last: Vec<OpId>,
}

/// Flags of an executable: free memory on launch, upload, use priorities of nodes.
const FLAGS: u64 = 1 | 2 | 8;

/// Why an executable cannot take over a graph (`CUgraphExecUpdateResult`), with the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// 2: other edges or number of nodes, 3: another kind of node.
    pub result: u32,
    /// The graph's node, or 0.
    pub node: Handle,
}

impl Driver {
    /// Creates a graph without nodes in the current context.
    ///
    /// # Errors
    /// If there is no current context, or flags are set.
    pub fn create_graph(&mut self, flags: u32) -> Result<Handle> {
        let context = self.current()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let graph = self.new_handle();
        self.graphs.insert(graph, Graph { context, nodes: Vec::new(), is_captured: false });
        Ok(graph)
    }

    /// Adds a kernel to a graph, behind other nodes of it.
    ///
    /// # Errors
    /// If there is no such graph or node, it is still captured, or as for a launch.
    pub fn add_kernel_node(&mut self, graph: Handle, needs: &[Handle], arguments: &LaunchArguments) -> Result<Handle> {
        self.current()?;
        let call = self.kernel_call(arguments)?;
        let nodes = &self.finished_graph(graph)?.nodes;
        let index = |need: &Handle| nodes.iter().position(|node| node.handle == *need).ok_or(Code::INVALID_VALUE);
        let needs = needs.iter().map(index).collect::<Result<Vec<_>>>()?;
        if self.context_of(&call)? != self.graphs.get(graph)?.context {
            return Err(Code::INVALID_VALUE);
        }
        let node = self.new_handle();
        self.graphs.get_mut(graph)?.nodes.push(Node::new(node, Work::Kernel(call), needs));
        Ok(node)
    }

    /// Creates an executable of a graph.
    ///
    /// # Errors
    /// If there is no such graph, it is still captured, or the flags are unknown.
    pub fn instantiate(&mut self, graph: Handle, flags: u64) -> Result<Handle> {
        self.current()?;
        let Graph { context, nodes, .. } = self.finished_graph(graph)?.clone();
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.healthy(context)?;
        let exec = self.new_handle();
        self.execs.insert(exec, Exec { context, nodes, last: Vec::new() });
        Ok(exec)
    }

    /// Queues the nodes of an executable behind a stream's work and its own last launch.
    ///
    /// # Errors
    /// If there is no such executable or stream, their contexts differ, or the stream is captured.
    pub fn launch_graph(&mut self, exec: Handle, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let context = self.execs.get(exec)?.context;
        if self.streams.get(stream)?.context != context {
            return Err(Code::INVALID_VALUE);
        }
        if self.is_capturing(stream) {
            return Err(self.refuse_in_capture(stream, "cuGraphLaunch during capture"));
        }
        self.refuse_implicit(stream)?;
        let Exec { nodes, last, .. } = self.execs.get(exec)?;
        let mut base = self.predecessors(stream)?;
        base.extend(last);
        let mut nodes = if self.config.no_op { without_kernels(nodes) } else { nodes.clone() };
        let launch = self.count_launch()?;
        nodes.iter_mut().for_each(|node| node.work.set_launch(launch));
        let ops = self.push_nodes(context, nodes, &base);
        if !ops.is_empty() {
            self.execs.get_mut(exec)?.last = ops.clone();
            self.streams.get_mut(stream)?.tail = ops;
        }
        Ok(())
    }

    /// Queues nodes and returns the operations of those that no other waits for.
    fn push_nodes(&mut self, context: Handle, nodes: Vec<Node>, base: &[OpId]) -> Vec<OpId> {
        let mut is_last = vec![true; nodes.len()];
        let mut ops: Vec<OpId> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let needs: Vec<OpId> = node.needs.iter().map(|&index| ops[index]).collect();
            node.needs.iter().for_each(|&index| is_last[index] = false);
            ops.push(self.queue.push(context, if needs.is_empty() { base } else { &needs }, node.work));
        }
        ops.into_iter().zip(is_last).filter(|(_, is_last)| *is_last).map(|(op, _)| op).collect()
    }

    /// Checks an executable and a stream, to which resources could be transferred ahead of a launch.
    ///
    /// # Errors
    /// If there is no such executable or stream.
    pub fn upload_graph(&mut self, exec: Handle, stream: Handle) -> Result {
        self.current()?;
        self.resolve(stream)?;
        self.execs.get(exec).map(|_| ())
    }

    /// Destroys a graph. Its executables remain.
    ///
    /// # Errors
    /// If there is no such graph, or it is still captured.
    pub fn destroy_graph(&mut self, graph: Handle) -> Result {
        self.finished_graph(graph)?;
        self.graphs.remove(graph).map(|_| ())
    }

    /// Destroys an executable. Launches that are queued remain.
    ///
    /// # Errors
    /// If there is no such executable.
    pub fn destroy_exec(&mut self, exec: Handle) -> Result {
        self.execs.remove(exec).map(|_| ())
    }

    /// Makes an executable do what a graph of the same form does.
    ///
    /// # Errors
    /// If there is no such executable or graph. The inner error says how the graph differs.
    pub fn update_exec(&mut self, exec: Handle, graph: Handle) -> Result<std::result::Result<(), Mismatch>> {
        self.current()?;
        let new = self.finished_graph(graph)?.nodes.clone();
        let old = &self.execs.get(exec)?.nodes;
        if let Some(mismatch) = mismatch(old, &new) {
            return Ok(Err(mismatch));
        }
        // Nodes keep the handles of the graph that the executable came from.
        for (node, new) in self.execs.get_mut(exec)?.nodes.iter_mut().zip(new) {
            node.work = new.work;
        }
        Ok(Ok(()))
    }

    /// Returns a graph that no capture is building.
    pub(super) fn finished_graph(&self, graph: Handle) -> Result<&Graph> {
        let object = self.graphs.get(graph).map_err(|_| Code::INVALID_VALUE)?;
        if object.is_captured { Err(Code::ILLEGAL_STATE) } else { Ok(object) }
    }
}

fn mismatch(old: &[Node], new: &[Node]) -> Option<Mismatch> {
    if old.len() != new.len() {
        return Some(Mismatch { result: 2, node: 0 });
    }
    old.iter().zip(new).find_map(|(old, new)| {
        let is_same_kind = std::mem::discriminant(&old.work) == std::mem::discriminant(&new.work);
        let result = if !is_same_kind { 3 } else { 2 };
        (!is_same_kind || old.needs != new.needs).then_some(Mismatch { result, node: new.handle })
    })
}

/// Returns the nodes that are no kernels, in a chain.
fn without_kernels(nodes: &[Node]) -> Vec<Node> {
    let others = nodes.iter().filter(|node| !matches!(node.work, Work::Kernel(_))).cloned();
    others.enumerate().map(|(index, node)| Node { needs: index.checked_sub(1).into_iter().collect(), ..node }).collect()
}
