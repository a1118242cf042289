//! The functions of the CUDA driver: contexts, modules, streams, events, graphs, faults on request.
//!
//! [`Driver`] has all state, behind one lock; [`abi`] exports the C functions over it. Whatever the API lets a driver
//! postpone is queued (`queue`), and runs only once the program waits for it, or once something that it waits for
//! depends on it. So a missing synchronisation gives a wrong result or an error.
//!
//! | module | what it has |
//! |---|---|
//! | `config` | the emulated machine and faults on request, from the environment |
//! | `device` | properties and attributes of devices |
//! | `contexts`, `leaks` | contexts, the current one of each thread, what they leave behind |
//! | `modules`, `launches`, `occupancy` | PTX images, kernels, checks of launches |
//! | `allocations`, `pools`, `host`, `pointers` | device memory, memory pools, pinned host memory, attributes of pointers |
//! | `copies` | copies and fills, and how far each is synchronous |
//! | `queue`, `work` | queued operations, their order, and what each does when it runs |
//! | `streams`, `events` | streams with the default stream's semantics, events |
//! | `capture`, `graphs` | stream capture, graphs, their executables |
//! | `cublas` | matmuls of cuBLASLt |
//! | `abi` | the exported functions |
pub mod abi;
mod allocations;
mod capture;
mod code;
mod config;
mod contexts;
mod copies;
mod cublas;
mod device;
mod events;
mod graph_nodes;
mod graphs;
mod host;
mod launches;
mod leaks;
mod modules;
mod occupancy;
mod pointers;
mod pools;
mod queue;
mod streams;
mod table;
mod work;

use crate::memory::Memory;
pub use code::{Code, Result};
pub use config::{Config, Leaks};
pub use launches::LaunchArguments;
pub use table::Handle;

use self::{
    allocations::Owner,
    capture::{Capture, Mode},
    contexts::{Context, Primary},
    cublas::Cublas,
    events::Event,
    graphs::{Exec, Graph},
    host::HostMemory,
    modules::{Function, Image},
    pools::Pool,
    queue::Queue,
    streams::Stream,
    table::Table,
};
use rustc_hash::FxHashMap;
use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::{self, ThreadId},
};

/// A thread of the program.
#[derive(Debug, Default)]
struct Thread {
    /// Contexts that the thread pushed; the last one is current.
    contexts: Vec<Handle>,
    /// Which calls are refused while streams are captured.
    capture_mode: Mode,
}

/// Numbers of operations that can be made to fail.
#[derive(Debug, Default)]
struct Counts {
    allocations: u64,
    launches: u64,
    runs: u64,
}

/// The state of the driver.
#[derive(Debug)]
pub struct Driver {
    config: Config,
    is_initialized: bool,
    memory: Memory,
    host: HostMemory,
    owners: BTreeMap<u64, Owner>,
    used: Vec<u64>,
    contexts: Table<Context>,
    primaries: Vec<Primary>,
    modules: Table<Arc<Image>>,
    functions: Table<Function>,
    streams: Table<Stream>,
    events: Table<Event>,
    graphs: Table<Graph>,
    execs: Table<Exec>,
    pools: Table<Pool>,
    captures: Table<Capture>,
    cublas: Cublas,
    queue: Queue,
    threads: FxHashMap<ThreadId, Thread>,
    counts: Counts,
    last_handle: Handle,
    random: fastrand::Rng,
    /// Time that has passed on the devices, in nanoseconds: a fixed cost for each operation and instruction.
    clock: u64,
    last_fault: String,
    /// Nodes whose address the program was given, until the next such call.
    returned_nodes: Vec<Handle>,
}

impl Driver {
    /// Returns a driver that is not initialized yet.
    pub fn new(config: Config) -> Self {
        let devices = config.devices as usize;
        let random = fastrand::Rng::with_seed(config.seed);
        let mut driver = Self {
            config,
            is_initialized: false,
            memory: Memory::default(),
            host: HostMemory::default(),
            owners: BTreeMap::new(),
            used: vec![0; devices],
            contexts: Table::default(),
            primaries: vec![Primary::default(); devices],
            modules: Table::default(),
            functions: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            graphs: Table::default(),
            execs: Table::default(),
            pools: Table::default(),
            captures: Table::default(),
            cublas: Cublas::default(),
            queue: Queue::default(),
            threads: FxHashMap::default(),
            counts: Counts::default(),
            last_handle: 0x1000,
            random,
            clock: 0,
            last_fault: String::new(),
            returned_nodes: Vec::new(),
        };
        driver.create_default_pools();
        driver
    }

    /// Initializes the driver.
    ///
    /// # Errors
    /// If the machine has no device, or `flags` is not 0.
    pub fn initialize(&mut self, flags: u32) -> Result {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if self.config.no_device || self.config.devices == 0 {
            return Err(Code::NO_DEVICE);
        }
        self.is_initialized = true;
        Ok(())
    }

    /// Returns the text of the last fault, or an empty text.
    pub fn last_fault(&self) -> &str {
        &self.last_fault
    }

    fn new_handle(&mut self) -> Handle {
        self.last_handle += 16;
        self.last_handle
    }

    fn thread(&mut self) -> &mut Thread {
        self.threads.entry(thread::current().id()).or_default()
    }

    /// Prints what is wrong, and keeps it for tests.
    fn report(&mut self, text: String) {
        eprintln!("cuda emulator: {text}");
        self.last_fault = text;
    }

    /// Reports something that the emulator lacks.
    fn unsupported(&mut self, what: &str) -> Code {
        self.report(format!("unsupported: {what}"));
        Code::NOT_SUPPORTED
    }
}
