//! x86-64, under the System V ABI: `vpdpbusd`, `pmaddwd` and `vdpbf16ps` for dot products, AVX-512 for exponentials, and
//! the flags of MXCSR.

use super::{Arch, Builder, Ty, Value};
use hammock_target::Target;

/// The family.
pub(super) struct X86_64;

/// Invalid-operation flag in MXCSR.
const INVALID: i64 = 1;
/// Four int8 ones.
const ONES: i64 = 0x0101_0101;
/// Sign bits of four int8 values.
const SIGNS: i64 = 0x8080_8080;

impl Arch for X86_64 {
    fn data_layout(&self) -> &'static str {
        "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
    }

    fn attributes(&self, target: &Target) -> String {
        format!("\"prefer-vector-width\"=\"{}\"", target.vector_bytes * 8)
    }

    #[cfg(feature = "native")]
    fn initialize(&self) {
        use inkwell::targets::{InitializationConfig, Target as Backend};
        Backend::initialize_x86(&InitializationConfig::default());
    }

    fn dot_bfloat16(&self, b: &mut Builder<'_>, operands: [&Value; 2], sum: &Value) -> Value {
        let pairs = Ty::BFLOAT.with_lanes(sum.ty.lanes * 2);
        let [x, y] = operands.map(|words| b.f.convert("bitcast", words, pairs));
        call(b, &format!("avx512bf16.dpbf16ps.{}", sum.ty.lanes * 32), sum.ty, &[sum, &x, &y])
    }

    /// `vpdpbusd` (unsigned times signed) if the target has it. Operands of the wrong signedness are shifted by 128, and
    /// the compensation term is subtracted; integers wrap, so the result is exact. Other targets widen to int16 and use
    /// `pmaddwd`.
    fn dot_int8(
        &self,
        b: &mut Builder<'_>,
        signed: [bool; 2],
        is_second_broadcast: bool,
        operands: [&Value; 2],
        sum: &Value,
    ) -> Value {
        if !b.target.int8_dot {
            return dot_widened(b, signed, operands, sum);
        }
        match (signed, operands) {
            ([false, true], [x, y]) => dot_unsigned_signed(b, x, y, sum),
            ([true, false], [x, y]) => dot_unsigned_signed(b, y, x, sum),
            ([is_signed, _], [x, y]) => {
                let (shifted, other) = if is_second_broadcast { (y, x) } else { (x, y) };
                dot_shifted(b, is_signed, shifted, other, sum)
            }
        }
    }

    /// `vscalef`.
    fn scale(&self, b: &mut Builder<'_>, a: &Value, n: &Value) -> Value {
        rounded_masked(b, "scalef", &[a, n])
    }

    /// `vrange`.
    fn clamp_magnitude(&self, b: &mut Builder<'_>, x: &Value, bound: &Value) -> Value {
        // The smaller magnitude, with the sign of the first.
        let how = Value::int(0b0010, Ty::I32);
        rounded_masked(b, "range", &[x, bound, &how])
    }

    /// `vpermps`.
    fn look_up(&self, b: &mut Builder<'_>, table: &Value, index: &Value) -> Value {
        let lanes = usize::from(index.ty.lanes);
        let all = (0..table.ty.lanes.into()).map(|lane| lane % lanes);
        let index = b.f.shuffle(index, &Value::poison(index.ty), all);
        call(b, "avx512.permvar.sf.512", table.ty, &[table, &index])
    }

    fn watch_invalid(&self, b: &mut Builder<'_>, run: &mut dyn FnMut(&mut Builder<'_>) -> Value) -> [Value; 2] {
        let read = b.module.declare("llvm.x86.sse.stmxcsr", Ty::VOID, &[Ty::PTR]);
        let write = b.module.declare("llvm.x86.sse.ldmxcsr", Ty::VOID, &[Ty::PTR]);
        let at = b.f.slot(4, 4);
        let state = |b: &mut Builder<'_>| {
            b.f.call(&read, Ty::VOID, &[&at]);
            b.f.load(Ty::I32, &at, 4)
        };
        let before = state(b);
        let cleared = b.f.binary("and", &before, &Value::int(!INVALID, Ty::I32));
        b.f.store(&cleared, &at, 4);
        b.f.call(&write, Ty::VOID, &[&at]);
        let status = run(b);
        let after = state(b);
        let all = b.f.binary("or", &after, &before);
        b.f.store(&all, &at, 4);
        b.f.call(&write, Ty::VOID, &[&at]);
        let flag = b.f.binary("and", &after, &Value::int(INVALID, Ty::I32));
        let is_set = b.f.compare("icmp ne", &flag, &Value::int(0, Ty::I32));
        [status, is_set]
    }
}

/// Calls an x86 intrinsic.
fn call(b: &mut Builder<'_>, name: &str, ret: Ty, args: &[&Value]) -> Value {
    b.intrinsic(&format!("llvm.x86.{name}"), ret, args)
}

/// dot4 of two signed or two unsigned operands: shifts one by 128, and compensates for 128 times the sum of the
/// other.
fn dot_shifted(b: &mut Builder<'_>, is_signed: bool, shifted: &Value, other: &Value, sum: &Value) -> Value {
    let constant = |v| Value::int(v, sum.ty);
    let shifted = b.f.binary("xor", shifted, &constant(SIGNS));
    let (ones, none) = (constant(ONES), constant(0));
    let (all, own) = if is_signed {
        (dot_unsigned_signed(b, &shifted, other, sum), dot_unsigned_signed(b, &ones, other, &none))
    } else {
        (dot_unsigned_signed(b, other, &shifted, sum), dot_unsigned_signed(b, other, &ones, &none))
    };
    let own = b.f.binary("shl", &own, &constant(7));
    b.f.binary(if is_signed { "sub" } else { "add" }, &all, &own)
}

/// dot4 of unsigned with signed bytes, accumulated per lane.
fn dot_unsigned_signed(b: &mut Builder<'_>, x: &Value, y: &Value, sum: &Value) -> Value {
    let bytes = Ty::I8.with_lanes(sum.ty.lanes * 4);
    let [x, y] = [x, y].map(|words| b.f.convert("bitcast", words, bytes));
    call(b, &format!("avx512.vpdpbusd.{}", sum.ty.lanes * 32), sum.ty, &[sum, &x, &y])
}

/// dot4 by two 16-bit dot2: of the even bytes, and of the odd bytes.
fn dot_widened(b: &mut Builder<'_>, signed: [bool; 2], words: [&Value; 2], sum: &Value) -> Value {
    let pairs = Ty::int(16).with_lanes(sum.ty.lanes * 2);
    let eight = Value::int(8, pairs);
    let halves = [0, 1].map(|n| {
        let all = b.f.convert("bitcast", words[n], pairs);
        if signed[n] {
            let raised = b.f.binary("shl", &all, &eight);
            [b.f.binary("ashr", &raised, &eight), b.f.binary("ashr", &all, &eight)]
        } else {
            [b.f.binary("and", &all, &Value::int(0xff, pairs)), b.f.binary("lshr", &all, &eight)]
        }
    });
    let name = match sum.ty.lanes {
        4 => "sse2.pmadd.wd",
        8 => "avx2.pmadd.wd",
        _ => "avx512.pmaddw.d.512",
    };
    let [x, y] = &halves;
    x.iter().zip(y).fold(sum.clone(), |sum, (x, y)| {
        let pairs = call(b, name, sum.ty, &[x, y]);
        b.f.binary("add", &sum, &pairs)
    })
}

/// Emits a float instruction of AVX-512 with all lanes active, in the current rounding mode.
fn rounded_masked(b: &mut Builder<'_>, name: &str, args: &[&Value]) -> Value {
    let ty = args[0].ty;
    let bits = ty.lanes * ty.bits();
    let (rest, all, current) = (Value::poison(ty), Value::int(-1, Ty::int(ty.lanes.max(8))), Value::int(4, Ty::I32));
    let suffix = if ty.bits() == 32 { "ps" } else { "pd" };
    let mut args = [args, &[&rest, &all]].concat();
    if bits == 512 {
        args.push(&current);
    }
    call(b, &format!("avx512.mask.{name}.{suffix}.{bits}"), ty, &args)
}
