//! One instruction each: decoded, executed, its result stored.
use crate::support::{Call, SEEDS, kernel};

/// The result in register 0 of a width.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    H(u16),
    R(u32),
    D(u64),
    P(bool),
}
use Value::{D, H, P, R};

fn f(value: f32) -> Value {
    R(value.to_bits())
}

fn evaluate(rows: &[(&str, Value)]) {
    let mut body = String::from("ld.param.u64 %rd63, [out];\n");
    for (index, (text, value)) in rows.iter().enumerate() {
        let store = match value {
            H(_) => format!("cvt.u32.u16 %r0, %rs0; st.global.u32 [%rd63+{}], %r0;", 8 * index),
            R(_) => format!("st.global.u32 [%rd63+{}], %r0;", 8 * index),
            D(_) => format!("st.global.u64 [%rd63+{}], %rd0;", 8 * index),
            P(_) => format!("selp.u32 %r0, 1, 0, %p0; st.global.u32 [%rd63+{}], %r0;", 8 * index),
        };
        body += &format!("{text};\n{store}\n");
    }
    let (mut call, address) = Call::new(&kernel(".param .u64 out", &body), 1, 1).output(2 * rows.len());
    call.run(SEEDS.start).unwrap_or_else(|fault| panic!("{fault}"));
    for (index, &(text, expected)) in rows.iter().enumerate() {
        let at = address + 8 * index as u64;
        let low = call.words(at, 1)[0];
        let actual = match expected {
            H(_) => H(low as u16),
            R(_) => R(low),
            D(_) => D(u64::from(call.words(at + 4, 1)[0]) << 32 | u64::from(low)),
            P(_) => P(low != 0),
        };
        assert_eq!(actual, expected, "{text}");
    }
}

#[test]
fn integers() {
    evaluate(&[
        ("add.s32 %r0, 5, -7", R(-2i32 as u32)),
        ("add.u64 %rd0, -1, 3", D(2)),
        ("add.s16 %rs0, 32767, 1", H(0x8000)),
        ("add.sat.s32 %r0, 2147483647, 1", R(i32::MAX as u32)),
        ("sub.s32 %r0, 5, 7", R(-2i32 as u32)),
        ("mul.lo.s32 %r0, -3, 5", R(-15i32 as u32)),
        ("mul.hi.u32 %r0, -1, -1", R(0xffff_fffe)),
        ("mul.wide.s32 %rd0, -3, 5", D(-15i64 as u64)),
        ("mul.wide.u16 %r0, 0xffff, 2", R(0x1fffe)),
        ("mad.lo.s32 %r0, 3, 4, 5", R(17)),
        ("mad.wide.u32 %rd0, -1, 2, 5", D(0x2_0000_0003)),
        ("mul24.lo.u32 %r0, 0xffffff, 2", R(0x1ff_fffe)),
        ("mad24.lo.s32 %r0, 3, 4, 5", R(17)),
        ("div.s32 %r0, -7, 2", R(-3i32 as u32)),
        ("rem.s32 %r0, -7, 2", R(-1i32 as u32)),
        ("div.u64 %rd0, 100, 7", D(14)),
        ("abs.s32 %r0, -5", R(5)),
        ("neg.s64 %rd0, 5", D(-5i64 as u64)),
        ("min.s32 %r0, -5, 3", R(-5i32 as u32)),
        ("max.u32 %r0, -5, 3", R(-5i32 as u32)),
        ("sad.u32 %r0, 3, 10, 100", R(107)),
        ("add.cc.u32 %r2, -1, 1; addc.u32 %r0, 10, 20", R(31)),
        ("sub.cc.u32 %r2, 0, 1; subc.u32 %r0, 10, 3", R(6)),
        ("mad.lo.cc.u32 %r2, -1, -1, -1; madc.hi.u32 %r0, -1, -1, 0", R(0xffff_ffff)),
        ("dp4a.s32.u32 %r0, 0x01ff0203, 0x04030201, 10", R((4 - 3 + 4 + 3 + 10) as u32)),
        ("dp2a.lo.u32.u32 %r0, 0x00020003, 0x05060708, 1", R(3 * 8 + 2 * 7 + 1)),
    ]);
}

#[test]
fn bits() {
    evaluate(&[
        ("and.b32 %r0, 0xff00, 0x0ff0", R(0x0f00)),
        ("or.b64 %rd0, 0xff00, 0x0ff0", D(0xfff0)),
        ("xor.b16 %rs0, 0xff00, 0x0ff0", H(0xf0f0)),
        ("not.b32 %r0, 0", R(u32::MAX)),
        ("cnot.b32 %r0, 0", R(1)),
        ("shl.b32 %r0, 1, 33", R(0)),
        ("shr.s32 %r0, -8, 1", R(-4i32 as u32)),
        ("shr.u64 %rd0, -1, 60", D(15)),
        ("shf.l.wrap.b32 %r0, 0x80000000, 1, 1", R(3)),
        ("shf.r.clamp.b32 %r0, 1, 1, 1", R(0x8000_0000)),
        ("bfe.u32 %r0, 0xabcd, 4, 8", R(0xbc)),
        ("bfe.s32 %r0, 0xabcd, 4, 8", R(0xffff_ffbc)),
        ("bfi.b32 %r0, 0xf, 0, 8, 4", R(0xf00)),
        ("bfind.u32 %r0, 0x100", R(8)),
        ("bfind.shiftamt.u32 %r0, 0x100", R(23)),
        ("brev.b32 %r0, 1", R(0x8000_0000)),
        ("popc.b64 %r0, 0xff00ff", R(16)),
        ("clz.b32 %r0, 1", R(31)),
        ("prmt.b32 %r0, 0x33221100, 0x77665544, 0x7410", R(0x7744_1100)),
        ("lop3.b32 %r0, 0xf0f0, 0xff00, 0xaaaa, 0x96", R(0xf0f0 ^ 0xff00 ^ 0xaaaa)),
    ]);
}

#[test]
fn floats() {
    let half = |value: f32| H(half::f16::from_f32(value).to_bits());
    evaluate(&[
        ("add.rn.f32 %r0, 0f3F800000, 0f40000000", f(3.0)),
        ("add.f32 %r0, 0f00000001, 0f00000001", R(2)),
        ("add.ftz.f32 %r0, 0f00000001, 0f00000001", R(0)),
        ("mul.rz.f32 %r0, 0f3F800001, 0f3F800001", R(0x3f80_0002)),
        ("fma.rn.f32 %r0, 0f40000000, 0f40400000, 0f3F800000", f(7.0)),
        ("fma.rn.sat.f32 %r0, 0f40000000, 0f40400000, 0f3F800000", f(1.0)),
        ("div.rn.f32 %r0, 0f3F800000, 0f40400000", f(1.0 / 3.0)),
        ("sqrt.rn.f32 %r0, 0f40800000", f(2.0)),
        ("rcp.rn.f32 %r0, 0f40000000", f(0.5)),
        ("max.f32 %r0, 0f7FFFFFFF, 0f3F800000", f(1.0)),
        ("max.NaN.f32 %r0, 0f7FFFFFFF, 0f3F800000", R(0x7fff_ffff)),
        ("add.f64 %rd0, 0d3FF0000000000000, 0d4000000000000000", D(3f64.to_bits())),
        ("neg.f32 %r0, 0f3F800000", f(-1.0)),
        ("mov.b16 %rs1, 0x3C00; add.rn.f16 %rs0, %rs1, %rs1", half(2.0)),
        ("mov.b16 %rs1, 0x4000; fma.rn.relu.f16 %rs0, %rs1, %rs1, %rs1", half(6.0)),
        ("mov.b32 %r1, 0x3C004000; fma.rn.f16x2 %r0, %r1, %r1, %r1", R(0x4000_4600)),
        ("mov.b16 %rs1, 0x3F80; fma.rn.bf16 %rs0, %rs1, %rs1, %rs1", H(0x4000)),
        ("copysign.f32 %r0, 0fBF800000, 0f40000000", f(-2.0)),
        ("testp.infinite.f32 %p0, 0f7F800000", P(true)),
    ]);
}

#[test]
fn comparisons() {
    evaluate(&[
        ("setp.lt.s32 %p0, -1, 0", P(true)),
        ("setp.lo.u32 %p0, -1, 0", P(false)),
        ("setp.ltu.f32 %p0, 0f7FFFFFFF, 0f00000000", P(true)),
        ("setp.lt.f32 %p0, 0f7FFFFFFF, 0f00000000", P(false)),
        ("setp.eq.s64 %p1|%p0, 3, 3", P(false)),
        ("setp.eq.s32 %p1, 0, 0; setp.eq.and.s32 %p0, 3, 3, !%p1", P(false)),
        ("setp.eq.s32 %p1, 0, 0; setp.ne.xor.s32 %p0, 3, 3, %p1", P(true)),
        ("mov.b32 %r1, 0x3C000000; mov.b32 %r2, 0x3C003C00; setp.eq.f16x2 %p1|%p0, %r1, %r2", P(true)),
        ("set.gt.u32.s32 %r0, 3, 2", R(u32::MAX)),
        ("set.gt.f32.s32 %r0, 3, 2", f(1.0)),
        ("setp.ne.s32 %p1, 0, 0; selp.b32 %r0, 1, 2, %p1", R(2)),
        ("slct.s32.s32 %r0, 1, 2, -3", R(2)),
        ("slct.u32.f32 %r0, 1, 2, 0f3F800000", R(1)),
        ("setp.eq.s32 %p1, 0, 0; not.pred %p0, %p1", P(false)),
        ("setp.eq.s32 %p1, 0, 0; setp.eq.s32 %p2, 0, 1; or.pred %p0, %p1, %p2", P(true)),
        ("mov.pred %p0, -1", P(true)),
    ]);
}

#[test]
fn conversions_and_moves() {
    evaluate(&[
        ("cvt.s64.s32 %rd0, -5", D(-5i64 as u64)),
        ("cvt.u64.u32 %rd0, -5", D(0xffff_fffb)),
        ("mov.u32 %r1, 0x1ff; cvt.s32.s8 %r0, %r1", R(u32::MAX)),
        ("mov.u32 %r1, 300; cvt.sat.u8.u32 %r0, %r1", R(255)),
        ("mov.u64 %rd1, 0x80; cvt.s8.s64 %rd0, %rd1", D(-128i64 as u64)),
        ("cvt.rzi.s32.f32 %r0, 0fC0200000", R(-2i32 as u32)),
        ("cvt.rni.f32.f32 %r0, 0f40200000", f(2.0)),
        ("cvt.rn.f32.s32 %r0, -3", f(-3.0)),
        ("cvt.rn.f16.f32 %rs0, 0f3F800000", H(0x3c00)),
        ("mov.b16 %rs1, 0x3C00; cvt.f32.f16 %r0, %rs1", f(1.0)),
        ("cvt.rn.bf16x2.f32 %r0, 0f3F800000, 0f40000000", R(0x3f80_4000)),
        ("cvt.rn.f32.f64 %r0, 0d3FF8000000000000", f(1.5)),
        ("mov.b16 %rs1, 1; mov.b16 %rs2, 2; mov.b32 %r0, {%rs1, %rs2}", R(0x20001)),
        ("mov.b32 {%rs1, %rs0}, 0x20001", H(2)),
        ("mov.b32 {_, %rs0}, 0x30001", H(3)),
        ("mov.b64 {%r1, %r0}, 0x500000003", R(5)),
        ("mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b64 %rd0, {%r1, %r2}", D(0x2_0000_0001)),
        ("mov.f32 %r0, 1.5", f(1.5)),
        ("{ .reg .b32 %r0; mov.b32 %r0, 7; } mov.u32 %r0, WARP_SZ", R(32)),
    ]);
}

#[test]
fn special_registers() {
    evaluate(&[
        ("mov.u32 %r0, %ntid.x", R(1)),
        ("mov.u32 %r0, %nctaid.x", R(1)),
        ("mov.u32 %r0, %lanemask_le", R(1)),
        ("mov.u32 %r0, %lanemask_gt", R(0xffff_fffe)),
        ("mov.u32 %r0, %lanemask_ge", R(0xffff_ffff)),
        ("mov.u32 %r1, %clock; mov.u32 %r2, %clock; setp.gt.u32 %p0, %r2, %r1", P(true)),
    ]);
}
