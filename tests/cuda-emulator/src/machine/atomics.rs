//! `atom` and `red`.
use super::{
    Grid, Outcome,
    access::from_bytes,
    block::Block,
    execute::Turn,
    spaces::{ThreadAccess, resolve},
    warp::Warp,
};
use crate::{
    arith::{Modifiers, Type, binary},
    fault::FaultKind,
    ptx::op::{AtomicOp, Op, Space},
    shadow::AccessKind,
};

impl Grid<'_> {
    /// Executes an atomic operation for the lanes one after the other, beginning with any.
    pub(super) fn execute_atomic(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<()> {
        let Op::Atomic { access, op, ty, dst, b, c } = &turn.instruction.op else { return Ok(()) };
        let addresses = self.addresses(block, warp, access.address);
        let (b, c) = (self.read(block, warp, *b), self.read(block, warp, *c));
        let begin = self.random.usize(..32);
        for lane in (0..32).map(|i| (begin + i) % 32).filter(|&lane| turn.mask >> lane & 1 != 0) {
            let (space, address) = resolve(access.address.space, addresses[lane]);
            if !matches!(space, Space::Global | Space::Shared) {
                return super::stop(lane, FaultKind::Unsupported("an atomic operation on local memory".into()));
            }
            let thread = block.thread(warp.index, lane);
            let by = ThreadAccess { thread, lane, kind: AccessKind::Atomic, line: turn.instruction.line };
            let mut bytes = [0; 8];
            let bytes = &mut bytes[..access.bytes as usize];
            self.load(block, by, space, address, bytes)?;
            let old = from_bytes(bytes);
            if access.order.acquires() || dst.is_some() {
                self.observe(block, thread, (space, address), true, access.scope);
            }
            self.publish(block, thread, (space, address), access.order.releases(), access.scope);
            let new = update(*op, *ty, space, [old, b[lane], c[lane]]);
            bytes.copy_from_slice(&new.to_le_bytes()[..access.bytes as usize]);
            self.store(block, by, space, address, bytes)?;
            if let Some(dst) = dst {
                warp.registers[*dst as usize][lane] = old;
            }
        }
        self.count_access(turn.mask, access.address.space, &addresses, (access.bytes, None));
        Ok(())
    }
}

/// The value that an atomic operation stores.
fn update(op: AtomicOp, ty: Type, space: Space, [old, b, c]: [u64; 3]) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match op {
        // On global memory `f32` flushes subnormals, on shared memory it does not.
        AtomicOp::Arithmetic(op, modifiers) => {
            let ftz = ty == Type::F32 && space == Space::Global;
            binary(op, ty, Modifiers { ftz, ..modifiers }, old, b)
        }
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap if old & ty.mask() == b & ty.mask() => c,
        AtomicOp::CompareAndSwap => old,
        AtomicOp::Increment if old32 >= b32 => 0,
        AtomicOp::Increment => u64::from(old32 + 1),
        AtomicOp::Decrement if old32 == 0 || old32 > b32 => u64::from(b32),
        AtomicOp::Decrement => u64::from(old32 - 1),
    }
}
