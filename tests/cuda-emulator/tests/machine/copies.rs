//! `cp.async` with groups and mbarriers.
use crate::support::{Call, SEEDS, kernel};
use hammock_cuda_emulator::fault::{Fault, FaultKind};

/// Runs a kernel of 64 threads with 256 numbers as input: `%rd1` output, `%rd4` input, `%rd7` the thread's 16 bytes of
/// shared memory, `%rd8` those of the input.
fn run(body: &str, seed: u64) -> Result<Vec<u32>, Box<Fault>> {
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        &format!(
            ".shared .align 16 .b8 s[2048]; .shared .align 8 .b8 b[8]; ld.param.u64 %rd1, [out]; ld.param.u64 %rd4, [in]; mov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; mul.wide.u32 %rd5, %r1, 16; mov.u64 %rd6, s; add.s64 %rd7, %rd6, %rd5; add.s64 %rd8, %rd4, %rd5;\n\
             {body}\nst.global.u32 [%rd3], %r0; ret;"
        ),
    );
    let input: Vec<u32> = (0..256).map(|i| 7 * i).collect();
    let (mut call, address) = Call::new(&text, 1, 64).input(&input).output(64);
    call.run(seed)?;
    Ok(call.words(address, 64))
}

/// Reads what the thread 63 - t copied.
const READ_OTHER: &str =
    "sub.u32 %r2, 63, %r1; mul.wide.u32 %rd9, %r2, 16; add.s64 %rd10, %rd6, %rd9; ld.shared.u32 %r0, [%rd10+4];";

#[test]
fn copies_are_visible_behind_wait_and_barrier() {
    for seed in SEEDS {
        let body = format!(
            "cp.async.cg.shared.global [%rd7], [%rd8], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; {READ_OTHER}"
        );
        let expected: Vec<u32> = (0..64).map(|t| 7 * (4 * (63 - t) + 1)).collect();
        assert_eq!(run(&body, seed).unwrap(), expected);
        // All copies, committed or not.
        let body = format!(
            "cp.async.ca.shared.global.L2::128B [%rd7], [%rd8], 16; cp.async.wait_all; bar.sync 0; {READ_OTHER}"
        );
        assert_eq!(run(&body, seed).unwrap(), expected);
    }
}

#[test]
fn short_sources_are_filled_with_zeros() {
    for seed in SEEDS {
        let body = "cp.async.ca.shared.global [%rd7], [%rd8], 8, 4; cp.async.wait_all; ld.shared.v2.u32 {%r2, %r3}, [%rd7]; add.u32 %r0, %r2, %r3;";
        assert_eq!(run(body, seed).unwrap(), (0..64).map(|t| 28 * t).collect::<Vec<_>>());
        // No byte of the source is read: the address may be any.
        let body =
            "cp.async.ca.shared.global [%rd7], [%rd8+65536], 16, 0; cp.async.wait_all; ld.shared.u32 %r0, [%rd7+12];";
        assert_eq!(run(body, seed).unwrap(), [0; 64]);
    }
}

const TWO_STAGES: &str = "cp.async.ca.shared.global [%rd7], [%rd8], 16; cp.async.commit_group;\n\
    cp.async.ca.shared.global [%rd7+1024], [%rd8], 16; cp.async.commit_group;\n";

#[test]
fn groups_complete_in_order() {
    for seed in SEEDS {
        let body = format!("{TWO_STAGES} cp.async.wait_group 1; bar.sync 0; {READ_OTHER}");
        assert_eq!(run(&body, seed).unwrap(), (0..64).map(|t| 7 * (4 * (63 - t) + 1)).collect::<Vec<_>>());
    }
}

#[test]
fn a_wait_one_group_too_lax_is_a_race() {
    for seed in SEEDS {
        let body = format!("{TWO_STAGES} cp.async.wait_group 2; bar.sync 0; {READ_OTHER}");
        let fault = run(&body, seed).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Race(_) | FaultKind::Unwritten(_)), "{fault}");
        assert!(fault.instruction.starts_with("ld.shared"), "{fault}");
    }
}

#[test]
fn a_wait_without_a_barrier_is_a_race() {
    for seed in SEEDS {
        let body = format!("cp.async.ca.shared.global [%rd7], [%rd8], 16; cp.async.wait_all; {READ_OTHER}");
        let fault = run(&body, seed).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Race(_) | FaultKind::Unwritten(_)), "{fault}");
    }
}

#[test]
fn a_copy_into_what_others_still_read_is_a_race() {
    for seed in SEEDS {
        let body = format!(
            "cp.async.ca.shared.global [%rd7], [%rd8], 16; cp.async.wait_all; bar.sync 0; {READ_OTHER}\n\
             cp.async.ca.shared.global [%rd7], [%rd8], 16; cp.async.wait_all;"
        );
        assert!(matches!(run(&body, seed).unwrap_err().kind, FaultKind::Race(_)));
    }
}

#[test]
fn mbarriers_wait_for_copies() {
    for seed in SEEDS {
        for (count, arrive) in [
            (64, "cp.async.mbarrier.arrive.noinc.shared.b64 [%rd11];"),
            (64, "cp.async.mbarrier.arrive.shared.b64 [%rd11]; mbarrier.arrive.shared.b64 _, [%rd11];"),
        ] {
            let body = format!(
                "mov.u64 %rd11, b; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%rd11], {count}; bar.sync 0;\n\
                 cp.async.ca.shared.global [%rd7], [%rd8], 16; {arrive}\n\
                 WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%rd11], 0; @!%p2 bra WAIT; {READ_OTHER}"
            );
            assert_eq!(run(&body, seed).unwrap(), (0..64).map(|t| 7 * (4 * (63 - t) + 1)).collect::<Vec<_>>());
        }
    }
}
