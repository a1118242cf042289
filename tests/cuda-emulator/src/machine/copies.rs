//! `cp.async`: copies from global to shared memory that are pending from their issue to their wait.
//!
//! The source is read at issue, at the wait, or at some time between, as the seed determines. The destination gets its
//! data at the wait: until then an access of it is a race.
use super::{
    Grid, Outcome, Stop,
    block::Block,
    execute::Turn,
    spaces::{ThreadAccess, resolve},
    stop,
    warp::Warp,
};
use crate::{
    fault::{Fault, FaultKind},
    lanes::{self, Lanes, lanes},
    ptx::op::{Op, Space},
    shadow::AccessKind,
};

/// Instructions of a block within which a copy reads its source, or arrives on a mbarrier, that does not have to wait.
const MAX_DELAY: u64 = 256;

/// A copy of a thread.
#[derive(Debug, Clone, Copy)]
struct PendingCopy {
    lane: usize,
    /// Its number in the warp.
    number: u64,
    /// Number of the thread's group that has it, once committed.
    group: Option<u32>,
    dst: u64,
    src: u64,
    bytes: u32,
    /// Bytes that are read; the rest is zeros.
    src_bytes: u32,
    data: Option<[u8; 16]>,
    /// The block's step at which the source is read at the latest.
    read_at: u64,
    pc: usize,
}

/// An arrival on a mbarrier once the thread's copies before it are done.
#[derive(Debug, Clone, Copy)]
struct PendingArrival {
    lane: usize,
    /// Copies of lower numbers are awaited.
    number: u64,
    mbarrier: u64,
    due: u64,
    pc: usize,
}

/// The copies of a warp.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<PendingCopy>,
    arrivals: Vec<PendingArrival>,
    /// Groups that each lane has committed.
    committed: [u32; 32],
    issued: u64,
}

impl Copies {
    /// `cp.async.commit_group`
    pub fn commit(&mut self, mask: u32) {
        for copy in self.pending.iter_mut().filter(|copy| mask >> copy.lane & 1 != 0) {
            copy.group.get_or_insert(self.committed[copy.lane]);
        }
        for lane in lanes(mask) {
            self.committed[lane] += 1;
        }
    }

    /// Takes out the copies for which `done` is true.
    fn take(&mut self, done: impl Fn(&PendingCopy, &[u32; 32]) -> bool) -> Vec<PendingCopy> {
        let committed = self.committed;
        self.pending.extract_if(.., |copy| done(copy, &committed)).collect()
    }
}

impl Grid<'_> {
    pub(super) fn issue_copies(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<()> {
        let Op::CopyAsync { dst, src, bytes, src_bytes, ignore } = turn.instruction.op else { return Ok(()) };
        let (targets, sources) = (self.addresses(block, warp, dst), self.addresses(block, warp, src));
        let sizes = src_bytes.map_or([bytes.into(); 32], |source| self.read(block, warp, source));
        let ignored = ignore.map_or(0, |predicate| predicate.mask(warp));
        let size_of = |lane: usize| if ignored >> lane & 1 != 0 { 0 } else { sizes[lane] as u32 };
        let reading = lanes::filter(turn.mask, |lane| size_of(lane) > 0);
        let pc = warp.splits[turn.split].pc;
        for lane in lanes(turn.mask) {
            let src_bytes = size_of(lane);
            if src_bytes > bytes {
                return self.trap(lane, format!("a copy of {src_bytes} bytes to {bytes}"));
            }
            let delay = [0, self.random.u64(..MAX_DELAY), u64::MAX][self.random.usize(..3)];
            let mut copy = PendingCopy {
                lane,
                number: warp.copies.issued,
                group: None,
                dst: targets[lane],
                src: sources[lane],
                bytes,
                src_bytes,
                data: None,
                read_at: block.steps.saturating_add(delay),
                pc,
            };
            warp.copies.issued += 1;
            let by = ThreadAccess {
                thread: block.thread(warp.index, lane),
                lane,
                kind: AccessKind::AsyncWrite,
                line: turn.instruction.line,
            };
            let checked = self.check_copy(block, by, &copy);
            let read = checked.and_then(|()| if delay == 0 { self.read_source(&mut copy) } else { Ok(()) });
            read.map_err(|kind| Stop { kind: Box::new(kind), lane })?;
            warp.copies.pending.push(copy);
        }
        self.count_access(reading, Space::Global, &sources, (bytes, None));
        self.count_access(turn.mask, Space::Shared, &targets, (bytes, None));
        Ok(())
    }

    /// Checks both sides of a copy, and that its source has been written.
    fn check_copy(&mut self, block: &mut Block, by: ThreadAccess, copy: &PendingCopy) -> Result<(), FaultKind> {
        let ThreadAccess { thread, line, .. } = by;
        block.shared.check(&self.clocks, thread, by.kind, (copy.dst, copy.bytes), line)?;
        block.mbarriers.check_no_mbarrier(copy.dst, copy.bytes)?;
        if !copy.src.is_multiple_of(copy.bytes.into()) {
            return Err(FaultKind::Misaligned { address: copy.src, bytes: copy.bytes });
        }
        if copy.src_bytes > 0 {
            self.memory.bytes(copy.src, copy.src_bytes.into())?;
            self.shadow.access(&self.clocks, thread, AccessKind::AsyncRead, copy.src, copy.src_bytes, line)?;
        }
        Ok(())
    }

    fn read_source(&self, copy: &mut PendingCopy) -> Result<(), FaultKind> {
        if copy.data.is_none() {
            let mut data = [0; 16];
            if copy.src_bytes > 0 {
                self.memory.read(copy.src, &mut data[..copy.src_bytes as usize])?;
            }
            copy.data = Some(data);
        }
        Ok(())
    }

    /// A copy is done: its data are in shared memory.
    fn complete(&mut self, block: &mut Block, warp: u32, mut copy: PendingCopy) -> Result<(), FaultKind> {
        self.read_source(&mut copy)?;
        let thread = block.thread(warp, copy.lane);
        if copy.src_bytes > 0 {
            self.shadow.complete_async(&self.clocks, thread, copy.src, copy.src_bytes);
        }
        let data = copy.data.unwrap_or_default();
        block.shared.complete(&self.clocks, thread, copy.dst, &data[..copy.bytes as usize]);
        Ok(())
    }

    /// Waits until at most `pending` of the latest groups of each lane are pending; for all copies if none.
    pub(super) fn wait_for_copies(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        pending: Option<u32>,
    ) -> Outcome<()> {
        let is_done = |copy: &PendingCopy, committed: &[u32; 32]| {
            let is_awaited = match (pending, copy.group) {
                (None, _) => true,
                (Some(pending), Some(group)) => u64::from(group) + u64::from(pending) < committed[copy.lane].into(),
                (Some(_), None) => false,
            };
            is_awaited && turn.mask >> copy.lane & 1 != 0
        };
        for copy in warp.copies.take(is_done) {
            if let Err(kind) = self.complete(block, warp.index, copy) {
                return stop(copy.lane, kind);
            }
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`
    pub(super) fn arrive_after_copies(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        turn: Turn<'_>,
        addresses: &Lanes,
    ) -> Outcome<()> {
        let pc = warp.splits[turn.split].pc;
        for lane in lanes(turn.mask) {
            let due = block.steps + self.random.u64(..MAX_DELAY);
            let arrival = PendingArrival { lane, number: warp.copies.issued, mbarrier: addresses[lane], due, pc };
            warp.copies.arrivals.push(arrival);
        }
        Ok(())
    }

    /// Reads the sources and arrives on the mbarriers of asynchronous copies whose delay has passed.
    pub(super) fn advance_copies(&mut self, block: &mut Block) -> Result<(), Box<Fault>> {
        for index in 0..block.warps.len() {
            let copies = &block.warps[index].copies;
            if copies.pending.is_empty() && copies.arrivals.is_empty() {
                continue;
            }
            let mut copies = std::mem::take(&mut block.warps[index].copies);
            let result = self.advance_copies_of(block, index as u32, &mut copies);
            block.warps[index].copies = copies;
            result.map_err(|(pc, stop)| self.fault(block, index as u32, pc, stop))?;
        }
        Ok(())
    }

    fn advance_copies_of(&mut self, block: &mut Block, warp: u32, copies: &mut Copies) -> Result<(), (usize, Stop)> {
        let fail = |pc: usize, lane: usize| move |kind| (pc, Stop { kind: Box::new(kind), lane });
        for copy in copies.pending.iter_mut().filter(|copy| copy.read_at <= block.steps) {
            self.read_source(copy).map_err(fail(copy.pc, copy.lane))?;
        }
        let due: Vec<_> = copies.arrivals.extract_if(.., |arrival| arrival.due <= block.steps).collect();
        for arrival in due {
            let awaited = copies.take(|copy, _| copy.lane == arrival.lane && copy.number < arrival.number);
            for copy in awaited {
                self.complete(block, warp, copy).map_err(fail(copy.pc, copy.lane))?;
            }
            let thread = block.thread(warp, arrival.lane);
            let result = self.arrive(block, thread, arrival.mbarrier, 1, false);
            result.map_err(fail(arrival.pc, arrival.lane))?;
        }
        Ok(())
    }

    /// Ends the delay of pending arrivals on mbarriers. Returns false if there are none.
    pub(super) fn end_delays(&self, block: &mut Block) -> bool {
        let mut arrivals = block.warps.iter_mut().flat_map(|warp| &mut warp.copies.arrivals).peekable();
        let found = arrivals.peek().is_some();
        arrivals.for_each(|arrival| arrival.due = 0);
        found
    }
}

/// The offsets in shared memory of addresses of a mask's lanes.
pub(super) fn shared_offsets(mask: u32, space: Space, addresses: &mut [u64; 32]) -> Outcome<()> {
    for lane in lanes(mask) {
        let (found, offset) = resolve(space, addresses[lane]);
        if found != Space::Shared {
            return stop(lane, FaultKind::Trap("an address that is not in shared memory".into()));
        }
        addresses[lane] = offset;
    }
    Ok(())
}
