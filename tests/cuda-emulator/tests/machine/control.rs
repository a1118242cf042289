//! Branches, calls and loops of diverged warps.
use crate::support::{Call, PROLOGUE, SEEDS, kernel, module, of_threads};

#[test]
fn diverged_lanes_meet_again() {
    // 3 * t for even threads, t + 100 for odd ones; the vote behind the join sees all lanes.
    let body = "and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra EVEN;\n\
        add.s32 %r0, %r1, 100; bra JOIN;\nEVEN: mul.lo.s32 %r0, %r1, 3;\n\
        JOIN: activemask.b32 %r3; setp.eq.s32 %p2, %r3, -1; @!%p2 trap;";
    let expected: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { 3 * t } else { t + 100 }).collect();
    assert_eq!(of_threads(body, 32), expected);
}

#[test]
fn loops_end_for_each_lane_by_itself() {
    // Sum of 0..=t.
    let body = "mov.u32 %r0, 0; mov.u32 %r2, 0;\nLOOP: add.s32 %r0, %r0, %r2; add.s32 %r2, %r2, 1;\n\
        setp.le.u32 %p1, %r2, %r1; @%p1 bra LOOP;";
    assert_eq!(of_threads(body, 70), (0..70).map(|t| t * (t + 1) / 2).collect::<Vec<_>>());
}

#[test]
fn branch_tables() {
    let body = "T: .branchtargets A, B, C;\nrem.u32 %r2, %r1, 3; brx.idx %r2, T;\n\
        A: mov.u32 %r0, 10; bra END;\nB: mov.u32 %r0, 20; bra END;\nC: mov.u32 %r0, 30;\nEND:";
    assert_eq!(of_threads(body, 40), (0..40).map(|t| 10 * (t % 3 + 1)).collect::<Vec<_>>());
}

#[test]
fn calls_pass_parameters_and_results() {
    let text = module(&format!(
        ".func (.param .b32 r) twice(.param .b32 x) {{ .reg .b32 %r<2>; ld.param.b32 %r0, [x]; add.s32 %r0, %r0, %r0;\n\
         st.param.b32 [r], %r0; ret; }}\n\
         .func (.param .b32 r) fourfold(.param .b32 x) {{ .reg .b32 %r<2>; ld.param.b32 %r0, [x];\n\
         {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call.uni (b), twice, (a); ld.param.b32 %r0, [b]; }}\n\
         {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call.uni (b), twice, (a); ld.param.b32 %r0, [b]; }}\n\
         st.param.b32 [r], %r0; ret; }}\n\
         .visible .entry k(.param .u64 out) {{ .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; {PROLOGUE}\n\
         mov.u32 %r0, 7; and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra SKIP;\n\
         {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), fourfold, (a); ld.param.b32 %r0, [b]; }}\n\
         SKIP: st.global.u32 [%rd3], %r0; ret; }}"
    ));
    for seed in SEEDS {
        let (mut call, address) = Call::new(&text, 1, 64).output(64);
        call.run(seed).unwrap();
        let expected: Vec<u32> = (0..64).map(|t| if t % 2 == 0 { 7 } else { 4 * t }).collect();
        assert_eq!(call.words(address, 64), expected);
    }
}

/// A lane that waits for another of its warp does not starve it.
#[test]
fn spinning_lanes_do_not_starve_others() {
    let body = "mov.u64 %rd10, flag; setp.ne.s32 %p1, %r1, 0; @%p1 bra SET;\n\
        SPIN: ld.volatile.shared.u32 %r2, [%rd10]; setp.eq.s32 %p2, %r2, 0; @%p2 bra SPIN; mov.u32 %r0, 5; bra END;\n\
        SET: setp.ne.s32 %p3, %r1, 1; mov.u32 %r0, 6; @%p3 bra END; st.volatile.shared.u32 [%rd10], 1; mov.u32 %r0, 7;\nEND:";
    let init = "mov.u64 %rd11, flag; setp.eq.s32 %p5, %r1, 0; @%p5 st.shared.u32 [%rd11], 0; bar.sync 0;";
    let body = format!(".shared .align 4 .b8 flag[4];\n{init}\n{body}");
    assert_eq!(of_threads(&body, 3), [5, 7, 6]);
}

#[test]
fn endless_loops_are_errors() {
    let mut call = Call::new(&kernel("", "LOOP: bra LOOP;"), 1, 32);
    call.max_instructions = 1000;
    assert!(call.run(0).unwrap_err().to_string().contains("more than 1000 instructions"));
}

#[test]
fn threads_know_where_they_are() {
    let body = format!(
        "{PROLOGUE} mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;\n\
        mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd1, %rd5; mov.u32 %r5, %laneid; mov.u32 %r6, %warpid;\n\
        mad.lo.s32 %r7, %r6, 100, %r5; mad.lo.s32 %r7, %r2, 10000, %r7; st.global.u32 [%rd6], %r7; ret;"
    );
    for seed in SEEDS {
        let (mut call, address) = Call::new(&kernel(".param .u64 out", &body), 5, 48).output(240);
        call.run(seed).unwrap();
        let expected: Vec<u32> = (0..240).map(|i| 10000 * (i / 48) + 100 * (i % 48 / 32) + i % 48 % 32).collect();
        assert_eq!(call.words(address, 240), expected);
    }
}
