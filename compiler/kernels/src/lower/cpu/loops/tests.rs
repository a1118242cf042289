use super::*;
use crate::{lower, lower::planner::plan_text, schedule::Plans};
use hammock_interp::{
    self as interp,
    samples::{buffer, function, matmul, sblock},
};
use hammock_ir::{
    DType, PrimExpr, Tensor,
    prim::{Var, check},
    tir::{Buffer, ForKind, StmtKind},
};
use hammock_target::Target;

fn fastest(target: &Target) -> Planner<'_> {
    planner(target, false)
}

fn planner(target: &Target, strict_order: bool) -> Planner<'_> {
    let choice = ScheduleContext { target, gpu: None, strict_order, allow_tf32: false, repeats: 1 };
    Planner { choice, written: None }
}

fn n() -> PrimExpr {
    Var::int64("n").expr()
}

/// Returns the plan of a function as text, without remarks.
fn plan(func: &PrimFunc, target: &Target) -> String {
    let text = plan_text(func, func.body.clone(), fastest(target)).unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// Returns the number of parts that a function's stages become.
fn parts(func: &PrimFunc) -> usize {
    plan(func, &Target::avx512()).lines().filter(|line| !line.starts_with(' ')).count()
}

#[test]
fn contractions_share_rows_and_fill_registers() {
    let func = matmul(n(), PrimExpr::int64(70), PrimExpr::int64(33), DType::FLOAT32);
    let plan = plan(&func, &Target::avx512());
    assert_eq!(plan, "outer-product: v0 by 5 parallel 9, v1 by 48, v2, v0 unrolled, v1 vector\n");
    let narrow = self::plan(&func, &Target::avx2());
    assert_eq!(narrow, "outer-product: v0 by 6 parallel 4, v1 by 16, v2, v0 unrolled, v1 vector\n");
}

/// Returns the iterations of the parallel loops of a matmul, outermost first, and true if they contain all computation.
fn threads(n: PrimExpr, m: i64, k: i64) -> (Vec<Option<i64>>, bool) {
    let mut func = matmul(n, m.into(), k.into(), DType::FLOAT32);
    let mut body = std::mem::replace(&mut func.body, Stmt::nop());
    replace_stages(&func, &mut body, fastest(&Target::avx512())).unwrap();
    let (mut counts, mut alone) = (Vec::new(), true);
    let StmtKind::Block(root) = &body.kind else { panic!("the root block is gone") };
    let mut level = &root.body;
    loop {
        match &level.kind {
            StmtKind::For(l) if l.kind == ForKind::Parallel => {
                counts.push(l.extent.as_int());
                level = &l.body;
            }
            StmtKind::Seq(stmts) if counts.is_empty() && stmts.len() == 1 => level = &stmts[0],
            _ => break,
        }
    }
    level.walk(&mut |s| alone &= !matches!(&s.kind, StmtKind::For(l) if l.kind == ForKind::Parallel));
    (counts, alone)
}

#[test]
fn outer_loops_are_collapsed_with_their_tails() {
    assert_eq!(threads(64.into(), 64, 64), (vec![], true), "two microseconds");
    assert_eq!(threads(128.into(), 128, 128).0.len(), 1, "eighteen microseconds");
    // Tiles of 4 x 64, with a tail of rows: 251 = 62 * 4 + 3.
    assert_eq!(threads(251.into(), 64, 512), (vec![Some(63)], true));
    // Columns first: a block of them stays in cache.
    assert_eq!(threads(22.into(), 500, 512), (vec![Some(8), Some(6)], true));
    assert_eq!(threads(n(), 500, 512), (vec![Some(8), None], true));
}

/// Returns the numbers of lanes of the multiplications of a kernel with this plan.
fn lanes_of_products(mut func: PrimFunc, plan: &str) -> Vec<i64> {
    let mut body = std::mem::replace(&mut func.body, Stmt::nop());
    let plans = Plans::read(&format!("f:\n    {plan}\n")).unwrap();
    let target = Target::avx512();
    replace_stages(&func, &mut body, Planner { written: plans.of("f"), ..fastest(&target) }).unwrap();
    let mut found = Vec::new();
    body.walk(&mut |s| match &s.kind {
        StmtKind::For(l) if l.kind == ForKind::Vectorized => {
            let mut multiplies = false;
            l.body.each_expr(&mut |e| multiplies |= e.any(&mut |e| e.as_intrin("fma").is_some()));
            found.extend(l.extent.as_int().filter(|_| multiplies));
        }
        _ => {}
    });
    found
}

#[test]
fn padded_copies_allow_full_vectors() {
    let results = |room: &str| {
        let plan = format!("outer-product: copy of B as [v2, v1{room}] (elementwise: v2, v1), v0, v2, v1 vector");
        lanes_of_products(matmul(8.into(), 21.into(), 5.into(), DType::FLOAT32), &plan)
    };
    assert_eq!([results(""), results(" padded 8"), results(" padded 16")], [vec![16, 5], vec![16, 5], vec![32]]);
    let [a, b, c] = ["A", "B", "C"].map(|name| buffer(name, &[21.into(), 21.into()], DType::FLOAT32));
    let stage = sblock("matmul", &[('S', 21.into()), ('S', 21.into()), ('R', 21.into())], |v| {
        let load = |buffer: &Buffer, at: [usize; 2]| PrimExpr::load(buffer, at.map(|at| v[at].clone()).to_vec());
        let store = |value| Stmt::store(&c, v[..2].to_vec(), value);
        let sum = load(&c, [0, 1]) + load(&a, [0, 2]) * load(&b, [1, 2]);
        (Some(store(PrimExpr::constant(0.0, DType::FLOAT32))), store(sum))
    });
    let func = function(&[&a, &b, &c], &[], vec![stage]);
    let terms = |room: &str| {
        let copies = "copy of A as [v0, v2 padded 16] (elementwise: v0, v2), copy of B as [v1, v2";
        let plan = format!("inner-product: {copies}{room}] (elementwise: v1, v2), v0, v1, v2 by 16, v2 vector");
        lanes_of_products(func.clone(), &plan)
    };
    assert_eq!([terms(""), terms(" padded 16")], [vec![16, 5], vec![16]]);
}

#[test]
fn matrices_used_once_are_not_packed() {
    let one_row = |columns: i64, terms: i64| {
        plan(&matmul(1.into(), columns.into(), terms.into(), DType::FLOAT32), &Target::avx512())
    };
    let strips = "outer-product: v1 by 1024 parallel 1, v2 by 16, v1 by 256, v2, v1 vector\n";
    assert_eq!(one_row(8192, 4096), strips);
    let near = "outer-product: v1 by 256, v2, v1 vector\n";
    assert_eq!(one_row(512, 64), near, "in the cache");
}

#[test]
fn elementwise_stages_run_along_the_contiguous_axis() {
    let n = n();
    let [a, b] = ["A", "B"].map(|name| buffer(name, &[n.clone(), 10.into()], DType::FLOAT32));
    let stage = sblock("double", &[('S', n), ('S', 10.into())], |v| {
        let value = PrimExpr::load(&a, v.to_vec());
        (None, Stmt::store(&b, v.to_vec(), &value + value.clone()))
    });
    let plan = plan(&function(&[&a, &b], &[], vec![stage]), &Target::avx512());
    assert_eq!(plan, "elementwise: v0_v1 by 32 parallel 500, v0_v1 vector\n");
}

#[test]
fn transposes_use_tiles() {
    let m = PrimExpr::int64(8);
    let (a, b) =
        (buffer("A", &[m.clone(), m.clone()], DType::FLOAT32), buffer("B", &[m.clone(), m.clone()], DType::FLOAT32));
    let stage = sblock("transpose", &[('S', m.clone()), ('S', m)], |v| {
        let value = PrimExpr::load(&a, vec![v[1].clone(), v[0].clone()]);
        (None, Stmt::store(&b, v.to_vec(), value))
    });
    let plan = plan(&function(&[&a, &b], &[], vec![stage]), &Target::avx512());
    assert_eq!(plan, "transpose: v0 by 16, v1 by 16, v0 unrolled, v1 vector\n");
}

/// `C = relu(A @ B + bias)` as three stages.
fn epilogue(noalias: bool) -> PrimFunc {
    let (n, m, k) = (n(), PrimExpr::int64(64), PrimExpr::int64(32));
    let matmul = matmul(n.clone(), m.clone(), k, DType::FLOAT32);
    let [a, b, c] = [0, 1, 2].map(|i| matmul.params[i].buffer.clone().unwrap());
    let bias = buffer("bias", std::slice::from_ref(&m), DType::FLOAT32);
    let [sum, out] = ["sum", "out"].map(|name| buffer(name, &[n.clone(), m.clone()], DType::FLOAT32));
    let axes = [('S', n), ('S', m)];
    let add = sblock("add", &axes, |v| {
        let value = PrimExpr::load(&c, v.to_vec()) + PrimExpr::load(&bias, vec![v[1].clone()]);
        (None, Stmt::store(&sum, v.to_vec(), value))
    });
    let relu = sblock("relu", &axes, |v| {
        let value = PrimExpr::load(&sum, v.to_vec()).max(PrimExpr::constant(0.0, DType::FLOAT32));
        (None, Stmt::store(&out, v.to_vec(), value))
    });
    let StmtKind::Block(root) = matmul.body.kind else { unreachable!("the sample has a root block") };
    let mut func = function(&[&a, &b, &bias, &out], &[&c, &sum], vec![root.body, add, relu]);
    if noalias {
        func.attrs.set("tirx.noalias", true);
    }
    func
}

#[test]
fn epilogues_are_fused_into_reductions() {
    let mut func = epilogue(true);
    let plan = plan(&func, &Target::avx512());
    assert_eq!(plan, "outer-product: v0 by 4 parallel 15, v1 by 64, v2, v0 unrolled, v1 vector\n");
    let mut body = std::mem::replace(&mut func.body, Stmt::nop());
    replace_stages(&func, &mut body, fastest(&Target::avx512())).unwrap();
    let StmtKind::Block(root) = &body.kind else { panic!("the root block is gone") };
    assert!(root.alloc_buffers.is_empty(), "{:?}", root.alloc_buffers);
}

#[test]
fn aliasing_parameters_prevent_fusion() {
    assert_eq!(parts(&epilogue(false)), 3);
}

/// Returns the number of stages that two consecutive stages become.
fn stages(first: impl Fn(PrimExpr) -> PrimExpr, second: impl Fn(&Buffer, &[PrimExpr]) -> PrimExpr) -> usize {
    let m = PrimExpr::int64(64);
    let [a, t, c] = ["A", "T", "C"].map(|name| buffer(name, &[m.clone(), m.clone()], DType::FLOAT32));
    let axes = [('S', m.clone()), ('S', m)];
    let one = sblock("one", &axes, |v| (None, Stmt::store(&t, v.to_vec(), first(PrimExpr::load(&a, v.to_vec())))));
    let two = sblock("two", &axes, |v| (None, Stmt::store(&c, v.to_vec(), second(&t, v))));
    let mut func = function(&[&a, &c], &[&t], vec![one, two]);
    func.attrs.set("tirx.noalias", true);
    parts(&func)
}

#[test]
fn stages_fuse_without_recomputation_or_lost_vectors() {
    let exp = |x: PrimExpr| x.unary("exp");
    let at = |t: &Buffer, v: &[PrimExpr]| PrimExpr::load(t, v.to_vec());
    let across = |t: &Buffer, v: &[PrimExpr]| PrimExpr::load(t, vec![v[1].clone(), v[0].clone()]);
    let row = |t: &Buffer, v: &[PrimExpr]| PrimExpr::load(t, vec![v[1].clone(), v[1].clone()]);
    assert_eq!(stages(exp, at), 1);
    assert_eq!(stages(exp, |t, v| at(t, v) * at(t, v)), 1, "both loads are of one element");
    assert_eq!(stages(exp, across), 2, "the first has vectors");
    assert_eq!(stages(exp, |t, v| at(t, v) + row(t, v)), 2, "elements would be computed twice");
    assert_eq!(stages(|x| PrimExpr::intrin(check::DIVISOR, vec![x], DType::FLOAT32), at), 2, "checks stay");
}

/// A stage that checks an index is fused if the second stage reads every element, not if it may skip some.
#[test]
fn stages_with_checks_fuse_into_full_readers() {
    let checked = |x: PrimExpr| {
        let index = PrimExpr::intrin(check::INDEX, vec![x.clone().cast(DType::INT64), 8i64.into()], DType::INT64);
        x + index.cast(DType::FLOAT32)
    };
    let zero = || PrimExpr::constant(0.0, DType::FLOAT32);
    let at = |t: &Buffer, v: &[PrimExpr]| PrimExpr::load(t, v.to_vec());
    assert_eq!(stages(checked, at), 1);
    assert_eq!(stages(checked, |t, v| at(t, v).gt(zero()).select(at(t, v), zero())), 1, "the condition reads all");
    assert_eq!(stages(checked, |t, v| v[0].clone().gt(3i64).select(at(t, v), zero())), 2, "some may be left out");
    let row = |t: &Buffer, v: &[PrimExpr]| PrimExpr::load(t, vec![0i64.into(), v[1].clone()]);
    assert_eq!(stages(checked, row), 2, "most are left out");
}

/// One operand is broadcast from memory in packed groups, the other is vectorized along the results.
#[test]
fn dot_products_use_packed_groups() {
    let [n, m, k, four] = [48, 32, 64, 4].map(PrimExpr::int64);
    let x = buffer("x", &[n.clone(), k.clone()], DType::FLOAT32);
    let quantized = buffer("quantized", &x.shape, DType::INT8);
    let w = buffer("w", &[PrimExpr::int64(16), m.clone(), four], DType::UINT8);
    let sums = buffer("sums", &[n.clone(), m.clone()], DType::INT32);
    let out = buffer("out", &[m.clone(), n.clone()], DType::INT32);
    let quantize = sblock("quantize", &[('S', n.clone()), ('S', k.clone())], |v| {
        (None, Stmt::store(&quantized, v.to_vec(), PrimExpr::load(&x, v.to_vec()).cast(DType::INT8)))
    });
    let matmul = sblock("matmul", &[('S', n.clone()), ('S', m.clone()), ('R', k)], |v| {
        let own = v[..2].to_vec();
        let a = PrimExpr::load(&quantized, vec![v[0].clone(), v[2].clone()]).cast(DType::INT32);
        let place = vec![v[2].clone().floordiv(4i64), v[1].clone(), v[2].clone().floormod(4i64)];
        let value = PrimExpr::load(&sums, own.clone()) + a * PrimExpr::load(&w, place).cast(DType::INT32);
        (Some(Stmt::store(&sums, own.clone(), PrimExpr::int32(0))), Stmt::store(&sums, own, value))
    });
    let transpose = sblock("transpose", &[('S', m), ('S', n)], |v| {
        (None, Stmt::store(&out, v.to_vec(), PrimExpr::load(&sums, vec![v[1].clone(), v[0].clone()])))
    });
    let mut func = function(&[&x, &w, &out], &[&quantized, &sums], vec![quantize, matmul, transpose]);
    func.attrs.set("tirx.noalias", true);
    let plan = plan(&func, &Target::avx512());
    let rules: Vec<&str> = plan.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(rules, ["elementwise", "dot-product", "transpose"], "{plan}");
    assert!(!plan.contains("copy of w"), "{plan}");
}

/// Softmax over the last or the first axis of a 32 x 48 tensor.
fn softmax(last: bool) -> PrimFunc {
    softmax_of([32, 48].map(PrimExpr::int64), last)
}

/// Softmax over the last or the first axis of a tensor.
fn softmax_of(sizes: [PrimExpr; 2], last: bool) -> PrimFunc {
    let [result_axis, reduced] = if last { [0, 1] } else { [1, 0] };
    let [x, exp, out] = ["x", "exp", "out"].map(|name| buffer(name, &sizes, DType::FLOAT32));
    let [max, sum] = ["max", "sum"].map(|name| buffer(name, std::slice::from_ref(&sizes[result_axis]), DType::FLOAT32));
    let at = |v: &[PrimExpr]| if last { v.to_vec() } else { vec![v[1].clone(), v[0].clone()] };
    let reduce = |to: &Buffer, from: &Buffer, init: f64, f: fn(PrimExpr, PrimExpr) -> PrimExpr| {
        sblock(&to.name.clone(), &[('S', sizes[result_axis].clone()), ('R', sizes[reduced].clone())], |v| {
            let own = vec![v[0].clone()];
            let value = f(PrimExpr::load(to, own.clone()), PrimExpr::load(from, at(v)));
            let init = PrimExpr::constant(init, DType::FLOAT32);
            (Some(Stmt::store(to, own.clone(), init)), Stmt::store(to, own, value))
        })
    };
    let each = |to: &Buffer, f: &dyn Fn(&[PrimExpr], Vec<PrimExpr>) -> PrimExpr| {
        sblock(&to.name.clone(), &[('S', sizes[0].clone()), ('S', sizes[1].clone())], |v| {
            (None, Stmt::store(to, v.to_vec(), f(v, vec![v[result_axis].clone()])))
        })
    };
    let stages = vec![
        reduce(&max, &x, f64::NEG_INFINITY, |a, b| a.max(b)),
        each(&exp, &|v, row| (PrimExpr::load(&x, v.to_vec()) - PrimExpr::load(&max, row)).unary("exp")),
        reduce(&sum, &exp, 0.0, |a, b| a + b),
        each(&out, &|v, row| PrimExpr::load(&exp, v.to_vec()) / PrimExpr::load(&sum, row)),
    ];
    let mut func = function(&[&x, &out], &[&max, &exp, &sum], stages);
    func.attrs.set("tirx.noalias", true);
    func
}

#[test]
fn row_tiling_preserves_vectors() {
    let plan = plan(&softmax(true), &Target::avx512());
    let expected = "\
rows, 8 at a time:
    horizontal-reduction: v0, v1 by 32, v1 vector
    elementwise: v0, v1 by 32, v1 vector
    horizontal-reduction: v0, v1 by 32, v1 vector
    elementwise: v0, v1 by 32, v1 vector
";
    assert_eq!(plan, expected);
    assert_eq!(parts(&softmax(false)), 4, "columns are neighbours in memory");
}

#[test]
fn divisions_of_long_rows_use_a_hoisted_reciprocal() {
    let inverted = |func: &PrimFunc, strict_order| {
        let target = Target::avx512();
        plan_text(func, func.body.clone(), planner(&target, strict_order)).unwrap().contains("reciprocal hoisted")
    };
    let sizes = [32, 1024].map(PrimExpr::int64);
    let [x, y] = ["x", "y"].map(|name| buffer(name, &sizes, DType::FLOAT32));
    let sum = buffer("sum", &sizes[..1], DType::FLOAT32);
    let quotient = |f: &dyn Fn(&[PrimExpr]) -> PrimExpr| {
        let stage = sblock("y", &[('S', sizes[0].clone()), ('S', sizes[1].clone())], |v| {
            (None, Stmt::store(&y, v.to_vec(), PrimExpr::load(&x, v.to_vec()) / f(v)))
        });
        function(&[&x, &sum, &y], &[], vec![stage])
    };
    let zero = PrimExpr::int64(0);
    let of_row = quotient(&|v| PrimExpr::load(&sum, vec![v[0].clone()]));
    assert!(inverted(&of_row, false) && !inverted(&of_row, true));
    let of_column = quotient(&|v| PrimExpr::load(&x, vec![zero.clone(), v[1].clone()]));
    assert!(!inverted(&of_column, false), "every element has a divisor of its own");
    let of_result = quotient(&|v| PrimExpr::load(&y, vec![v[0].clone(), zero.clone()]));
    assert!(!inverted(&of_result, false), "the divisor is overwritten");
    assert!(!inverted(&softmax(true), false), "three vectors are not worth two loops");
}

/// Counts the loops that both compute and add elements of a softmax.
fn loops_of_both(body: &Stmt) -> usize {
    let stores = |body: &Stmt, name: &str| {
        let mut found = false;
        body.walk(&mut |s| found |= matches!(&s.kind, StmtKind::Store { buffer, .. } if *buffer.name == *name));
        found
    };
    // Elements are stored in the output buffer.
    let both = |body: &Stmt| stores(body, "out") && stores(body, "sum_sum") && !stores(body, "max_sum");
    let mut loops = 0;
    body.walk(&mut |s| {
        loops += usize::from(matches!(&s.kind, StmtKind::For(l) if l.kind == ForKind::Serial && both(&l.body)))
    });
    loops
}

#[test]
fn elementwise_loops_fuse_with_reductions() {
    for (rows, columns) in [(2, PrimExpr::int64(8000)), (2, PrimExpr::int64(8003)), (2, n())] {
        // The loops differ if math functions use fewer registers than sums.
        for (target, together) in [(Target::avx512(), 1), (Target::avx2(), 0)] {
            let func = softmax_of([PrimExpr::int64(rows), columns.clone()], true);
            let mut body = func.body.clone();
            replace_stages(&func, &mut body, fastest(&target)).unwrap();
            assert_eq!(loops_of_both(&body), together, "{columns}");
            let Some(count) = columns.as_int() else { continue };
            let numbers: Vec<f32> = (0..rows * count).map(|i| (i * 37 % 101) as f32 * 0.1).collect();
            let x = Tensor::from_slice(&[rows, count], &numbers).unwrap();
            let run = |func: &PrimFunc| {
                let out = (vec![rows, count], DType::FLOAT32);
                interp::call_tir(func, &[x.clone().into()], &[out]).unwrap().remove(0)
            };
            let (expected, actual) = (run(&func), run(&lower(&func, &target).unwrap().func));
            for (expected, actual) in expected.as_slice::<f32>().unwrap().iter().zip(actual.as_slice::<f32>().unwrap())
            {
                assert!((expected - actual).abs() <= expected * 1e-5, "{actual}, {expected}");
            }
        }
    }
}

#[test]
fn intermediates_have_one_tile_of_rows() {
    let mut func = softmax(true);
    let mut body = std::mem::replace(&mut func.body, Stmt::nop());
    replace_stages(&func, &mut body, fastest(&Target::avx512())).unwrap();
    let StmtKind::Block(root) = &body.kind else { panic!("the root block is gone") };
    assert!(root.alloc_buffers.is_empty(), "{:?}", root.alloc_buffers);
    let mut sizes = Vec::new();
    body.walk(&mut |stmt| {
        if let StmtKind::Alloc(buffer, _) = &stmt.kind
            && &*buffer.scope == "global"
        {
            sizes.push(buffer.shape.iter().map(|size| size.as_int().unwrap()).product::<i64>());
        }
    });
    // Exponentials are stored in the output buffer.
    assert_eq!(sizes, [8, 8]);
}
