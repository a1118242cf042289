//! Runs a grid: warps in lock step, masks, reconvergence, barriers.
//!
//! Blocks run one after the other in an order that the seed determines, and the warps of a block in turns whose lengths
//! it determines too, between any two instructions. A warp executes an instruction for all lanes at the same address at
//! once. Lanes that diverged are [`Split`](warp::Split)s. The split with the lowest address runs, so that they
//! reconverge where their paths join; instructions with `.sync` wait for the lanes that they name.
//!
//! | file | what it does |
//! |---|---|
//! | [`block`] | a block's warps and memories; whose turn it is; barriers that complete |
//! | [`warp`] | a warp's registers, splits and turns |
//! | [`execute`] | one instruction |
//! | [`access`], [`spaces`] | loads and stores; the memories by their state space |
//! | [`atomics`] | `atom`, `red` |
//! | [`collective`] | shuffles, votes, matrices: what lanes of a warp do together |
//! | [`copies`] | `cp.async`: pending copies |
//! | [`mbarriers`] | `mbarrier` |
//! | [`read_only`] | constants, and what `ld.global.nc` reads |
mod access;
mod atomics;
mod barriers;
mod block;
mod collective;
mod compute;
mod control;
mod copies;
mod execute;
mod matrices;
mod mbarriers;
mod read_only;
mod source;
mod spaces;
mod warp;

use crate::{
    counters::Counters,
    fault::{Fault, FaultKind},
    l1::L1,
    memory::Memory,
    ptx::{Kernel, Module, op::Code},
    shadow::{Clocks, Shadow},
};

use read_only::ReadOnly;

/// A launch of a kernel.
pub struct Launch<'a> {
    /// The module that has the kernel.
    pub module: &'a Module,
    /// The kernel's name.
    pub kernel: &'a str,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Addresses of the module's variables, in the order of `module.variables`.
    pub variables: &'a [u64],
    /// The parameters, each at its offset in the kernel's list.
    pub params: &'a [u8],
    /// Seed of the order in which blocks and warps run.
    pub seed: u64,
    /// Maximum number of instructions of all warps; more is an error.
    pub max_instructions: u64,
}

/// An error of a lane.
struct Stop {
    kind: Box<FaultKind>,
    lane: usize,
}

/// The result of an instruction for a lane.
type Outcome<T> = Result<T, Stop>;

fn stop<T>(lane: usize, kind: FaultKind) -> Outcome<T> {
    Err(Stop { kind: Box::new(kind), lane })
}

/// State that the blocks of a launch share.
struct Grid<'a> {
    launch: &'a Launch<'a>,
    kernel: &'a Kernel,
    code: &'a Code,
    memory: &'a mut Memory,
    clocks: Clocks,
    /// Accesses of global memory.
    shadow: Shadow,
    read_only: ReadOnly,
    /// L1, for the loads of the block that runs.
    l1: L1,
    counters: Counters,
    random: fastrand::Rng,
}

/// Position along x, y and z of the `index`-th of what has these extents.
fn position(index: u32, extents: [u32; 3]) -> [u32; 3] {
    [index % extents[0], index / extents[0] % extents[1], index / extents[0] / extents[1]]
}

/// Runs a launch to its end.
///
/// # Errors
/// The first error of a thread.
pub fn run(launch: &Launch<'_>, memory: &mut Memory) -> Result<Counters, Box<Fault>> {
    let invalid = |message: String| {
        Box::new(Fault {
            kind: FaultKind::Unsupported(message),
            kernel: launch.kernel.to_string(),
            line: 0,
            instruction: String::new(),
            block: [0; 3],
            thread: [0; 3],
        })
    };
    let kernel = launch.module.kernels.get(launch.kernel);
    let kernel = kernel.ok_or_else(|| invalid("launch of a kernel that the module lacks".into()))?;
    let blocks = count(launch.grid).ok_or_else(|| invalid(format!("grid {:?}", launch.grid)))?;
    let threads = count(launch.block).filter(|&count| count <= 1024);
    let threads = threads.ok_or_else(|| invalid(format!("block {:?}", launch.block)))?;
    if launch.params.len() < kernel.param_bytes as usize {
        return Err(invalid("launch with too few parameters".into()));
    }
    if launch.variables.len() != launch.module.variables.len() {
        return Err(invalid("launch without the addresses of the module's variables".into()));
    }
    let mut grid = Grid {
        launch,
        kernel,
        code: &kernel.code,
        memory,
        clocks: Clocks::default(),
        shadow: Shadow::of_global(),
        read_only: ReadOnly::default(),
        l1: L1::default(),
        counters: Counters::default(),
        random: fastrand::Rng::with_seed(launch.seed),
    };
    // Blocks in the order of an affine permutation: begin + i * step, where step and count have no common divisor.
    let begin = grid.random.u32(..blocks);
    let mut step = grid.random.u32(..blocks) | 1;
    while greatest_common_divisor(step, blocks) != 1 {
        step += 2;
    }
    for i in 0..u64::from(blocks) {
        let number = (u64::from(begin) + i * u64::from(step)) % u64::from(blocks);
        grid.run_block(number as u32, threads)?;
    }
    Ok(grid.counters)
}

fn count(extents: [u32; 3]) -> Option<u32> {
    extents.iter().try_fold(1u32, |count, &extent| count.checked_mul(extent)).filter(|&count| count > 0)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
