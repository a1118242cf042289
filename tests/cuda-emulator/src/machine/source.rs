//! Values of operands.
use super::{Grid, block::Block, position, warp::Warp};
use crate::{
    lanes::Lanes,
    ptx::{
        op::{Address, Guard, PredicateSource, Source},
        special::Special,
    },
};

/// Multiprocessors of the emulated device, and warps that each holds.
const MULTIPROCESSORS: u32 = 132;
const WARPS_OF_MULTIPROCESSOR: u32 = 64;

impl Guard {
    /// The lanes for which it is true.
    pub(super) fn mask(self, warp: &Warp) -> u32 {
        let mask = warp.predicates[self.predicate as usize];
        if self.is_negated { !mask } else { mask }
    }
}

impl PredicateSource {
    /// The lanes for which it is true.
    pub(super) fn mask(self, warp: &Warp) -> u32 {
        match self {
            PredicateSource::Register(guard) => guard.mask(warp),
            PredicateSource::Constant(true) => u32::MAX,
            PredicateSource::Constant(false) => 0,
        }
    }
}

impl Grid<'_> {
    /// Reads an operand.
    pub(super) fn read(&self, block: &Block, warp: &Warp, source: Source) -> Lanes {
        match source {
            Source::Register(register) => warp.registers[register as usize],
            Source::Immediate(value) => [value; 32],
            Source::Special(special) => self.special(block, warp, special),
            Source::Variable(index, offset) => [self.launch.variables[index as usize].wrapping_add(offset as u64); 32],
        }
    }

    /// The addresses of an access.
    pub(super) fn addresses(&self, block: &Block, warp: &Warp, address: Address) -> Lanes {
        let mut values = self.read(block, warp, address.base);
        for value in &mut values {
            *value = if address.is_narrow {
                u64::from((*value as u32).wrapping_add(address.offset as u32))
            } else {
                value.wrapping_add(address.offset as u64)
            };
        }
        values
    }

    fn special(&self, block: &Block, warp: &Warp, special: Special) -> Lanes {
        let by_lane = |f: fn(u32) -> u32| std::array::from_fn(|lane| u64::from(f(lane as u32)));
        let time = self.counters.instructions;
        let value = match special {
            Special::Tid(axis) => {
                return std::array::from_fn(|lane| {
                    position(32 * warp.index + lane as u32, self.launch.block)[usize::from(axis)].into()
                });
            }
            Special::LaneId => return by_lane(|lane| lane),
            Special::LaneMaskEq => return by_lane(|lane| 1 << lane),
            Special::LaneMaskLt => return by_lane(|lane| (1 << lane) - 1),
            Special::LaneMaskLe => return by_lane(|lane| u32::MAX >> (31 - lane)),
            Special::LaneMaskGe => return by_lane(|lane| u32::MAX << lane),
            Special::LaneMaskGt => return by_lane(|lane| u32::MAX << lane << 1),
            Special::Ntid(axis) => self.launch.block[usize::from(axis)].into(),
            Special::Ctaid(axis) => block.position[usize::from(axis)].into(),
            Special::Nctaid(axis) => self.launch.grid[usize::from(axis)].into(),
            Special::WarpId => warp.index.into(),
            Special::NwarpId => WARPS_OF_MULTIPROCESSOR.into(),
            Special::SmId => (block.number % MULTIPROCESSORS).into(),
            Special::NsmId => MULTIPROCESSORS.into(),
            Special::GridId => 1,
            Special::Clock | Special::GlobalTimerLow => time & 0xffff_ffff,
            Special::Clock64 | Special::GlobalTimer => time,
            Special::ClockHi | Special::GlobalTimerHigh => time >> 32,
            Special::DynamicSharedBytes => self.launch.shared_bytes.into(),
            Special::TotalSharedBytes => block.shared.size().into(),
        };
        [value; 32]
    }
}
