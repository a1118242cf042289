//! Runs kernels given as text.
use hammock_cuda_emulator::{
    counters::Counters,
    fault::{Fault, FaultKind},
    machine::{Launch, run},
    memory::Memory,
    ptx::Module,
};

/// Seeds with which each kernel runs: orders of blocks and warps.
pub const SEEDS: std::ops::Range<u64> = 0..12;

/// A kernel `k` with the parameters and body, and registers of all widths.
pub fn kernel(params: &str, body: &str) -> String {
    module(&format!(
        ".visible .entry k({params})\n{{\n.reg .pred %p<32>;\n.reg .b16 %rs<64>;\n.reg .b32 %r<128>;\n.reg .b64 %rd<64>;\n{body}\n}}"
    ))
}

/// A module with the items.
pub fn module(items: &str) -> String {
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{items}\n")
}

/// A launch of the kernel `k`.
pub struct Call {
    pub module: Module,
    pub grid: u32,
    pub block: u32,
    pub shared: u32,
    pub params: Vec<u8>,
    pub memory: Memory,
    pub max_instructions: u64,
}

impl Call {
    pub fn new(text: &str, grid: u32, block: u32) -> Call {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let memory = Memory::default();
        Call { module, grid, block, shared: 0, params: Vec::new(), memory, max_instructions: 1 << 22 }
    }

    pub fn shared(mut self, bytes: u32) -> Call {
        self.shared = bytes;
        self
    }

    pub fn number(mut self, value: u32) -> Call {
        self.params.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn pointer(mut self, address: u64) -> Call {
        self.params.resize(self.params.len().next_multiple_of(8), 0);
        self.params.extend_from_slice(&address.to_le_bytes());
        self
    }

    /// Adds a parameter: memory that has the numbers.
    pub fn input(self, values: &[u32]) -> Call {
        let mut call = self;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let address = call.memory.allocate(bytes.len() as u64).unwrap();
        call.memory.write(address, &bytes).unwrap();
        call.pointer(address)
    }

    /// Adds a parameter: memory of this many numbers, unwritten.
    pub fn output(self, count: usize) -> (Call, u64) {
        let mut call = self;
        let address = call.memory.allocate(4 * count as u64).unwrap();
        (call.pointer(address), address)
    }

    pub fn run(&mut self, seed: u64) -> Result<Counters, Box<Fault>> {
        // Variables are allocated as the driver does it.
        let sizes: Vec<u64> = self.module.variables.iter().map(|variable| variable.bytes).collect();
        let variables: Vec<u64> = sizes.iter().map(|&bytes| self.memory.allocate(bytes).unwrap()).collect();
        for (variable, &address) in self.module.variables.iter().zip(&variables) {
            let mut bytes = variable.init.clone();
            bytes.resize(variable.bytes as usize, 0);
            for &(offset, target, addend) in &variable.relocations {
                let value = variables[target].wrapping_add(addend as u64);
                bytes[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
            }
            self.memory.write(address, &bytes).unwrap();
        }
        let launch = Launch {
            module: &self.module,
            kernel: "k",
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            shared_bytes: self.shared,
            variables: &variables,
            params: &self.params,
            seed,
            max_instructions: self.max_instructions,
        };
        run(&launch, &mut self.memory)
    }

    pub fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }
}

/// What a kernel with one parameter, its output, writes for every seed.
pub fn output(body: &str, block: u32, count: usize) -> Vec<u32> {
    let mut results = SEEDS.map(|seed| {
        let (mut call, address) = Call::new(&kernel(".param .u64 out", body), 1, block).output(count);
        call.run(seed).unwrap_or_else(|fault| panic!("{fault}"));
        call.words(address, count)
    });
    let first = results.next().unwrap();
    assert!(results.all(|other| other == first), "results depend on the order");
    first
}

/// The fault of a kernel with one parameter, its output of 256 numbers, for every seed.
pub fn faults(body: &str, grid: u32, block: u32) -> Vec<Option<FaultKind>> {
    SEEDS
        .map(|seed| {
            let (mut call, _) = Call::new(&kernel(".param .u64 out", body), grid, block).output(256);
            call.run(seed).err().map(|fault| fault.kind)
        })
        .collect()
}

/// The beginning of a body: `%rd1` is the output, `%r1` the thread, `%rd3` the address of the thread's number.
pub const PROLOGUE: &str =
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";

/// Numbers that each of `block` threads leaves in `%r0`.
pub fn of_threads(body: &str, block: u32) -> Vec<u32> {
    output(&format!("{PROLOGUE}{body}\nst.global.u32 [%rd3], %r0;\nret;"), block, block as usize)
}
