//! Barriers of blocks and mbarriers.
use crate::support::of_threads;

#[test]
fn barriers_with_numbers_and_counts() {
    // Warp 0 produces, warp 1 waits; warp 2 takes no part.
    let body = ".shared .align 4 .b8 s[128]; mov.u64 %rd5, s; mov.u32 %r2, %warpid; mov.u32 %r3, %laneid; mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd5, %rd6;\n\
        mov.u32 %r0, 0; setp.eq.s32 %p1, %r2, 2; @%p1 bra END; setp.eq.s32 %p2, %r2, 1; @%p2 bra CONSUME;\n\
        st.shared.u32 [%rd7], %r3; bar.arrive 3, 64; bra END;\nCONSUME: bar.sync 3, 64; xor.b32 %r3, %r3, 1; mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd5, %rd6; ld.shared.u32 %r0, [%rd7];\nEND:";
    let expected: Vec<u32> = (0..96).map(|t| if t / 32 == 1 { (t % 32) ^ 1 } else { 0 }).collect();
    assert_eq!(of_threads(body, 96), expected);
}

#[test]
fn barriers_reduce() {
    let run = |text: &str| of_threads(&format!("setp.lt.u32 %p1, %r1, 50; {text};"), 96);
    assert_eq!(run("bar.red.popc.u32 %r0, 0, %p1"), [50; 96]);
    assert_eq!(run("bar.red.or.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2"), [1; 96]);
    assert_eq!(run("barrier.cta.red.and.aligned.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2"), [0; 96]);
}

#[test]
fn warps_that_ended_count_as_arrived() {
    let body = "mov.u32 %r0, 1; st.global.u32 [%rd3], %r0; mov.u32 %r2, %warpid; setp.eq.s32 %p1, %r2, 1; @%p1 exit; bar.sync 0; mov.u32 %r0, 2;";
    let expected: Vec<u32> = (0..96).map(|t| if t / 32 == 1 { 1 } else { 2 }).collect();
    assert_eq!(of_threads(body, 96), expected);
}

/// Barriers that are not aligned wait for threads, not warps.
#[test]
fn threads_that_ended_count_as_arrived() {
    let body = "mov.u32 %r0, 1; st.global.u32 [%rd3], %r0; and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 1; @%p1 exit; barrier.sync 0; mov.u32 %r0, 2;";
    assert_eq!(of_threads(body, 64), (0..64).map(|t| 2 - t % 2).collect::<Vec<_>>());
}

#[test]
fn warp_barriers_order_lanes() {
    let body = ".shared .align 4 .b8 s[128]; mov.u64 %rd5, s; add.s64 %rd6, %rd5, %rd2; st.shared.u32 [%rd6], %r1; bar.warp.sync -1;\n\
        xor.b32 %r2, %r1, 3; mul.wide.u32 %rd7, %r2, 4; add.s64 %rd8, %rd5, %rd7; ld.shared.u32 %r0, [%rd8];";
    assert_eq!(of_threads(body, 32), (0..32).map(|t| t ^ 3).collect::<Vec<_>>());
}

const MBARRIER: &str = ".shared .align 8 .b8 b[8]; .shared .align 4 .b8 s[256]; mov.u64 %rd5, b; mov.u64 %rd6, s; add.s64 %rd7, %rd6, %rd2;\n\
    setp.eq.s32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%rd5], 64; bar.sync 0;\n";

#[test]
fn mbarriers_order_by_parity() {
    let body = format!(
        "{MBARRIER} st.shared.u32 [%rd7], %r1; mbarrier.arrive.shared.b64 _, [%rd5];\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%rd5], 0; @!%p2 bra WAIT;\n\
         xor.b32 %r2, %r1, 63; mul.wide.u32 %rd8, %r2, 4; add.s64 %rd9, %rd6, %rd8; ld.shared.u32 %r0, [%rd9];"
    );
    assert_eq!(of_threads(&body, 64), (0..64).map(|t| t ^ 63).collect::<Vec<_>>());
}

#[test]
fn mbarriers_order_by_state() {
    let body = format!(
        "{MBARRIER} st.shared.u32 [%rd7], %r1; mbarrier.arrive.release.cta.shared::cta.b64 %rd10, [%rd5];\n\
         WAIT: mbarrier.test_wait.shared.b64 %p2, [%rd5], %rd10; @!%p2 bra WAIT;\n\
         xor.b32 %r2, %r1, 63; mul.wide.u32 %rd8, %r2, 4; add.s64 %rd9, %rd6, %rd8; ld.shared.u32 %r0, [%rd9];"
    );
    assert_eq!(of_threads(&body, 64), (0..64).map(|t| t ^ 63).collect::<Vec<_>>());
}
