//! Whatever a kernel does, it ends in a fault or with its last instruction, never in a panic.
use crate::support::{Call, PROLOGUE, SEEDS, kernel};
use hammock_cuda_emulator::ptx::Module;

#[test]
fn any_address_is_a_fault() {
    let accesses = [
        "ld.global.u32 %r2, [%rd9]",
        "ld.global.nc.v4.u32 {%r2, %r3, %r4, %r5}, [%rd9]",
        "st.global.v2.u64 [%rd9], {%rd1, %rd2}",
        "ld.u8 %r2, [%rd9]",
        "st.u16 [%rd9], %rs0",
        "ld.shared.u32 %r2, [%rd9]",
        "st.shared.v4.u32 [%rd9], {%r2, %r2, %r2, %r2}",
        "ld.local.u64 %rd2, [%rd9]",
        "st.local.u8 [%rd9], %r2",
        "ld.param.u32 %r2, [%rd9]",
        "ld.const.u32 %r2, [%rd9]",
        "atom.add.u32 %r2, [%rd9], 1",
        "red.shared.add.u32 [%rd9], 1",
        "red.global.add.u64 [%rd9], 1",
        "cp.async.ca.shared.global [%rd9], [%rd1], 4",
        "cp.async.cg.shared.global [s], [%rd9], 16",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%rd9]",
        "stmatrix.sync.aligned.m8n8.x1.b16 [%rd9], {%r2}",
        "mbarrier.init.shared.b64 [%rd9], 1",
        "mbarrier.arrive.b64 _, [%rd9]",
    ];
    let windows = [0, 1 << 56, 2 << 56, 3 << 56, 1 << 63, 0xff << 56, 1 << 48, u64::MAX - 0xfff];
    for access in accesses {
        for window in windows {
            for offset in [0x800u64, 0xff0, 0xfff] {
                let body = format!(
                    ".shared .align 16 .b8 s[64]; {PROLOGUE} mov.u64 %rd9, {:#x}; {access}; ret;",
                    window + offset
                );
                let (mut call, _) = Call::new(&kernel(".param .u64 out", &body), 1, 32).output(4);
                assert!(call.run(0).is_err(), "{body}");
            }
        }
    }
}

/// LLVM's kernels with a few characters changed, where that is still PTX.
#[test]
fn broken_kernels_never_panic() {
    let texts = [include_str!("../ptx/llvm.ptx"), include_str!("../ptx/llvm_intrinsics_sm90.ptx")];
    let mut random = fastrand::Rng::with_seed(SEEDS.start);
    let mut ran = 0;
    for round in 0..400 {
        let mut bytes = texts[round % 2].as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            let others: &[u8] = if bytes[at].is_ascii_digit() { b"0123456789" } else { b"{}[]()%.,;:0x@!|_-\n" };
            bytes[at] = *random.choice(others).unwrap();
        }
        let text = String::from_utf8(bytes).unwrap();
        let Ok(module) = Module::parse(&text) else { continue };
        for name in module.kernels.keys() {
            let text = text.replace(&format!("entry {name}("), "entry k(");
            let mut call =
                Call::new(&text, 2, [32, 48][round % 2]).input(&[0; 64]).input(&[1; 64]).number(64).shared(256);
            call.params.resize(256, 1);
            call.max_instructions = 3000;
            let _ = call.run(round as u64);
            ran += 1;
        }
    }
    assert!(ran > 50, "{ran}");
}
