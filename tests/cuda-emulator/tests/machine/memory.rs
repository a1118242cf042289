//! Loads, stores, atomic operations and addresses of state spaces.
use crate::support::{Call, PROLOGUE, SEEDS, kernel, of_threads, output};

#[test]
fn widths_and_signs() {
    let body = format!(
        "{PROLOGUE} st.global.u32 [%rd1], 0x80ff8081; ld.global.s8 %r2, [%rd1]; ld.global.u8 %r3, [%rd1+1];\n\
         ld.global.s16 %rs1, [%rd1+2]; cvt.s32.s16 %r4, %rs1; ld.global.s32 %rd5, [%rd1]; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r5, %rd5;\n\
         st.global.v4.u32 [%rd1+16], {{%r2, %r3, %r4, %r5}}; ld.global.v2.u64 {{%rd7, %rd8}}, [%rd1+16]; st.global.u64 [%rd1+8], %rd8;\n\
         st.global.u8 [%rd1+4], %r2; st.global.u8 [%rd1+5], 0x7; st.global.u16 [%rd1+6], %rs1; ret;"
    );
    let expected = [0x80ff_8081, 0x80ff_0781, 0xffff_80ff, u32::MAX, 0xffff_ff81, 0x80, 0xffff_80ff, u32::MAX];
    assert_eq!(output(&body, 1, 8), expected);
}

#[test]
fn shared_memory_through_generic_addresses() {
    let body = ".shared .align 4 .b8 s[256]; mov.u64 %rd5, s; add.s64 %rd6, %rd5, %rd2; cvta.shared.u64 %rd7, %rd6;\n\
        st.u32 [%rd7], %r1; bar.sync 0; xor.b32 %r2, %r1, 63; mov.u32 %r3, s; mad.lo.s32 %r3, %r2, 4, %r3;\n\
        ld.shared.u32 %r0, [%r3]; isspacep.shared %p1, %rd7; isspacep.global %p2, %rd7; isspacep.global %p3, %rd1;\n\
        @!%p1 trap; @%p2 trap; @!%p3 trap; cvta.to.shared.u64 %rd8, %rd7; setp.ne.u64 %p4, %rd8, %rd6; @%p4 trap;";
    assert_eq!(of_threads(body, 64), (0..64).map(|t| 63 - t).collect::<Vec<_>>());
}

#[test]
fn dynamic_shared_memory_follows_the_static() {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "{PROLOGUE} mov.u32 %r2, dynamic; mov.u32 %r3, s; sub.u32 %r4, %r2, %r3; st.shared.u32 [%r2+28], %r4;\n\
             ld.shared.u32 %r0, [%r2+28]; st.global.u32 [%rd3], %r0; mov.u32 %r5, %dynamic_smem_size; st.global.u32 [%rd3+4], %r5; ret;"
        ),
    );
    let text =
        text.replace(".visible", ".extern .shared .align 16 .b8 dynamic[];\n.shared .align 4 .b8 s[20];\n.visible");
    let (call, address) = Call::new(&text, 1, 1).output(2);
    let mut call = call.shared(32);
    call.run(0).unwrap();
    assert_eq!(call.words(address, 2), [32, 32]);
}

#[test]
fn local_memory_is_a_threads_own() {
    let body = ".local .align 8 .b8 l[16]; mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5; st.local.u32 [%rd5+4], %r1; ld.u32 %r0, [%rd6+4];";
    assert_eq!(of_threads(body, 64), (0..64).collect::<Vec<_>>());
}

#[test]
fn atomics_add_up() {
    for (op, expected) in [("add.u32", 64 * 5), ("max.u32", 5), ("inc.u32", 64 % 6), ("or.b32", 5)] {
        for space in ["global", "shared"] {
            let body = format!(
                ".shared .align 4 .b8 s[4]; mov.u64 %rd5, s; setp.ne.s32 %p1, %r1, 0; @!%p1 st.shared.u32 [%rd5], 0;\n\
                 @!%p1 st.global.u32 [%rd1], 0; bar.sync 0; mov.u64 %rd6, {base}; red.{space}.{op} [%rd6], 5; bar.sync 0;\n\
                 ld.{space}.u32 %r0, [%rd6]; bar.sync 0;",
                base = if space == "global" { "%rd1" } else { "%rd5" }
            );
            assert_eq!(of_threads(&body, 64), [expected; 64], "{op} {space}");
        }
    }
}

#[test]
fn atomics_return_what_was_there() {
    let body = ".shared .align 4 .b8 s[4]; mov.u64 %rd5, s; setp.ne.s32 %p1, %r1, 0; @!%p1 st.shared.u32 [%rd5], 7; bar.sync 0;\n\
        atom.shared.cas.b32 %r2, [%rd5], 7, 9; atom.shared.exch.b32 %r3, [%rd5], 9; atom.shared.dec.u32 %r4, [%rd5], 20;\n\
        setp.eq.s32 %p2, %r2, 7; vote.sync.ballot.b32 %r5, %p2, -1; popc.b32 %r0, %r5;";
    assert_eq!(of_threads(body, 32), [1; 32]);
}

#[test]
fn blocks_add_floats_in_any_order() {
    let body = format!(
        "{PROLOGUE} atom.global.add.f32 %r2, [%rd1], 0f3F800000; mov.b32 %r3, 0x3C003C00; red.global.add.noftz.f16x2 [%rd1+4], %r3; ret;"
    );
    for seed in SEEDS {
        let call = Call::new(&kernel(".param .u64 out", &body), 4, 64).input(&[0, 0]);
        let address = u64::from_le_bytes(call.params[..8].try_into().unwrap());
        let mut call = call;
        call.run(seed).unwrap();
        assert_eq!(call.words(address, 2), [256f32.to_bits(), 0x5c00_5c00]);
    }
}

#[test]
fn variables_of_the_module() {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "{PROLOGUE} ld.const.u32 %r2, [table+8]; mov.u64 %rd5, table; ld.const.u32 %r3, [%rd5+4]; ld.global.u64 %rd6, [pointer];\n\
            ld.global.u32 %r4, [%rd6]; mad.lo.s32 %r0, %r2, 100, %r3; mad.lo.s32 %r0, %r4, 10000, %r0; st.global.u32 [%rd3], %r0; ret;"
        ),
    );
    let variables =
        ".const .u32 table[3] = {1, 2, 3};\n.global .u32 x[2] = {4, 5};\n.global .u64 pointer = x+4;\n.visible";
    let (mut call, address) = Call::new(&text.replace(".visible", variables), 1, 1).output(1);
    call.run(0).unwrap();
    assert_eq!(call.words(address, 1), [50302]);
}

#[test]
fn parameters_by_address() {
    let text = kernel(
        ".param .u64 out, .param .align 4 .b8 s[12]",
        "ld.param.u64 %rd1, [out]; mov.u64 %rd2, s; ld.param.u32 %r0, [%rd2+8]; cvta.param.u64 %rd3, %rd2; ld.u32 %r1, [%rd3+4];\n\
         add.s32 %r0, %r0, %r1; st.global.u32 [%rd1], %r0; ret;",
    );
    let (call, address) = Call::new(&text, 1, 1).output(1);
    let mut call = call.number(1).number(20).number(300);
    call.run(0).unwrap();
    assert_eq!(call.words(address, 1), [320]);
}
