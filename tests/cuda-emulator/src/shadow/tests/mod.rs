//! Correct idioms pass, and the same without one synchronization are races.
mod random;

use super::AccessKind::{AsyncRead, AsyncWrite, Atomic, Read, StrongRead, StrongWrite, Write};
use super::*;

/// A launch of blocks with as many threads each; addresses below `SHARED` are shared memory of the block.
struct Launch {
    clocks: Clocks,
    global: Shadow,
    shared: Vec<Shadow>,
    threads: u32,
}

const GLOBAL: u64 = 1 << 32;

impl Launch {
    fn new(blocks: u32, threads: u32) -> Launch {
        let mut clocks = Clocks::default();
        (0..blocks).for_each(|block| clocks.start_block(block, threads));
        let shared = (0..blocks).map(|_| Shadow::of_shared()).collect();
        Launch { clocks, global: Shadow::of_global(), shared, threads }
    }

    fn access(
        &mut self,
        block: u32,
        thread: u32,
        kind: AccessKind,
        address: u64,
        line: u32,
    ) -> Result<(), ShadowError> {
        let shadow = if address >= GLOBAL { &mut self.global } else { &mut self.shared[block as usize] };
        shadow.access(&self.clocks, ThreadId { block, thread }, kind, address, 4, line)
    }

    fn barrier(&mut self, block: u32) {
        let all: Vec<u32> = (0..self.threads).collect();
        self.clocks.barrier(block, &all, &[]);
    }
}

fn is_race<T>(result: Result<T, ShadowError>) -> bool {
    matches!(result, Err(ShadowError::Race(_)))
}

/// Sums 64 words in shared memory; `synchronize` after each step.
fn tree_reduction(mut synchronize: impl FnMut(&mut Launch, u32)) -> Result<(), ShadowError> {
    let mut launch = Launch::new(1, 64);
    for thread in 0..64 {
        launch.access(0, thread, Write, 4 * u64::from(thread), 1)?;
    }
    let mut stride = 32;
    while stride > 0 {
        synchronize(&mut launch, stride);
        for thread in 0..stride {
            launch.access(0, thread, Read, 4 * u64::from(thread + stride), 2)?;
            launch.access(0, thread, Read, 4 * u64::from(thread), 2)?;
        }
        for thread in 0..stride {
            launch.access(0, thread, Write, 4 * u64::from(thread), 3)?;
        }
        stride /= 2;
    }
    Ok(())
}

#[test]
fn tree_reduction_needs_each_barrier() {
    assert_eq!(tree_reduction(|launch, _| launch.barrier(0)), Ok(()));
    for missing in [32, 16, 8, 4, 2, 1] {
        let result = tree_reduction(|launch, stride| {
            if stride != missing {
                launch.barrier(0);
            }
        });
        assert!(is_race(result), "no barrier at stride {missing}");
    }
}

#[test]
fn lock_step_does_not_order_lanes() {
    let reduce = |sync_in_warp: bool| {
        tree_reduction(|launch, stride| match stride {
            32 => launch.barrier(0),
            _ if sync_in_warp => launch.clocks.sync_warp(0, 0, u32::MAX),
            _ => {}
        })
    };
    assert_eq!(reduce(true), Ok(()), "the last warp with bar.warp.sync");
    assert!(is_race(reduce(false)), "the last warp without");
}

#[test]
fn a_mask_orders_its_lanes_only() {
    let mut launch = Launch::new(1, 40);
    launch.access(0, 0, Write, 0, 1).unwrap();
    launch.clocks.sync_warp(0, 0, 0b0011);
    assert_eq!(launch.access(0, 1, Read, 0, 2), Ok(()));
    assert!(is_race(launch.access(0, 2, Read, 0, 2)));
    // Order is transitive.
    launch.clocks.sync_warp(0, 0, 0b0110);
    assert_eq!(launch.access(0, 2, Read, 0, 3), Ok(()));
    // The second warp has 8 lanes.
    launch.access(0, 32, Write, 64, 4).unwrap();
    launch.clocks.sync_warp(0, 1, u32::MAX);
    assert_eq!(launch.access(0, 39, Read, 64, 5), Ok(()));
}

/// Tiles in turn: threads write one, synchronize, read it.
fn buffered(buffers: u64, barriers_per_step: u32) -> Result<(), ShadowError> {
    let mut launch = Launch::new(1, 64);
    for step in 0..4 {
        let tile = (step % buffers) * 256;
        for thread in 0..64 {
            launch.access(0, thread, Write, tile + 4 * u64::from(thread), 1)?;
        }
        launch.barrier(0);
        for thread in 0..64 {
            launch.access(0, thread, Read, tile + 4 * u64::from(63 - thread), 2)?;
        }
        if barriers_per_step == 2 {
            launch.barrier(0);
        }
    }
    Ok(())
}

#[test]
fn double_buffering_saves_a_barrier() {
    assert_eq!(buffered(1, 2), Ok(()));
    assert_eq!(buffered(2, 1), Ok(()));
    assert!(is_race(buffered(1, 1)));
}

#[test]
fn named_barriers_order_their_participants() {
    let mut launch = Launch::new(1, 128);
    let (producers, consumers): (Vec<u32>, Vec<u32>) = ((0..32).collect(), (32..64).collect());
    launch.access(0, 5, Write, 0, 1).unwrap();
    // Producers arrive and go on; consumers wait.
    launch.clocks.barrier(0, &consumers, &producers);
    assert_eq!(launch.access(0, 40, Read, 0, 2), Ok(()));
    assert!(is_race(launch.access(0, 100, Read, 0, 3)), "not a participant");
    launch.access(0, 50, Write, 4, 4).unwrap();
    launch.clocks.barrier(0, &consumers, &producers);
    assert!(is_race(launch.access(0, 6, Read, 4, 5)), "bar.arrive does not wait");
    assert!(is_race(launch.access(0, 7, Write, 0, 6)), "nor does it order reads before later writes");
}

/// Each block writes a partial sum and counts; the last one reads all.
fn last_block(fence: Option<Scope>, writer_is_counter: bool) -> Result<(), ShadowError> {
    let mut launch = Launch::new(4, 64);
    let (counter, partials) = (GLOBAL, GLOBAL + 64);
    for block in 0..4 {
        let writer = if writer_is_counter { 0 } else { 7 };
        launch.access(block, writer, Write, partials + 4 * u64::from(block), 1)?;
        if !writer_is_counter {
            launch.barrier(block);
        }
        let thread = ThreadId { block, thread: 0 };
        if let Some(scope) = fence {
            launch.clocks.fence(thread, scope);
        }
        launch.access(block, 0, Atomic, counter, 2)?;
        launch.clocks.acquire(thread, Flag::Global(counter), Scope::Device);
        launch.clocks.strong_write(thread, Flag::Global(counter));
    }
    launch.barrier(3);
    for other in 0..4 {
        launch.access(3, 10 + other, Read, partials + 4 * u64::from(other), 3)?;
    }
    Ok(())
}

#[test]
fn the_last_block_needs_the_fence_of_all() {
    for writer_is_counter in [true, false] {
        assert_eq!(last_block(Some(Scope::Device), writer_is_counter), Ok(()));
        assert!(is_race(last_block(None, writer_is_counter)), "no __threadfence");
        assert!(is_race(last_block(Some(Scope::Block), writer_is_counter)), "only __threadfence_block");
    }
}

#[test]
fn each_thread_may_fence_before_the_barrier() {
    let mut launch = Launch::new(2, 32);
    let flag = Flag::Global(GLOBAL);
    for thread in 0..32 {
        launch.access(0, thread, Write, GLOBAL + 64 + 4 * u64::from(thread), 1).unwrap();
        launch.clocks.fence(ThreadId { block: 0, thread }, Scope::Device);
    }
    launch.barrier(0);
    launch.clocks.strong_write(ThreadId { block: 0, thread: 0 }, flag);
    launch.clocks.acquire(ThreadId { block: 1, thread: 0 }, flag, Scope::Device);
    assert_eq!(launch.access(1, 0, Read, GLOBAL + 64 + 4 * 31, 2), Ok(()));
}

#[test]
fn flags_are_polled_with_a_fence_or_acquire() {
    let message = |acquire: bool, fence: bool| {
        let mut launch = Launch::new(2, 1);
        let [producer, consumer] = [0, 1].map(|block| ThreadId { block, thread: 0 });
        let flag = Flag::Global(GLOBAL);
        launch.access(0, 0, Write, GLOBAL + 4, 1)?;
        launch.clocks.release(producer, flag, Scope::Device);
        launch.access(0, 0, StrongWrite, GLOBAL, 2)?;
        launch.access(1, 0, StrongRead, GLOBAL, 3)?;
        match acquire {
            true => launch.clocks.acquire(consumer, flag, Scope::Device),
            false => launch.clocks.strong_read(consumer, flag),
        }
        if fence {
            launch.clocks.fence(consumer, Scope::Device);
        }
        launch.access(1, 0, Read, GLOBAL + 4, 4)
    };
    assert_eq!(message(true, false), Ok(()));
    assert_eq!(message(false, true), Ok(()));
    assert!(is_race(message(false, false)), "ld.volatile without a fence");
}

#[test]
fn blocks_are_not_ordered() {
    let mut launch = Launch::new(3, 32);
    launch.access(0, 0, Write, GLOBAL, 1).unwrap();
    launch.barrier(0);
    launch.clocks.end_block(0);
    assert!(is_race(launch.access(1, 0, Read, GLOBAL, 2)), "an earlier block's write");
    launch.access(1, 5, Read, GLOBAL + 4, 3).unwrap();
    launch.access(2, 6, Read, GLOBAL + 4, 3).unwrap();
    assert!(is_race(launch.access(2, 6, Write, GLOBAL + 4, 4)), "another block's read");
    assert_eq!(launch.access(2, 6, Write, GLOBAL + 8, 5), Ok(()));
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let mut launch = Launch::new(2, 32);
    for (block, thread) in [(0, 0), (0, 1), (1, 0), (0, 1)] {
        launch.access(block, thread, Atomic, GLOBAL, 1).unwrap();
    }
    assert_eq!(launch.access(1, 9, StrongRead, GLOBAL, 2), Ok(()));
    // The last to count may not read plainly either: the others are not ordered before.
    assert!(is_race(launch.access(0, 1, Read, GLOBAL, 3)));
    assert!(is_race(launch.access(0, 1, Write, GLOBAL, 4)));
    launch.access(0, 0, Read, GLOBAL + 4, 5).unwrap();
    assert!(is_race(launch.access(0, 1, Atomic, GLOBAL + 4, 6)));
}

/// A ring of one slot: full and empty phases of two mbarriers.
fn ring(wait_until_empty: bool) -> Result<(), ShadowError> {
    let mut launch = Launch::new(1, 64);
    let (full, empty) = (|step| Flag::Phase(0, 1024, step), |step| Flag::Phase(0, 1032, step));
    let [producer, consumer] = [0, 32].map(|thread| ThreadId { block: 0, thread });
    for step in 0..3u64 {
        if step > 0 && wait_until_empty {
            launch.clocks.acquire(producer, empty(step - 1), Scope::Block);
        }
        launch.access(0, 0, Write, 0, 1)?;
        launch.clocks.release(producer, full(step), Scope::Block);
        launch.clocks.acquire(consumer, full(step), Scope::Block);
        launch.access(0, 32, Read, 0, 2)?;
        launch.clocks.release(consumer, empty(step), Scope::Block);
        launch.clocks.forget(full(step));
    }
    Ok(())
}

#[test]
fn producers_wait_until_a_slot_is_empty() {
    assert_eq!(ring(true), Ok(()));
    assert!(is_race(ring(false)));
}

/// Copies tiles ahead, as many as `stages`; waits until `pending` groups are left, then reads what others copied.
fn pipeline(stages: u64, pending: u64) -> Result<(), ShadowError> {
    let mut launch = Launch::new(1, 32);
    let slot = |step: u64, thread: u64| step % (stages + 1) * 128 + 4 * thread;
    let issue = |launch: &mut Launch, step: u64| {
        for thread in 0..32 {
            launch.access(0, thread, AsyncRead, GLOBAL + step * 128 + 4 * u64::from(thread), 1)?;
            launch.access(0, thread, AsyncWrite, slot(step, thread.into()), 1)?;
        }
        Ok(())
    };
    (0..stages).try_for_each(|step| issue(&mut launch, step))?;
    let mut completed = 0;
    for step in 0..8 {
        let issued = step + stages;
        while completed < issued - pending {
            for thread in 0..32 {
                let id = ThreadId { block: 0, thread };
                let shadow = &mut launch.shared[0];
                shadow.complete_async(&launch.clocks, id, slot(completed, thread.into()), 4);
                let source = GLOBAL + completed * 128 + 4 * u64::from(thread);
                launch.global.complete_async(&launch.clocks, id, source, 4);
            }
            completed += 1;
        }
        launch.barrier(0);
        for thread in 0..32 {
            launch.access(0, thread, Read, slot(step, 31 - u64::from(thread)), 2)?;
        }
        issue(&mut launch, issued)?;
    }
    Ok(())
}

#[test]
fn copies_are_visible_after_their_wait() {
    assert_eq!(pipeline(2, 1), Ok(()));
    assert!(is_race(pipeline(2, 2)), "the wait is one group too lax");
    assert_eq!(pipeline(3, 2), Ok(()));
}

#[test]
fn bytes_in_flight_belong_to_nobody() {
    let mut launch = Launch::new(1, 32);
    launch.access(0, 0, AsyncWrite, 0, 1).unwrap();
    launch.access(0, 0, AsyncRead, GLOBAL, 1).unwrap();
    assert!(is_race(launch.access(0, 0, Read, 0, 2)), "not even to the thread that copies");
    assert!(is_race(launch.access(0, 0, Write, 0, 2)));
    assert!(is_race(launch.access(0, 0, Write, GLOBAL, 3)), "nor the source");
    assert_eq!(launch.access(0, 0, Read, GLOBAL, 3), Ok(()));
    let id = ThreadId { block: 0, thread: 0 };
    launch.shared[0].complete_async(&launch.clocks, id, 0, 4);
    launch.global.complete_async(&launch.clocks, id, GLOBAL, 4);
    assert_eq!(launch.access(0, 0, Read, 0, 4), Ok(()));
    assert_eq!(launch.access(0, 0, Write, GLOBAL, 5), Ok(()));
    assert!(is_race(launch.access(0, 1, Read, 0, 6)), "others need a barrier after the wait");
}

#[test]
fn unwritten_bytes_are_found_one_by_one() {
    let launch = Launch::new(1, 1);
    let mut shadow = Shadow::of_shared();
    let id = ThreadId { block: 0, thread: 0 };
    let mut access = |kind, address, bytes| shadow.access(&launch.clocks, id, kind, address, bytes, 1);
    assert_eq!(access(Read, 8, 4), Err(ShadowError::Unwritten(8)));
    access(Write, 8, 2).unwrap();
    assert_eq!(access(Read, 8, 2), Ok(()));
    assert_eq!(access(Read, 8, 4), Err(ShadowError::Unwritten(10)));
    access(Write, 11, 1).unwrap();
    assert_eq!(access(Read, 8, 4), Err(ShadowError::Unwritten(10)));
    access(StrongWrite, 10, 1).unwrap();
    assert_eq!(access(Read, 8, 4), Ok(()));
    assert_eq!(access(Atomic, 16, 4), Err(ShadowError::Unwritten(16)));
    // Across a page.
    access(Write, 1016, 8).unwrap();
    assert_eq!(access(Read, 1016, 16), Err(ShadowError::Unwritten(1024)));
}

#[test]
fn neighbouring_halves_do_not_race() {
    let launch = Launch::new(1, 64);
    let mut shadow = Shadow::of_shared();
    let mut access = |thread, kind, address, bytes| {
        shadow.access(&launch.clocks, ThreadId { block: 0, thread }, kind, address, bytes, 1)
    };
    access(0, Write, 0, 4).unwrap();
    access(0, Read, 0, 4).unwrap();
    access(40, Write, 4, 2).unwrap();
    access(41, Write, 6, 1).unwrap();
    access(42, Write, 7, 1).unwrap();
    assert!(is_race(access(42, Write, 6, 1)));
    assert!(is_race(access(1, Read, 2, 2)), "the word was split");
}

#[test]
fn races_name_both_accesses() {
    let mut launch = Launch::new(1, 64);
    launch.access(0, 33, Read, GLOBAL + 4, 12).unwrap();
    let error = launch.access(0, 2, Write, GLOBAL + 4, 17).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 0x100000004: write by thread 2 of block 0 in line 17 is not ordered after read by thread 33 of block 0 \
         in line 12"
    );
}

/// Every block reads the same word, as weights are read. Few readers are recorded, but a write by any block races.
#[test]
fn writes_race_with_many_readers() {
    let mut launch = Launch::new(200, 64);
    for block in 0..200 {
        for thread in 0..64 {
            launch.access(block, thread, Read, GLOBAL, 1).unwrap();
        }
    }
    assert!(is_race(launch.access(199, 0, Write, GLOBAL, 2)));
}
