//! What lanes of a warp do together.
use crate::support::of_threads;

#[test]
fn shuffles() {
    let expected = |f: &dyn Fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    let value = "mad.lo.s32 %r2, %r1, 10, 1;";
    let shuffle = |text: &str| of_threads(&format!("{value} shfl.sync.{text};"), 32);
    assert_eq!(shuffle("bfly.b32 %r0, %r2, 5, 31, -1"), expected(&|t| 10 * (t ^ 5) + 1));
    assert_eq!(shuffle("idx.b32 %r0, %r2, 3, 31, -1"), [31; 32]);
    assert_eq!(shuffle("down.b32 %r0, %r2, 4, 31, -1"), expected(&|t| 10 * (if t < 28 { t + 4 } else { t }) + 1));
    assert_eq!(shuffle("up.b32 %r0, %r2, 4, 0, -1"), expected(&|t| 10 * (if t >= 4 { t - 4 } else { t }) + 1));
    // Segments of eight lanes.
    assert_eq!(
        shuffle("down.b32 %r0, %r2, 4, 0x181f, -1"),
        expected(&|t| 10 * (if t % 8 < 4 { t + 4 } else { t }) + 1)
    );
    assert_eq!(shuffle("down.b32 %r3|%p1, %r2, 4, 31, -1; selp.u32 %r0, 1, 0, %p1"), expected(&|t| u32::from(t < 28)));
}

#[test]
fn votes_and_matches() {
    let run = |text: &str| of_threads(&format!("setp.lt.u32 %p1, %r1, 5; and.b32 %r2, %r1, 3; {text};"), 32);
    assert_eq!(run("vote.sync.ballot.b32 %r0, %p1, -1"), [0x1f; 32]);
    assert_eq!(run("vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2"), [1; 32]);
    assert_eq!(run("vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2"), [0; 32]);
    assert_eq!(run("vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2"), [0; 32]);
    assert_eq!(run("match.any.sync.b32 %r0, %r2, -1")[..4], [0x1111_1111, 0x2222_2222, 0x4444_4444, 0x8888_8888]);
    assert_eq!(run("match.all.sync.b32 %r3|%p2, %r2, -1; selp.u32 %r0, 1, 0, %p2"), [0; 32]);
    assert_eq!(run("redux.sync.add.s32 %r0, %r1, -1"), [496; 32]);
    assert_eq!(run("redux.sync.max.u32 %r0, %r1, -1"), [31; 32]);
    assert_eq!(run("elect.sync %r0|%p2, -1"), [0; 32]);
}

/// Lanes whose member masks differ execute the instruction apart, and lanes that diverged wait for each other.
#[test]
fn member_masks() {
    let halves = "setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1; redux.sync.add.u32 %r0, %r1, %r2;";
    let expected: Vec<u32> = (0..32).map(|t| if t < 16 { 120 } else { 376 }).collect();
    assert_eq!(of_threads(halves, 32), expected);
    let diverged =
        "mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 9; @%p1 bra LOW; mov.u32 %r2, 1; LOW: redux.sync.add.u32 %r0, %r2, -1;";
    assert_eq!(of_threads(diverged, 32), [23; 32]);
    let guarded = "mov.u32 %r0, 9; setp.lt.u32 %p1, %r1, 9; @%p1 redux.sync.add.u32 %r0, %r1, 0x1ff;";
    assert_eq!(of_threads(guarded, 32)[8..10], [36, 9]);
}

#[test]
fn matrices() {
    // Each lane stores row t of eight matrices of 16-bit numbers 8 * row + column, and reads a fragment.
    let body = ".shared .align 16 .b8 s[512]; mov.u64 %rd5, s; mul.wide.u32 %rd6, %r1, 16; add.s64 %rd7, %rd5, %rd6;\n\
        mul.lo.u32 %r2, %r1, 0x80008; add.u32 %r3, %r2, 0x10000; add.u32 %r4, %r2, 0x30002; add.u32 %r5, %r2, 0x50004; add.u32 %r6, %r2, 0x70006;\n\
        st.shared.v4.b32 [%rd7], {%r3, %r4, %r5, %r6}; bar.sync 0;\n";
    let plain = of_threads(&format!("{body} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r0}}, [%rd7];"), 32);
    assert_eq!(plain, (0..32).map(|t| (8 * (t / 4) + 2 * (t % 4)) * 0x10001 + 0x10000).collect::<Vec<_>>());
    let last = of_threads(
        &format!("{body} ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%r7, %r8, %r9, %r0}}, [%rd7];"),
        32,
    );
    let element = |row: u32, column: u32| 8 * row + column;
    let expected = (0..32).map(|t| element(24 + 2 * (t % 4), t / 4) | element(25 + 2 * (t % 4), t / 4) << 16);
    assert_eq!(last, expected.collect::<Vec<_>>());
}

#[test]
fn mma_of_ones() {
    // A and B of ones: every element of D is C + 16.
    let body = "mov.b32 %r2, 0x3F803F80; mov.b32 %r3, 0f3F800000;\n\
        mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r10, %r11, %r12, %r0}, {%r2, %r2, %r2, %r2}, {%r2, %r2}, {%r3, %r3, %r3, %r3};";
    assert_eq!(of_threads(body, 32), [17f32.to_bits(); 32]);
}
