//! A tiled matmul of f16 by `cp.async`, `ldmatrix` and `mma.sync`, and the same with planted faults.
//!
//! Four warps compute 64 × 32 elements of C; tiles of A (64 × 32) and B (32 × 32) go through a ring of shared-memory
//! slots. A row of a tile has four chunks of 16 bytes, which a swizzle permutes so that `ldmatrix` has no conflicts.
use hammock_cuda_emulator::{
    counters::Counters,
    fault::{Fault, FaultKind},
};

use crate::support::{Call, SEEDS, module};

const TILE: [usize; 3] = [64, 32, 32];
/// Bytes of a slot: a tile of A, then one of B.
const SLOT: usize = 64 * 64 + 32 * 64;
const B_OFFSET: usize = 64 * 64;
const THREADS: u32 = 128;

/// What may be wrong with the kernel.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Nothing,
    /// `cp.async.wait_group` leaves one group more pending.
    LaxWait,
    /// No `bar.sync` after the wait.
    NoBarrier,
    /// `ldmatrix` reads A by another swizzle than `cp.async` writes.
    WrongSwizzle,
    /// No swizzle on either side.
    NoSwizzle,
    /// Rows of A up to and with m are copied.
    LongTail,
    /// Row m of C is written.
    LongStore,
    /// The first k16 step of B is used for both.
    StuckStep,
}

struct Shape {
    m: usize,
    n: usize,
    k: usize,
    stages: usize,
}

/// Registers: `%r1` thread, `%r2` lane, `%r3` warp, `%r4` first row and `%r5` first column of the block's tile.
fn prologue(shape: &Shape) -> String {
    let columns = shape.n.div_ceil(TILE[1]);
    format!(
        "mov.u32 %r1, %tid.x;
        and.b32 %r2, %r1, 31;
        shr.u32 %r3, %r1, 5;
        mov.u32 %r6, %ctaid.x;
        div.u32 %r4, %r6, {columns};
        rem.u32 %r5, %r6, {columns};
        shl.b32 %r4, %r4, 6;
        shl.b32 %r5, %r5, 5;
        mov.u32 %r7, tiles;
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        ld.param.u64 %rd3, [c];\n"
    )
}

/// `%r20` = offset in a tile of the chunk `%r11` of row `%r10`.
fn tile_offset(swizzle: Option<u32>) -> String {
    let permute = match swizzle {
        Some(shift) => format!("shr.u32 %r20, %r10, {shift};\nand.b32 %r20, %r20, 3;\nxor.b32 %r20, %r20, %r11;\n"),
        None => "mov.u32 %r20, %r11;\n".to_string(),
    };
    permute + "shl.b32 %r20, %r20, 4;\nshl.b32 %r21, %r10, 6;\nadd.u32 %r20, %r20, %r21;\n"
}

/// Copies chunk `index` of a tile: rows from `%r4` of A, or from step `%r30` of B, to the slot at `%r31`. Chunks
/// outside the matrix are filled with zeros.
fn copy_chunk(shape: &Shape, plant: Plant, index: usize, of_a: bool) -> String {
    let swizzle = if plant == Plant::NoSwizzle { None } else { Some(1) };
    let (rows, columns) = if of_a { (shape.m, shape.k) } else { (shape.k, shape.n) };
    let (row_base, column_base) = if of_a { ("%r4", "%r30") } else { ("%r30", "%r5") };
    let (pointer, offset) = if of_a { ("%rd1", 0) } else { ("%rd2", B_OFFSET) };
    let within = if of_a && plant == Plant::LongTail { "le" } else { "lt" };
    format!(
        "add.u32 %r9, %r1, {first};
        shr.u32 %r10, %r9, 2;
        and.b32 %r11, %r9, 3;
        {tile_offset}
        add.u32 %r20, %r20, %r31;
        add.u32 %r12, {row_base}, %r10;
        shl.b32 %r13, %r11, 3;
        add.u32 %r13, %r13, {column_base};
        setp.{within}.u32 %p1, %r12, {rows};
        setp.lt.and.u32 %p1, %r13, {columns}, %p1;
        selp.u32 %r14, 16, 0, %p1;
        mad.lo.u32 %r15, %r12, {columns}, %r13;
        selp.u32 %r15, %r15, 0, %p1;
        mul.wide.u32 %rd4, %r15, 2;
        add.u64 %rd4, {pointer}, %rd4;
        cp.async.cg.shared.global [%r20+{offset}], [%rd4], 16, %r14;\n",
        first = index * THREADS as usize,
        tile_offset = tile_offset(swizzle),
    )
}

/// Copies the tiles of step `%r30` (in elements of k) to the slot at `%r31`, if the step exists, as a group.
fn copy_tiles(shape: &Shape, plant: Plant, label: &str) -> String {
    let chunks = [(0, true), (1, true), (0, false)];
    let copies: String = chunks.iter().map(|&(index, of_a)| copy_chunk(shape, plant, index, of_a)).collect();
    format!(
        "setp.ge.u32 %p2, %r30, {k};
        @%p2 bra {label};
        {copies}
        {label}:
        cp.async.commit_group;\n",
        k = shape.k
    )
}

/// Multiplies the tiles in the slot at `%r32`.
fn multiply_tiles(plant: Plant) -> String {
    let read_swizzle = match plant {
        Plant::NoSwizzle => None,
        Plant::WrongSwizzle => Some(0),
        _ => Some(1),
    };
    let write_swizzle = if plant == Plant::NoSwizzle { None } else { Some(1) };
    let mut text = String::new();
    for step in 0..2 {
        // Lanes 0 to 15 address rows of the left half, the others of the right half.
        text += &format!(
            "and.b32 %r8, %r2, 15;
            shr.u32 %r9, %r2, 4;
            shl.b32 %r10, %r3, 4;
            add.u32 %r10, %r10, %r8;
            add.u32 %r11, %r9, {chunk};
            {offset}
            add.u32 %r20, %r20, %r32;
            ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%r20];\n",
            chunk = 2 * step,
            offset = tile_offset(read_swizzle),
        );
        for pair in 0..2 {
            let row = if plant == Plant::StuckStep { 0 } else { 16 * step };
            text += &format!(
                "add.u32 %r10, %r8, {row};
                add.u32 %r11, %r9, {chunk};
                {offset}
                add.u32 %r20, %r20, %r32;
                ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%b0, %b1, %b2, %b3}}, [%r20+{B_OFFSET}];\n",
                chunk = 2 * pair,
                offset = tile_offset(write_swizzle),
            );
            for half in 0..2 {
                let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|i| 4 * (2 * pair + half) + i);
                text += &format!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%c{c0}, %c{c1}, %c{c2}, %c{c3}}}, \
                     {{%a0, %a1, %a2, %a3}}, {{%b{}, %b{}}}, {{%c{c0}, %c{c1}, %c{c2}, %c{c3}}};\n",
                    2 * half,
                    2 * half + 1
                );
            }
        }
    }
    text
}

/// Stores the accumulators, pairs of columns at a time.
fn store(shape: &Shape, plant: Plant) -> String {
    let within = if plant == Plant::LongStore { "le" } else { "lt" };
    let mut text = "shr.u32 %r8, %r2, 2;\nand.b32 %r9, %r2, 3;\nshl.b32 %r9, %r9, 1;\n".to_string();
    for (tile, half) in (0..4).flat_map(|tile| [(tile, 0), (tile, 1)]) {
        text += &format!(
            "shl.b32 %r10, %r3, 4;
            add.u32 %r10, %r10, %r8;
            add.u32 %r10, %r10, %r4;
            add.u32 %r10, %r10, {row};
            add.u32 %r11, %r9, %r5;
            add.u32 %r11, %r11, {column};
            setp.{within}.u32 %p1, %r10, {m};
            setp.lt.and.u32 %p1, %r11, {n}, %p1;
            mad.lo.u32 %r12, %r10, {n}, %r11;
            mul.wide.u32 %rd4, %r12, 4;
            add.u64 %rd4, %rd3, %rd4;
            @%p1 st.global.v2.f32 [%rd4], {{%c{first}, %c{second}}};\n",
            row = 8 * half,
            column = 8 * tile,
            m = shape.m,
            n = shape.n,
            first = 4 * tile + 2 * half,
            second = 4 * tile + 2 * half + 1,
        );
    }
    text
}

fn matmul(shape: &Shape, plant: Plant) -> String {
    let ahead = shape.stages - 1;
    let mut body = prologue(shape);
    body += &(0..16).map(|i| format!("mov.f32 %c{i}, 0f00000000;\n")).collect::<String>();
    for stage in 0..ahead {
        body += &format!("mov.u32 %r30, {};\nadd.u32 %r31, %r7, {};\n", stage * TILE[2], stage * SLOT);
        body += &copy_tiles(shape, plant, &format!("copied{stage}"));
    }
    let pending = ahead - 1 + usize::from(plant == Plant::LaxWait);
    let barrier = if plant == Plant::NoBarrier { "" } else { "bar.sync 0;" };
    let (end, next) = (shape.stages * SLOT, ahead * SLOT);
    // %r33 is the step in elements, %r34 and %r35 the offsets of the slots to read and to fill.
    body += &format!(
        "mov.u32 %r33, 0;
        mov.u32 %r34, 0;
        mov.u32 %r35, {next};
        step:
        cp.async.wait_group {pending};
        {barrier}
        add.u32 %r30, %r33, {lead};
        add.u32 %r31, %r7, %r35;
        {copy}
        add.u32 %r32, %r7, %r34;
        {multiply}
        add.u32 %r34, %r34, {SLOT};
        add.u32 %r35, %r35, {SLOT};
        setp.eq.u32 %p3, %r34, {end};
        selp.u32 %r34, 0, %r34, %p3;
        setp.eq.u32 %p3, %r35, {end};
        selp.u32 %r35, 0, %r35, %p3;
        add.u32 %r33, %r33, {depth};
        setp.lt.u32 %p3, %r33, {k};
        @%p3 bra step;
        {store}
        ret;",
        lead = ahead * TILE[2],
        copy = copy_tiles(shape, plant, "copied"),
        multiply = multiply_tiles(plant),
        depth = TILE[2],
        k = shape.k,
        store = store(shape, plant),
    );
    module(&format!(
        ".extern .shared .align 16 .b8 tiles[];
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
        {{
        .reg .pred %p<4>;
        .reg .b32 %r<36>;
        .reg .b64 %rd<8>;
        .reg .b32 %a<4>, %b<4>;
        .reg .f32 %c<16>;
        {body}
        }}"
    ))
}

/// Small integers, whose products and sums are exact.
fn element(row: usize, column: usize, salt: usize) -> i32 {
    ((row * 31 + column * 17 + salt) % 9) as i32 - 4
}

/// Halves in memory of exactly this size.
fn halves(call: &mut Call, rows: usize, columns: usize, salt: usize) -> u64 {
    let value = |i: usize| half::f16::from_f32(element(i / columns, i % columns, salt) as f32);
    let bytes: Vec<u8> = (0..rows * columns).flat_map(|i| value(i).to_le_bytes()).collect();
    let address = call.memory.allocate(bytes.len() as u64).unwrap();
    call.memory.write(address, &bytes).unwrap();
    address
}

/// Runs the kernel; returns its counters and whether the result is right.
fn run(shape: &Shape, plant: Plant, seed: u64) -> Result<(Counters, bool), Box<Fault>> {
    let blocks = shape.m.div_ceil(TILE[0]) * shape.n.div_ceil(TILE[1]);
    let call = Call::new(&matmul(shape, plant), blocks as u32, THREADS);
    let mut call = call.shared((shape.stages * SLOT) as u32);
    let a = halves(&mut call, shape.m, shape.k, 1);
    let b = halves(&mut call, shape.k, shape.n, 5);
    let (mut call, c) = call.pointer(a).pointer(b).output(shape.m * shape.n);
    let counters = call.run(seed)?;
    let product = |i: usize, j: usize| (0..shape.k).map(|l| element(i, l, 1) * element(l, j, 5)).sum::<i32>();
    let found = call.words(c, shape.m * shape.n);
    let is_right = (0..shape.m * shape.n).all(|i| f32::from_bits(found[i]) == product(i / shape.n, i % shape.n) as f32);
    Ok((counters, is_right))
}

const WHOLE: Shape = Shape { m: 128, n: 64, k: 128, stages: 3 };
/// No extent is a multiple of the tile's.
const RAGGED: Shape = Shape { m: 75, n: 40, k: 72, stages: 3 };

#[test]
fn tiles_multiply_for_every_order() {
    for stages in [2, 3, 4] {
        for seed in SEEDS {
            let shape = Shape { stages, ..RAGGED };
            let (_, is_right) = run(&shape, Plant::Nothing, seed).unwrap_or_else(|fault| panic!("{fault}"));
            assert!(is_right, "{stages} stages, seed {seed}");
        }
    }
}

#[test]
fn counters_of_the_matmul() {
    let (counters, is_right) = run(&WHOLE, Plant::Nothing, 0).unwrap();
    assert!(is_right);
    assert_eq!(counters.bank_conflicts, 0);
    assert_eq!(counters.mma as usize, 128 * 64 * 128 / (16 * 8 * 16));
    assert_eq!(counters.coalescing(), 1.0);
    let bytes = 2 * 128 * 128 * (64 / 32) + 2 * 128 * 64 * (128 / 64) + 4 * 128 * 64;
    assert_eq!(counters.global_bytes, bytes, "A and B once for each tile of C, C once");
    let (unswizzled, is_right) = run(&WHOLE, Plant::NoSwizzle, 0).unwrap();
    assert!(is_right);
    assert!(unswizzled.bank_conflicts > 1000, "{}", unswizzled.bank_conflicts);
}

/// The fault of a planted fault, for every seed.
fn expect(shape: &Shape, plant: Plant, is_expected: impl Fn(&FaultKind) -> bool) {
    for seed in SEEDS {
        match run(shape, plant, seed) {
            Ok((_, is_right)) => panic!("seed {seed}: no fault, right: {is_right}"),
            Err(fault) => assert!(is_expected(&fault.kind), "seed {seed}: {fault}"),
        }
    }
}

#[test]
fn a_wait_one_group_too_lax_is_a_race() {
    expect(&WHOLE, Plant::LaxWait, |kind| matches!(kind, FaultKind::Race(_)));
}

#[test]
fn a_missing_barrier_is_a_race() {
    let is_expected = |kind: &FaultKind| matches!(kind, FaultKind::Race(_) | FaultKind::Unwritten(_));
    expect(&WHOLE, Plant::NoBarrier, is_expected);
}

#[test]
fn a_wrong_swizzle_or_step_gives_a_wrong_result() {
    for plant in [Plant::WrongSwizzle, Plant::StuckStep] {
        let (_, is_right) = run(&WHOLE, plant, 0).unwrap();
        assert!(!is_right);
    }
    let (counters, _) = run(&WHOLE, Plant::WrongSwizzle, 0).unwrap();
    assert!(counters.bank_conflicts > 0);
}

#[test]
fn a_tail_off_by_one_is_out_of_bounds() {
    let is_expected = |kind: &FaultKind| matches!(kind, FaultKind::Global(_));
    expect(&RAGGED, Plant::LongTail, is_expected);
    expect(&RAGGED, Plant::LongStore, is_expected);
}
