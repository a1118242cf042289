//! Execution of queued operations.
use super::{
    Code, Driver, Handle,
    cublas::MatmulCall,
    host,
    launches::KernelCall,
    queue::{Op, OpId},
};
use crate::{
    counters::Counters,
    fault::{Fault, FaultKind},
    machine,
    memory::AccessError,
};
use std::{io::Write, sync::Arc};

/// Maximum number of instructions of all warps of a launch.
const MAX_INSTRUCTIONS: u64 = 1 << 31;

/// Source or target of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// Device memory at an address.
    Device(u64),
    /// Memory of the program, read or written when the copy runs; pinned memory with its number.
    Host(usize, Option<u64>),
    /// Bytes that were read when the copy was submitted.
    Staged(Arc<[u8]>),
}

/// Effect of an operation.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// A launch of a kernel.
    Kernel(KernelCall),
    /// A matmul of cuBLASLt.
    Matmul(MatmulCall),
    /// A copy.
    Copy { to: Location, from: Location, bytes: u64 },
    /// A pattern, written `count` times.
    Fill { to: u64, pattern: Vec<u8>, count: u64 },
    /// Memory that becomes accessible.
    Allocate(u64),
    /// Memory that is freed.
    Free(u64),
    /// An event.
    Record(Handle),
    /// A function of the program with its argument.
    Host(usize, usize),
}

/// Why an operation failed.
pub(super) struct Failure {
    pub(super) code: Code,
    pub(super) text: String,
}

impl Work {
    /// Notes the launch that queues it, if it is a kernel.
    pub(super) fn set_launch(&mut self, launch: u64) {
        if let Work::Kernel(call) = self {
            call.launch = launch;
        }
    }

    /// Returns true if it writes to the program's memory, or calls the program.
    pub(super) fn reaches_host(&self) -> bool {
        matches!(self, Work::Host(..) | Work::Copy { to: Location::Host(..), .. })
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        let code = access_code(&error);
        Self { code, text: error.to_string() }
    }
}

impl From<Box<Fault>> for Failure {
    fn from(fault: Box<Fault>) -> Self {
        Self { code: fault_code(&fault.kind), text: fault.to_string() }
    }
}

fn access_code(error: &AccessError) -> Code {
    match error {
        AccessError::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
        _ => Code::ILLEGAL_ADDRESS,
    }
}

/// Returns the code of a kernel's fault. What hardware does not notice is a failed launch.
fn fault_code(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::Global(error) => access_code(error),
        FaultKind::SharedOutOfBounds { .. } | FaultKind::OutOfBounds { .. } => Code::ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => Code::MISALIGNED_ADDRESS,
        FaultKind::Unsupported(_) => Code::ILLEGAL_INSTRUCTION,
        FaultKind::Deadlock(_) | FaultKind::TooLong(_) => Code::LAUNCH_TIMEOUT,
        _ => Code::LAUNCH_FAILED,
    }
}

impl Driver {
    /// Runs an operation.
    pub(super) fn perform(&mut self, op: &Op, id: OpId) -> Result<(), Failure> {
        self.memory.restrict(u64::MAX);
        match &op.work {
            Work::Kernel(call) => self.run_kernel(op.context, call),
            Work::Matmul(call) => self.run_matmul(call).map_err(|failure| failure.during("matmul")),
            Work::Copy { to, from, bytes } => self.run_copy(to, from, *bytes).map_err(|failure| failure.during("copy")),
            Work::Fill { to, pattern, count } => {
                self.run_fill(*to, pattern, *count).map_err(|failure| failure.during("memset"))
            }
            Work::Allocate(address) => {
                self.activate(*address);
                Ok(())
            }
            Work::Free(address) => {
                self.run_free(*address).map_err(|error| Failure::from(error).during("cuMemFreeAsync"))
            }
            Work::Record(event) => {
                self.complete_event(*event, id);
                Ok(())
            }
            Work::Host(function, data) => {
                host::call(*function, *data);
                Ok(())
            }
        }
    }

    /// Ends a context by a fault: its queued operations never run, and every later call returns the code.
    pub(super) fn end_by_fault(&mut self, context: Handle, failure: Failure) {
        self.report(failure.text);
        self.queue.abandon(context);
        if let Ok(context) = self.contexts.get_mut(context) {
            context.fault.get_or_insert(failure.code);
        }
    }

    fn run_kernel(&mut self, context: Handle, call: &KernelCall) -> Result<(), Failure> {
        if self.config.no_op {
            return Ok(());
        }
        self.counts.runs += 1;
        if self.config.sticky_at == Some(self.counts.runs) {
            let text = format!("launch {} fails on request; kernel `{}`", self.counts.runs, call.kernel);
            return Err(Failure { code: Code::ILLEGAL_ADDRESS, text });
        }
        if self.modules.get(call.module).is_err() {
            let text = format!("kernel `{}` runs after its module was unloaded", call.kernel);
            return Err(Failure { code: Code::LAUNCH_FAILED, text });
        }
        let accessible = self.contexts.get(context).map_or(0, |context| context.peers | 1 << context.device);
        self.memory.restrict(accessible);
        let launch = machine::Launch {
            module: &call.image.module,
            kernel: &call.kernel,
            grid: call.grid,
            block: call.block,
            shared_bytes: call.shared_bytes,
            variables: &call.image.variables,
            params: &call.params,
            seed: self.random.u64(..),
            max_instructions: MAX_INSTRUCTIONS,
        };
        let counters = machine::run(&launch, &mut self.memory)?;
        self.clock += counters.instructions;
        self.log_counters(call, &counters);
        Ok(())
    }

    fn run_copy(&mut self, to: &Location, from: &Location, bytes: u64) -> Result<(), Failure> {
        for location in [to, from] {
            self.host.check_alive(location)?;
        }
        match (to, from) {
            (Location::Device(to), Location::Device(from)) => self.memory.copy(*to, *from, bytes)?,
            (Location::Device(to), Location::Staged(data)) => self.memory.write(*to, data)?,
            (Location::Device(to), Location::Host(pointer, _)) => {
                self.memory.write(*to, &host::read(*pointer, bytes as usize))?;
            }
            (Location::Host(pointer, _), Location::Device(from)) => {
                host::write(*pointer, self.memory.bytes(*from, bytes)?);
            }
            (Location::Host(to, _), Location::Host(from, _)) => host::write(*to, &host::read(*from, bytes as usize)),
            (Location::Host(to, _), Location::Staged(data)) => host::write(*to, data),
            (Location::Staged(_), _) => {}
        }
        Ok(())
    }

    fn run_fill(&mut self, to: u64, pattern: &[u8], count: u64) -> Result<(), Failure> {
        let target = self.memory.bytes_mut(to, count * pattern.len() as u64)?;
        target.chunks_exact_mut(pattern.len()).for_each(|chunk| chunk.copy_from_slice(pattern));
        Ok(())
    }

    fn log_counters(&mut self, call: &KernelCall, counters: &Counters) {
        let Some(path) = self.config.counters.clone() else { return };
        let line = counters_line(call, counters);
        let file = std::fs::File::options().create(true).append(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            self.report(format!("cannot write counters to {}: {error}", path.display()));
        }
    }
}

impl Failure {
    fn during(self, what: &str) -> Self {
        Self { text: format!("{}; in a queued {what}", self.text), ..self }
    }
}

/// Returns a launch with its counters as a line of JSON. Names of kernels need no escapes.
fn counters_line(call: &KernelCall, counters: &Counters) -> String {
    let Counters {
        instructions,
        global_transactions,
        global_bytes,
        l2_transactions,
        l2_bytes,
        shared_accesses,
        bank_conflicts,
        mma,
        barriers,
    } = counters;
    format!(
        "{{\"kernel\":\"{}\",\"grid\":{:?},\"block\":{:?},\"shared_bytes\":{},\"instructions\":{instructions},\
         \"global_transactions\":{global_transactions},\"global_bytes\":{global_bytes},\"coalescing\":{:.4},\
         \"l2_transactions\":{l2_transactions},\"l2_bytes\":{l2_bytes},\"l2_share\":{:.4},\
         \"shared_accesses\":{shared_accesses},\"bank_conflicts\":{bank_conflicts},\"mma\":{mma},\
         \"barriers\":{barriers},\"launch\":{}}}\n",
        call.kernel,
        call.grid,
        call.block,
        call.shared_bytes,
        counters.coalescing(),
        counters.l2_share(),
        call.launch,
    )
}
