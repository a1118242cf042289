//! Loads and stores of a warp.
use super::{
    Grid, Outcome, Stop,
    block::Block,
    execute::Turn,
    spaces::{ThreadAccess, resolve},
    warp::Warp,
};
use crate::{
    counters::{bank_conflicts, global_traffic},
    lanes::{self, Lanes, lanes},
    ptx::op::{Access, Order, Source, Space},
    shadow::{AccessKind, Flag, Scope, ThreadId},
};

impl Grid<'_> {
    /// Counts a warp's access, which has succeeded, by the memories that the lanes address. `cached_for`: the warp, if L1
    /// serves it.
    pub(super) fn count_access(
        &mut self,
        mask: u32,
        space: Space,
        addresses: &Lanes,
        (bytes, cached_for): (u32, Option<u32>),
    ) {
        let in_space = |wanted: Space| lanes::filter(mask, |lane| resolve(space, addresses[lane]).0 == wanted);
        if matches!(space, Space::Generic | Space::Global) {
            let global = in_space(Space::Global);
            let traffic = global_traffic(global, addresses, bytes);
            self.counters.global_transactions += traffic.transactions;
            self.counters.global_bytes += traffic.bytes;
            match cached_for {
                Some(warp) => self.l1.load(warp, global, addresses, bytes),
                None => {
                    self.counters.l2_transactions += traffic.transactions;
                    self.counters.l2_bytes += traffic.bytes;
                }
            }
        }
        if matches!(space, Space::Generic | Space::Shared) {
            let shared = in_space(Space::Shared);
            self.counters.shared_accesses += u64::from(shared != 0);
            self.counters.bank_conflicts += bank_conflicts(shared, addresses, bytes);
        }
    }

    /// The flag that threads synchronise through at an address; none in memories that they do not share.
    pub(super) fn flag(block: &Block, space: Space, address: u64) -> Option<Flag> {
        match space {
            Space::Global => Some(Flag::Global(address)),
            Space::Shared => Some(Flag::Shared(block.number, address)),
            _ => None,
        }
    }

    pub(super) fn execute_load(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        access: &Access,
        dst: &[Option<u32>],
        sign_extend: Option<(u32, u32)>,
    ) -> Outcome<()> {
        let addresses = self.addresses(block, warp, access.address);
        let size = (access.bytes * access.count) as usize;
        let kind = if access.order == Order::Weak { AccessKind::Read } else { AccessKind::StrongRead };
        for lane in lanes(turn.mask) {
            let (space, address) = resolve(access.address.space, addresses[lane]);
            let thread = block.thread(warp.index, lane);
            let by = ThreadAccess { thread, lane, kind, line: turn.instruction.line };
            let mut bytes = [0; 16];
            self.load(block, by, space, address, &mut bytes[..size])?;
            if access.is_read_only && space == Space::Global {
                self.read_as_constant(address, size as u32).map_err(|kind| Stop { kind: Box::new(kind), lane })?;
            }
            if kind == AccessKind::StrongRead {
                self.observe(block, thread, (space, address), access.order.acquires(), access.scope);
            }
            for (element, dst) in bytes[..size].chunks_exact(access.bytes as usize).zip(dst) {
                let Some(dst) = dst else { continue };
                let mut value = from_bytes(element);
                if let Some((from, to)) = sign_extend {
                    value = ((value << (64 - from)) as i64 >> (64 - from)) as u64 & (u64::MAX >> (64 - to));
                }
                warp.registers[*dst as usize][lane] = value;
            }
        }
        let cached_for = (access.order == Order::Weak).then_some(warp.index);
        self.count_access(turn.mask, access.address.space, &addresses, (size as u32, cached_for));
        Ok(())
    }

    /// A strong read: orders the thread behind who released what it reads.
    pub(super) fn observe(&mut self, block: &Block, thread: ThreadId, at: (Space, u64), acquires: bool, scope: Scope) {
        match Self::flag(block, at.0, at.1) {
            Some(flag) if acquires => self.clocks.acquire(thread, flag, scope),
            Some(flag) => self.clocks.strong_read(thread, flag),
            None => {}
        }
    }

    /// A strong write: what the thread did may be ordered before who reads it.
    pub(super) fn publish(&mut self, block: &Block, thread: ThreadId, at: (Space, u64), releases: bool, scope: Scope) {
        match Self::flag(block, at.0, at.1) {
            Some(flag) if releases => self.clocks.release(thread, flag, scope),
            Some(flag) => self.clocks.strong_write(thread, flag),
            None => {}
        }
    }

    pub(super) fn execute_store(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        access: &Access,
        src: &[Source],
    ) -> Outcome<()> {
        let addresses = self.addresses(block, warp, access.address);
        let (width, size) = (access.bytes as usize, (access.bytes * access.count) as usize);
        let kind = if access.order == Order::Weak { AccessKind::Write } else { AccessKind::StrongWrite };
        let mut values = [[0; 32]; 4];
        for (values, &source) in values.iter_mut().zip(src) {
            *values = self.read(block, warp, source);
        }
        for lane in lanes(turn.mask) {
            let (space, address) = resolve(access.address.space, addresses[lane]);
            let thread = block.thread(warp.index, lane);
            let by = ThreadAccess { thread, lane, kind, line: turn.instruction.line };
            let mut bytes = [0; 16];
            for (element, values) in bytes[..size].chunks_exact_mut(width).zip(&values) {
                element.copy_from_slice(&values[lane].to_le_bytes()[..width]);
            }
            if kind == AccessKind::StrongWrite {
                self.publish(block, thread, (space, address), access.order.releases(), access.scope);
            }
            self.store(block, by, space, address, &bytes[..size])?;
        }
        self.count_access(turn.mask, access.address.space, &addresses, (size as u32, None));
        Ok(())
    }
}

/// The integer of up to eight bytes.
pub(super) fn from_bytes(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}
