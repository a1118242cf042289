//! A transpose through shared memory: what counters say of padding and of accesses along columns.
use hammock_cuda_emulator::{counters::Counters, fault::FaultKind};

use crate::support::{Call, SEEDS, kernel};

/// Transposes `rows × columns` numbers by tiles of 32 × 32, a warp for each 4 rows; `stride` is that of the tile in
/// shared memory. `bound` compares an index with its extent.
fn transpose(rows: usize, columns: usize, stride: usize, bound: &str) -> String {
    let tiles = columns.div_ceil(32);
    let mut body = format!(
        ".shared .align 4 .b8 tile[{bytes}];
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 31;
        shr.u32 %r3, %r1, 5;
        mov.u32 %r4, %ctaid.x;
        div.u32 %r5, %r4, {tiles};
        rem.u32 %r6, %r4, {tiles};
        shl.b32 %r5, %r5, 5;
        shl.b32 %r6, %r6, 5;
        mov.u32 %r7, tile;\n",
        bytes = 4 * 32 * stride
    );
    for step in 0..4 {
        // Row `%r10` of the tile by lanes along its columns.
        body += &format!(
            "mad.lo.u32 %r10, %r3, 4, {step};
            add.u32 %r11, %r5, %r10;
            add.u32 %r12, %r6, %r2;
            setp.{bound}.u32 %p1, %r11, {rows};
            setp.lt.and.u32 %p1, %r12, {columns}, %p1;
            mad.lo.u32 %r13, %r11, {columns}, %r12;
            mul.wide.u32 %rd3, %r13, 4;
            add.u64 %rd3, %rd1, %rd3;
            mad.lo.u32 %r14, %r10, {stride}, %r2;
            shl.b32 %r14, %r14, 2;
            add.u32 %r14, %r14, %r7;
            @%p1 ld.global.u32 %r15, [%rd3];
            @%p1 st.shared.u32 [%r14], %r15;\n"
        );
    }
    body += "bar.sync 0;\n";
    for step in 0..4 {
        // Column `%r10` of the tile by lanes along its rows.
        body += &format!(
            "mad.lo.u32 %r10, %r3, 4, {step};
            add.u32 %r11, %r6, %r10;
            add.u32 %r12, %r5, %r2;
            setp.lt.u32 %p1, %r11, {columns};
            setp.lt.and.u32 %p1, %r12, {rows}, %p1;
            mad.lo.u32 %r13, %r11, {rows}, %r12;
            mul.wide.u32 %rd3, %r13, 4;
            add.u64 %rd3, %rd2, %rd3;
            mad.lo.u32 %r14, %r2, {stride}, %r10;
            shl.b32 %r14, %r14, 2;
            add.u32 %r14, %r14, %r7;
            @%p1 ld.shared.u32 %r15, [%r14];
            @%p1 st.global.u32 [%rd3], %r15;\n"
        );
    }
    kernel(".param .u64 x, .param .u64 y", &(body + "ret;"))
}

fn run(rows: usize, columns: usize, stride: usize, bound: &str, seed: u64) -> Result<Counters, FaultKind> {
    let values: Vec<u32> = (0..(rows * columns) as u32).collect();
    let blocks = rows.div_ceil(32) * columns.div_ceil(32);
    let call = Call::new(&transpose(rows, columns, stride, bound), blocks as u32, 256).input(&values);
    let (mut call, y) = call.output(rows * columns);
    let counters = call.run(seed).map_err(|fault| fault.kind)?;
    let found = call.words(y, rows * columns);
    for (i, value) in found.into_iter().enumerate() {
        assert_eq!(value as usize, i % rows * columns + i / rows);
    }
    Ok(counters)
}

#[test]
fn padding_removes_bank_conflicts() {
    let padded = run(64, 96, 33, "lt", 0).unwrap();
    assert_eq!((padded.bank_conflicts, padded.coalescing()), (0, 1.0));
    assert_eq!(padded.global_bytes, 2 * 4 * 64 * 96);
    let plain = run(64, 96, 32, "lt", 0).unwrap();
    // 32 columns of each of 6 tiles, each in 32 cycles instead of one.
    assert_eq!(plain.bank_conflicts, 6 * 32 * 31);
    assert_eq!((padded.barriers, plain.barriers), (6, 6));
}

#[test]
fn tails_are_predicated() {
    for seed in SEEDS {
        run(45, 70, 33, "lt", seed).unwrap_or_else(|fault| panic!("{fault}"));
        let fault = run(45, 70, 33, "le", seed).unwrap_err();
        assert!(matches!(fault, FaultKind::Global(_)), "{fault}");
    }
}
