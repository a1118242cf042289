//! Reductions by shuffles, shared memory and a last block, and the same with planted faults.
use hammock_cuda_emulator::fault::FaultKind;

use crate::support::{Call, SEEDS, kernel};

/// What may be wrong with the kernel.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    /// The partial sum of a block is counted before it is known to be visible.
    NoFence,
    /// The fence reaches the threads of the block only.
    NarrowFence,
    /// Warps' sums are read before the other warps wrote them.
    NoBarrier,
    /// The first thread reads whether its block is the last one before it knows.
    NoSecondBarrier,
    /// A step of the butterfly is left out.
    NoStep,
}

/// Sums the lanes of `%r10` by a butterfly over `lanes` lanes.
fn butterfly(lanes: u32, plant: Plant) -> String {
    let steps = (0..lanes.ilog2()).filter(|&step| !(plant == Plant::NoStep && step == 2));
    let add =
        |step| format!("shfl.sync.bfly.b32 %r11, %r10, {}, 31, 0xffffffff;\nadd.f32 %r10, %r10, %r11;\n", 1 << step);
    steps.map(add).collect()
}

/// `out[0] = sum(x)`, each block 256 numbers, of which the last block sums the partial sums.
fn last_block(plant: Plant, blocks: u32) -> String {
    let barrier = |missing| if plant == missing { "" } else { "bar.sync 0;" };
    let fence = match plant {
        Plant::NoFence => "",
        Plant::NarrowFence => "membar.cta;",
        _ => "membar.gl;",
    };
    kernel(
        ".param .u64 x, .param .u64 partials, .param .u64 count, .param .u64 out",
        &format!(
            ".shared .align 4 .b8 sums[32];
            .shared .align 4 .b8 is_last[4];
            ld.param.u64 %rd1, [x];
            ld.param.u64 %rd2, [partials];
            ld.param.u64 %rd3, [count];
            ld.param.u64 %rd4, [out];
            mov.u32 %r1, %tid.x;
            mov.u32 %r2, %ctaid.x;
            and.b32 %r3, %r1, 31;
            shr.u32 %r4, %r1, 5;
            mad.lo.u32 %r5, %r2, 256, %r1;
            mul.wide.u32 %rd5, %r5, 4;
            add.u64 %rd5, %rd1, %rd5;
            ld.global.f32 %r10, [%rd5];
            {in_warp}
            mov.u32 %r20, sums;
            shl.b32 %r21, %r4, 2;
            add.u32 %r21, %r20, %r21;
            setp.eq.u32 %p1, %r3, 0;
            @%p1 st.shared.f32 [%r21], %r10;
            {barrier}
            setp.ne.u32 %p2, %r4, 0;
            @%p2 bra wait;
            shl.b32 %r21, %r3, 2;
            add.u32 %r21, %r20, %r21;
            setp.lt.u32 %p3, %r3, 8;
            mov.f32 %r10, 0f00000000;
            @%p3 ld.shared.f32 %r10, [%r21];
            {in_warp}
            @!%p1 bra wait;
            mul.wide.u32 %rd5, %r2, 4;
            add.u64 %rd5, %rd2, %rd5;
            st.global.f32 [%rd5], %r10;
            {fence}
            atom.global.add.u32 %r12, [%rd3], 1;
            setp.eq.u32 %p4, %r12, {last};
            selp.u32 %r12, 1, 0, %p4;
            st.shared.u32 [is_last], %r12;
            wait:
            {second_barrier}
            ld.shared.u32 %r13, [is_last];
            setp.eq.u32 %p5, %r13, 0;
            @%p5 ret;
            setp.ge.u32 %p6, %r1, {blocks};
            @%p6 ret;
            mul.wide.u32 %rd5, %r1, 4;
            add.u64 %rd5, %rd2, %rd5;
            ld.global.f32 %r10, [%rd5];
            red.global.add.f32 [%rd4], %r10;
            ret;",
            in_warp = butterfly(32, plant),
            barrier = barrier(Plant::NoBarrier),
            second_barrier = barrier(Plant::NoSecondBarrier),
            last = blocks - 1,
        ),
    )
}

/// Runs the kernel on small integers; the sum, and the sum that is right.
fn sum(plant: Plant, seed: u64) -> Result<(f32, f32), FaultKind> {
    let blocks = 5;
    let values: Vec<f32> = (0..256 * blocks).map(|i| (i * 7 % 13) as f32).collect();
    let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    let call = Call::new(&last_block(plant, blocks), blocks, 256).input(&bits);
    let (call, _) = call.output(blocks as usize);
    let call = call.input(&[0]);
    let mut call = call.input(&[0]);
    let out = u64::from_le_bytes(call.params[24..].try_into().unwrap());
    call.run(seed).map_err(|fault| fault.kind)?;
    Ok((f32::from_bits(call.words(out, 1)[0]), values.iter().sum()))
}

#[test]
fn the_last_block_sums_all() {
    for seed in SEEDS {
        let (found, expected) = sum(Plant::Nothing, seed).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[test]
fn partial_sums_need_a_fence_of_the_device() {
    for plant in [Plant::NoFence, Plant::NarrowFence] {
        for seed in SEEDS {
            let fault = sum(plant, seed).unwrap_err();
            assert!(matches!(&fault, FaultKind::Race(message) if message.contains("of block")), "{fault}");
        }
    }
}

#[test]
fn sums_of_warps_need_a_barrier() {
    for plant in [Plant::NoBarrier, Plant::NoSecondBarrier] {
        for seed in SEEDS {
            let fault = sum(plant, seed).unwrap_err();
            // A warp may also be so fast that the others have not written yet.
            assert!(matches!(fault, FaultKind::Race(_) | FaultKind::Unwritten(_)), "{fault}");
        }
    }
}

#[test]
fn a_missing_step_of_the_butterfly_gives_a_wrong_sum() {
    let (found, expected) = sum(Plant::NoStep, 0).unwrap();
    assert_ne!(found, expected);
}
