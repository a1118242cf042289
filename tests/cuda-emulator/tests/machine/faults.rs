//! Mistakes in kernels that a GPU lets pass, each of which must be reported whatever the order of warps.
use crate::support::{Call, PROLOGUE, SEEDS, faults, kernel};
use hammock_cuda_emulator::fault::FaultKind;

/// Checks the fault of a body for every seed.
fn expect(body: &str, block: u32, is_expected: impl Fn(&FaultKind) -> bool) {
    for (seed, kind) in faults(&format!("{PROLOGUE}{body}\nret;"), 1, block).into_iter().enumerate() {
        assert!(kind.as_ref().is_some_and(&is_expected), "seed {seed}: {kind:?}\n{body}");
    }
}

const SHARED: &str = ".shared .align 16 .b8 s[256]; mov.u64 %rd5, s; add.s64 %rd6, %rd5, %rd2;";
const READ_OTHER: &str =
    "xor.b32 %r2, %r1, 33; mul.wide.u32 %rd7, %r2, 4; add.s64 %rd8, %rd5, %rd7; ld.shared.u32 %r3, [%rd8];";

#[test]
fn a_missing_barrier_is_a_race() {
    // Depending on the order, the other thread has not written at all.
    expect(&format!("{SHARED} st.shared.u32 [%rd6], %r1; {READ_OTHER}"), 64, |kind| {
        matches!(kind, FaultKind::Race(_) | FaultKind::Unwritten(_))
    });
    // A read that a write of another thread follows.
    let body = format!("{SHARED} st.shared.u32 [%rd6], %r1; bar.sync 0; {READ_OTHER} st.shared.u32 [%rd6], %r1;");
    expect(&body, 64, |kind| matches!(kind, FaultKind::Race(_)));
}

#[test]
fn races_of_global_memory() {
    expect("st.global.u32 [%rd1], %r1;", 64, |kind| matches!(kind, FaultKind::Race(_)));
    // Between blocks.
    for kind in faults(&format!("{PROLOGUE} st.global.u32 [%rd3], %r1; ret;"), 2, 32) {
        assert!(matches!(kind, Some(FaultKind::Race(_))), "{kind:?}");
    }
}

#[test]
fn unwritten_memory() {
    expect(&format!("{SHARED} ld.shared.u32 %r3, [%rd6];"), 32, |kind| matches!(kind, FaultKind::Unwritten(_)));
    expect("ld.global.u32 %r3, [%rd3];", 32, |kind| kind.to_string().contains("unwritten"));
    expect(".local .b32 l; ld.local.u32 %r3, [l];", 32, |kind| matches!(kind, FaultKind::UnwrittenLocal(0)));
}

#[test]
fn a_tail_off_by_one_is_out_of_bounds() {
    // 256 numbers, of which thread 255 writes the 257th.
    expect("st.global.u32 [%rd3+4], %r1;", 256, |kind| matches!(kind, FaultKind::Global(_)));
    expect(&format!("{SHARED} st.shared.u32 [%rd6+4], %r1;"), 64, |kind| {
        matches!(kind, FaultKind::SharedOutOfBounds { offset: 256, bytes: 4, size: 256 })
    });
    expect(".local .b32 l; st.local.u32 [l+4], 1;", 1, |kind| matches!(kind, FaultKind::OutOfBounds { .. }));
}

#[test]
fn misaligned_vectors() {
    expect("mov.u64 %rd9, 0; st.global.v2.u32 [%rd3], {%r1, %r1};", 64, |kind| kind.to_string().contains("misaligned"));
    expect(&format!("{SHARED} st.shared.v4.u32 [%rd5+8], {{%r1, %r1, %r1, %r1}};"), 1, |kind| {
        matches!(kind, FaultKind::Misaligned { address: 8, bytes: 16 })
    });
}

#[test]
fn divergent_barriers() {
    // Within a warp: half of the lanes skip it.
    expect("setp.lt.u32 %p1, %r1, 16; @%p1 bra END; bar.sync 0;\nEND:", 32, |kind| {
        matches!(kind, FaultKind::DivergentBarrier(_))
    });
    // Two paths with a barrier each.
    expect("setp.lt.u32 %p1, %r1, 16; @%p1 bra B; bar.sync 0; bra END;\nB: bar.sync 0;\nEND:", 32, |kind| {
        matches!(kind, FaultKind::DivergentBarrier(_))
    });
    // Threads that end before others of their warp wait.
    expect("setp.lt.u32 %p1, %r1, 16; @%p1 exit; bar.sync 0;", 32, |kind| {
        matches!(kind, FaultKind::DivergentBarrier(_))
    });
    // Warps that wait at different barriers.
    expect("setp.lt.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1; bra END;\nB: bar.sync 2;\nEND:", 64, |kind| {
        matches!(kind, FaultKind::Deadlock(_))
    });
    expect("setp.lt.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1, 64; bra END;\nB: bar.sync 1;\nEND:", 64, |kind| {
        matches!(kind, FaultKind::DivergentBarrier(_))
    });
}

#[test]
fn warps_that_lack_lanes() {
    expect("setp.lt.u32 %p1, %r1, 16; @%p1 vote.sync.any.pred %p2, %p1, 0xff;", 32, |kind| {
        matches!(kind, FaultKind::DivergentWarp(_))
    });
    expect(
        "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.warp.sync -1; bra END;\nA: bar.warp.sync -1;\nEND:",
        32,
        |kind| matches!(kind, FaultKind::Deadlock(_)),
    );
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r2, %r3, %r4, %r5}, {%r6, %r6, %r6, %r6}, {%r6, %r6}, {%r6, %r6, %r6, %r6};";
    expect(mma, 16, |kind| matches!(kind, FaultKind::DivergentWarp(_)));
    expect("setp.lt.u32 %p1, %r1, 16; @%p1 bra.uni END;\nEND:", 32, |kind| matches!(kind, FaultKind::DivergentWarp(_)));
}

#[test]
fn traps() {
    expect("trap;", 32, |kind| matches!(kind, FaultKind::Trap(_)));
    expect("sub.s32 %r2, %r1, 3; div.s32 %r3, %r1, %r2;", 32, |kind| kind.to_string().contains("division"));
    expect("T: .branchtargets END;\nbrx.idx %r1, T;\nEND:", 32, |kind| kind.to_string().contains("branch targets"));
}

#[test]
fn wrong_uses_of_mbarriers() {
    let begin = ".shared .align 8 .b8 b[8]; mov.u64 %rd5, b; ";
    expect(&format!("{begin} mbarrier.arrive.shared.b64 _, [%rd5];"), 1, |kind| {
        matches!(kind, FaultKind::Unwritten(_) | FaultKind::Mbarrier(_))
    });
    let init = "mbarrier.init.shared.b64 [%rd5], 1;";
    expect(&format!("{begin} {init} ld.shared.u32 %r2, [%rd5];"), 1, |kind| matches!(kind, FaultKind::Mbarrier(_)));
    expect(&format!("{begin} {init} mbarrier.arrive.shared.b64 _, [%rd5], 2;"), 1, |kind| {
        matches!(kind, FaultKind::Mbarrier(_))
    });
    // Threads that use one before a barrier behind its initialisation.
    let body = format!(
        "{begin} setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%rd5], 64; mbarrier.arrive.shared.b64 _, [%rd5];"
    );
    expect(&body, 64, |kind| matches!(kind, FaultKind::Race(_) | FaultKind::Unwritten(_)));
}

#[test]
fn writes_of_read_only_memory() {
    expect("st.global.u32 [%rd3], %r1; ld.global.nc.u32 %r2, [%rd3];", 32, |kind| {
        matches!(kind, FaultKind::ReadOnly(_))
    });
    // Another thread's write, behind a barrier.
    let body = "st.global.u32 [%rd3], %r1; bar.sync 0; xor.b32 %r2, %r1, 33; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd1, %rd4;\n\
        ld.global.nc.u32 %r2, [%rd4];";
    expect(body, 64, |kind| matches!(kind, FaultKind::ReadOnly(_)));
    for seed in SEEDS {
        let body = "ld.param.u64 %rd1, [in]; ld.global.nc.u32 %r2, [%rd1]; bar.sync 0; st.global.u32 [%rd1], %r2; ret;";
        let mut call = Call::new(&kernel(".param .u64 in", body), 1, 1).input(&[1]);
        assert!(matches!(call.run(seed).unwrap_err().kind, FaultKind::ReadOnly(_)));
        let body = "mov.u64 %rd1, c; st.global.u32 [%rd1], 1; ret;";
        let mut call = Call::new(&kernel("", body).replace(".visible", ".const .u32 c = 1; .visible"), 1, 1);
        assert!(matches!(call.run(seed).unwrap_err().kind, FaultKind::ReadOnly(_)));
        let body = "mov.u64 %rd1, c; ld.const.u32 %r1, [%rd1+4]; ret;";
        let mut call = Call::new(&kernel("", body).replace(".visible", ".const .u32 c = 1; .visible"), 1, 1);
        assert!(matches!(call.run(seed).unwrap_err().kind, FaultKind::ReadOnly(_)));
    }
}

#[test]
fn faults_say_where() {
    let body = format!("{PROLOGUE} setp.ne.s32 %p1, %r1, 40;\n@%p1 bra END;\n  trap;\nEND: ret;");
    for seed in SEEDS {
        let (mut call, _) = Call::new(&kernel(".param .u64 out", &body), 1, 64).output(1);
        let fault = call.run(seed).unwrap_err();
        assert_eq!((fault.line, fault.instruction.as_str(), fault.thread), (16, "trap;", [40, 0, 0]));
        assert_eq!(
            fault.to_string(),
            "trap: `trap`; kernel `k`, line 16 of its PTX: `trap;`; block [0, 0, 0], thread [40, 0, 0]"
        );
    }
}
