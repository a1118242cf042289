mod columns;
mod tensor_cores;

use crate::{
    GpuKernel, Options,
    lower::tests::{raw_args, sample},
    lower_gpu, plan_text,
    schedule::Plans,
};
use hammock_interp::{
    self as interp, Arg,
    samples::{buffer, function, map, matmul, sblock},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{Block, Buffer, ForKind, PrimFunc, Stmt, StmtKind},
};
use hammock_target::{Gpu, Target};

fn int(v: i64) -> PrimExpr {
    PrimExpr::int64(v)
}

fn lowered(func: &PrimFunc) -> GpuKernel {
    lowered_with(func, None)
}

/// Lowers a function with the plan of its only stage, if it is given.
fn lowered_with(func: &PrimFunc, plan: Option<&str>) -> GpuKernel {
    let target = Target::baseline();
    let plans = plan.map(|plan| Plans::read(&format!("main:\n    {plan}\n")).unwrap());
    let plan = plans.as_ref().and_then(|plans| plans.of("main"));
    lower_gpu(func, Options { plan, allow_tf32: true, ..Options::new(&target) }, &Gpu::DEFAULT)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the plan of a function, without remarks.
fn plan(func: &PrimFunc) -> String {
    let target = Target::baseline();
    let text = plan_text(func, Options { gpu: Some(&Gpu::DEFAULT), ..Options::new(&target) }).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn text(kernel: &GpuKernel) -> String {
    let function =
        |func: &PrimFunc| hammock_ir::print::function_text(&"f".into(), &hammock_ir::Function::Tir(func.clone()));
    let device = kernel.device.iter().map(|device| function(&device.func));
    [function(&kernel.host.func)].into_iter().chain(device).collect::<Vec<_>>().join("\n")
}

/// Runs a function on tensors of these shapes before and after lowering, and compares all tensors bitwise.
fn check(func: &PrimFunc, shapes: &[&[i64]]) {
    check_kernel(func, &lowered(func), shapes);
}

fn check_kernel(func: &PrimFunc, kernel: &GpuKernel, shapes: &[&[i64]]) {
    let tensor = |(i, (b, shape)): (usize, (&Buffer, &&[i64]))| Arg::from(sample(b.dtype, shape, i as i64));
    let args: Vec<Arg> = func.buffers().zip(shapes).enumerate().map(tensor).collect();
    let (mut expected, mut actual) = (args.clone(), raw_args(&kernel.host, &args));
    interp::run(func, &mut expected).unwrap();
    let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
    interp::run_kernel(&kernel.host.func, &device, &mut actual).unwrap_or_else(|e| panic!("{e}\n{}", text(kernel)));
    for (expected, actual) in expected.iter().zip(&actual) {
        let (expected, actual) = (expected.tensor().unwrap(), actual.tensor().unwrap());
        assert_eq!(expected.as_bytes(), actual.as_bytes(), "shapes {shapes:?}: {}", text(kernel));
    }
}

#[test]
fn matmul_of_symbolic_sizes() {
    let (n, m, k) = (Var::int64("n"), Var::int64("m"), Var::int64("k"));
    let func = matmul(n.expr(), m.expr(), k.expr(), DType::FLOAT32);
    let kernel = lowered_with(&func, Some("thread_per_result: v0 grid 256, v1 grid 256, v2"));
    for (n, m, k) in [(1, 1, 1), (3, 5, 7), (8, 16, 4), (17, 33, 2), (0, 4, 4), (4, 0, 4), (4, 5, 0), (13, 70, 9)] {
        check_kernel(&func, &kernel, &[&[n, k], &[k, m], &[n, m]]);
    }
}

#[test]
fn elements_of_any_number() {
    let n = Var::int64("n");
    let func = map(n.expr(), DType::FLOAT32, DType::FLOAT32, |x| x.clone() * x);
    for n in [0, 1, 31, 255, 256, 257, 1000] {
        check(&func, &[&[n], &[n]]);
    }
}

#[test]
fn intermediates_between_parts_are_workspaces() {
    let n = Var::int64("n");
    let [a, sum, b] = ["A", "S", "B"].map(|name| {
        let shape = if name == "S" { vec![n.expr()] } else { vec![n.expr(), int(5)] };
        buffer(name, &shape, DType::FLOAT32)
    });
    let total = sblock("sum", &[('S', n.expr()), ('R', int(5))], |v| {
        let at = vec![v[0].clone()];
        let add = PrimExpr::load(&sum, at.clone()) + PrimExpr::load(&a, v.to_vec());
        (Some(Stmt::store(&sum, at.clone(), PrimExpr::float(0.0, DType::FLOAT32))), Stmt::store(&sum, at, add))
    });
    let center = sblock("center", &[('S', n.expr()), ('S', int(5))], |v| {
        let value = PrimExpr::load(&a, v.to_vec()) - PrimExpr::load(&sum, vec![v[0].clone()]);
        (None, Stmt::store(&b, v.to_vec(), value))
    });
    let func = function(&[&a, &b], &[&sum], vec![total, center]);
    for n in [0, 1, 7, 300] {
        check(&func, &[&[n, 5], &[n, 5]]);
    }
}

/// The function with parameters that do not alias.
fn noalias(mut func: PrimFunc) -> PrimFunc {
    func.attrs.set("tirx.noalias", true);
    func
}

fn f32(v: f64) -> PrimExpr {
    PrimExpr::float(v, DType::FLOAT32)
}

#[test]
fn contractions_in_tiles() {
    let (n, m, k) = (Var::int64("n"), Var::int64("m"), Var::int64("k"));
    let dynamic = noalias(matmul(n.expr(), m.expr(), k.expr(), DType::FLOAT32));
    let text = "contraction: v0 by 32 block, v1 by 32 block, v2 by 16, copy of A as [v2, v0 padded 34] \
                (cooperative_copy: v0 thread, v2 thread), copy of B as [v2, v1] (cooperative_copy: v2 thread, v1 thread), \
                v2, v0 by 16 unrolled, v1 by 16 unrolled, v0 thread, v1 thread";
    let planned = plan(&dynamic);
    assert_eq!(planned.trim_end(), text.replace("by 32 block", "by 64 block").replace("padded 34", "padded 66"));
    let kernel = lowered_with(&dynamic, Some(text));
    for (n, m, k) in [(1, 1, 1), (33, 31, 17), (0, 3, 3), (3, 3, 0)] {
        check_kernel(&dynamic, &kernel, &[&[n, k], &[k, m], &[n, m]]);
    }
    for (n, m, k) in [(32, 32, 16), (9, 33, 20)] {
        let fixed = noalias(matmul(int(n), int(m), int(k), DType::FLOAT32));
        check(&fixed, &[&[n, k], &[k, m], &[n, m]]);
    }
    // Each thread of a warp reduces a part of the row.
    let split = "contraction: v0 by 2 block, v1 by 8 block, v0 thread, v1 thread, v2 by 16, v2 thread";
    let kernel = lowered_with(&dynamic, Some(split));
    for (n, m, k) in [(3, 9, 40), (2, 8, 16), (1, 1, 5)] {
        check_kernel(&dynamic, &kernel, &[&[n, k], &[k, m], &[n, m]]);
    }
}

/// Sums the rows of a matrix, from an initial value on.
fn row_sums(n: PrimExpr, k: PrimExpr, init: f64) -> PrimFunc {
    let (a, b) =
        (buffer("A", &[n.clone(), k.clone()], DType::FLOAT32), buffer("B", std::slice::from_ref(&n), DType::FLOAT32));
    let stage = sblock("sum", &[('S', n), ('R', k)], |v| {
        let at = vec![v[0].clone()];
        let add = PrimExpr::load(&b, at.clone()) + PrimExpr::load(&a, v.to_vec());
        (Some(Stmt::store(&b, at.clone(), f32(init))), Stmt::store(&b, at, add))
    });
    noalias(function(&[&a, &b], &[], vec![stage]))
}

#[test]
fn rows_are_reduced_by_warps_and_blocks() {
    let (n, k) = (Var::int64("n"), Var::int64("k"));
    let dynamic = row_sums(n.expr(), k.expr(), 3.0);
    assert_eq!(plan(&dynamic), "warp_reduction: v0 by 8 block, v0 thread, v1 by 32, v1 thread\n");
    for (n, k) in [(1, 1), (8, 32), (9, 100), (3, 0), (0, 3)] {
        check(&dynamic, &[&[n, k], &[n]]);
    }
    let aligned = row_sums(n.expr(), int(256), 0.0);
    assert_eq!(plan(&aligned), "warp_reduction: v0 by 8 block, v0 thread, v1 by 128, v1 by 4 thread, v1 vector\n");
    check(&aligned, &[&[5, 256], &[5]]);
    let long = row_sums(n.expr(), int(2050), 1.0);
    assert_eq!(plan(&long), "block_reduction: v0 by 1 block, v1 by 256, v1 thread\n".replace(" by 1 ", " "));
    check(&long, &[&[3, 2050], &[3]]);
    let whole = row_sums(int(1), n.expr(), 1.0);
    let parts = "block_reduction: v1_part block, v1 by 1024, v1 by 4 thread, v1 vector\n";
    let combination = "block_reduction: v1_part by 1024, v1_part by 4 thread, v1_part vector\n";
    assert_eq!(plan(&whole), [parts, combination].concat());
    for k in [0, 1, 4, 1027, 3000, 9000] {
        check(&whole, &[&[1, k], &[1]]);
    }
}

#[test]
fn transposes_through_shared_memory() {
    let (n, m) = (Var::int64("n"), Var::int64("m"));
    let a = buffer("A", &[n.expr(), m.expr()], DType::FLOAT32);
    let b = buffer("B", &[m.expr(), n.expr()], DType::FLOAT32);
    let stage = sblock("t", &[('S', m.expr()), ('S', n.expr())], |v| {
        (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![v[1].clone(), v[0].clone()]) * f32(2.0)))
    });
    let func = noalias(function(&[&a, &b], &[], vec![stage]));
    assert_eq!(
        plan(&func),
        "transpose: v0 by 128 block, v1 by 32 block, copy of A as [v1, v0 padded 129] (cooperative_copy: v1 thread, v0 \
         thread), v0 by 8 unrolled, v0 thread, v1 thread\n"
    );
    for (n, m) in [(1, 1), (32, 32), (33, 65), (0, 5)] {
        check(&func, &[&[n, m], &[m, n]]);
    }
}

#[test]
fn vectors_of_16_bytes_with_a_tail() {
    let n = Var::int64("n");
    let func = noalias(map(n.expr(), DType::FLOAT32, DType::FLOAT32, |x| x.clone() * x));
    let kernel = lowered_with(&func, Some("elementwise: v0 by 4 grid 256, v0 vector"));
    for n in [0, 1, 3, 4, 1023, 1024, 1027] {
        check_kernel(&func, &kernel, &[&[n], &[n]]);
    }
    let mut lanes = 1;
    kernel.device[0].func.body.walk(&mut |s| s.each_expr(&mut |e| e.walk(&mut |e| lanes = lanes.max(e.dtype().lanes))));
    assert_eq!(lanes, 4);
    let large = noalias(map(int(1 << 20), DType::FLOAT32, DType::FLOAT32, |x| x.clone() * x));
    assert_eq!(plan(&large), "elementwise: v0 by 4 grid 256, v0 vector\n");
}

#[test]
fn scans_run_on_a_thread_for_each_line() {
    let (n, m) = (Var::int64("n"), Var::int64("m"));
    let a = buffer("A", &[n.expr(), m.expr()], DType::FLOAT32);
    let b = buffer("B", &[n.expr(), m.expr()], DType::FLOAT32);
    let line = buffer("line", &[m.expr()], DType::FLOAT32);
    let stage = sblock("scan", &[('S', n.expr())], |v| {
        let (i, j) = (Var::int64("i"), Var::int64("j"));
        let at = |k: PrimExpr| vec![v[0].clone(), k];
        let first =
            Stmt::serial(j.clone(), m.expr(), Stmt::store(&line, vec![j.expr()], PrimExpr::load(&a, at(j.expr()))));
        let before = (i.expr() - int(1)).max(int(0));
        let sum = i.expr().gt(int(0)).if_then_else(PrimExpr::load(&b, at(before)), f32(0.0));
        let add = Stmt::store(&b, at(i.expr()), sum + PrimExpr::load(&line, vec![i.expr()]));
        let alloc = Stmt::new(StmtKind::Alloc(line.clone(), Default::default()));
        (None, Stmt::new(StmtKind::Seq(vec![alloc, first, Stmt::serial(i, m.expr(), add)])))
    });
    let func = noalias(function(&[&a, &b], &[], vec![stage]));
    assert_eq!(plan(&func), "opaque, 1 loop parallel 256\n");
    for (n, m) in [(1, 1), (300, 3), (2, 20), (0, 4), (4, 0)] {
        check(&func, &[&[n, m], &[n, m]]);
    }
}

#[test]
fn values_read_from_memory_stay_on_the_device() {
    let (a, b) = (buffer("A", &[int(20)], DType::INT64), buffer("B", &[int(20)], DType::INT64));
    let (x, i) = (Var::data("x", DType::INT64), Var::int64("i"));
    let read = Stmt::new(StmtKind::Bind(x.clone(), PrimExpr::load(&a, vec![int(3)]).max(int(0)).min(int(7))));
    let store = Stmt::store(&b, vec![i.expr()], PrimExpr::load(&a, vec![i.expr()]) + x.expr());
    let func = function(&[&a, &b], &[], vec![read, Stmt::serial(i, x.expr() + int(5), store)]);
    let kernel = lowered(&func);
    assert_eq!(kernel.device.len(), 1);
    check(&func, &[&[20], &[20]]);
}

#[test]
fn indices_from_memory_are_checked_on_the_device() {
    let n = Var::int64("n");
    let (a, b) = (buffer("A", &[n.expr()], DType::INT64), buffer("B", &[int(50)], DType::INT64));
    let stage = sblock("scatter", &[('S', int(50))], |v| {
        (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![PrimExpr::load(&a, v.to_vec())])))
    });
    let func = function(&[&a, &b], &[], vec![stage]);
    let kernel = lowered(&func);
    let args = |n: i64| [sample(DType::INT64, &[n], 0), sample(DType::INT64, &[50], 1)].map(Arg::from);
    let run = |n: i64| {
        let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
        interp::run_kernel(&kernel.host.func, &device, &mut raw_args(&kernel.host, &args(n)))
    };
    let message = |n: i64| run(n).unwrap_err().fault.to_string();
    assert_eq!(message(60), "IndexError: index -5 is outside of dimension 0 of buffer `A`, whose size is 60");
    // A check that depends on sizes alone is the host's.
    assert!(message(3).starts_with("IndexError: index 49 is outside of dimension 0 of buffer `A`"), "{}", message(3));
    assert!(!kernel.device[0].follows_checks);
}

#[test]
fn functions_that_need_the_host_are_rejected() {
    let a = buffer("A", &[int(4)], DType::INT32);
    let call = PrimExpr::intrin("call_packed", vec![PrimExpr::str("my.sort"), a.data.expr()], DType::INT32);
    let func = function(&[&a], &[], vec![Stmt::new(StmtKind::Evaluate(call))]);
    let target = Target::baseline();
    let error = lower_gpu(&func, Options::new(&target), &Gpu::DEFAULT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TIR function `main` cannot be compiled: the call of `my.sort` runs on the host only; call it outside of the kernel"
    );
}

fn thread_loop(thread: &str, var: &Var, extent: i64, body: Stmt) -> Stmt {
    Stmt::for_kind(var.clone(), int(extent), ForKind::ThreadBinding(thread.into()), body)
}

fn barrier() -> Stmt {
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str("shared")], DType::VOID)))
}

/// Reverses blocks of 64 elements through shared memory, which is allocated outside of the loops; two loops share an
/// axis.
fn reversal(synchronizes: bool, scope: &str) -> PrimFunc {
    let (a, b) = (buffer("A", &[int(128)], DType::FLOAT32), buffer("B", &[int(128)], DType::FLOAT32));
    let tile = Buffer::scoped("tile", vec![int(64)], DType::FLOAT32, scope.to_owned());
    let (block, first, second) = (Var::int64("block"), Var::int64("t"), Var::int64("u"));
    let at = |thread: &Var| block.expr() * int(64) + thread.expr();
    let load = Stmt::store(&tile, vec![first.expr()], PrimExpr::load(&a, vec![at(&first)]));
    let store = Stmt::store(&b, vec![at(&second)], PrimExpr::load(&tile, vec![int(63) - second.expr()]));
    let barrier = synchronizes.then(barrier);
    let parts = [thread_loop("threadIdx.x", &first, 64, load)].into_iter().chain(barrier);
    let body = Stmt::seq(parts.chain([thread_loop("threadIdx.x", &second, 64, store)]));
    let nest = thread_loop("blockIdx.x", &block, 2, body);
    PrimFunc { body: Block::root(vec![tile], nest).into(), ..function(&[&a, &b], &[], vec![]) }
}

#[test]
fn scheduled_threads_share_axes_and_memory() {
    for scope in ["shared", "shared.dyn"] {
        let func = reversal(true, scope);
        let kernel = lowered(&func);
        let [device] = &kernel.device[..] else { panic!("one device function: {}", text(&kernel)) };
        assert_eq!((device.max_threads, device.shared_bytes), (64, if scope == "shared" { 256 } else { 0 }));
        check(&func, &[&[128], &[128]]);
    }
}

#[test]
fn scheduled_threads_without_barriers_get_them() {
    let func = reversal(false, "shared");
    assert_eq!(text(&lowered(&func)).matches("tvm_storage_sync").count(), 1);
    check(&func, &[&[128], &[128]]);
}

/// Combines the elements of each row of 40 by 8 threads along an axis of a block that has 5 rows along another.
fn shared_reduction(axis: &str, other: &str, combined: fn(PrimExpr, PrimExpr) -> PrimExpr) -> PrimFunc {
    let (a, b) = (buffer("A", &[int(15), int(40)], DType::FLOAT32), buffer("B", &[int(15)], DType::FLOAT32));
    let part = Buffer::scoped("part", vec![int(40), int(15)], DType::FLOAT32, "local");
    let [row, t, u, k] = ["row", "t", "u", "k"].map(Var::int64);
    let at = |v: &[PrimExpr]| vec![v[1].clone(), v[0].clone()];
    let copy = sblock("copy", &[('S', int(15)), ('S', int(40))], |v| {
        (None, Stmt::store(&part, at(v), PrimExpr::load(&a, v.to_vec())))
    });
    let sum = sblock("sum", &[('S', int(15)), ('R', int(40))], |v| {
        let old = PrimExpr::load(&b, vec![v[0].clone()]);
        let stored = Stmt::store(&b, vec![v[0].clone()], combined(old, PrimExpr::load(&part, at(v))));
        (Some(Stmt::store(&b, vec![v[0].clone()], f32(1.0))), stored)
    });
    let bound = |stmt: Stmt, values: [PrimExpr; 2]| {
        let mut stmt = stmt;
        while let StmtKind::For(l) = stmt.kind {
            stmt = l.body;
        }
        if let StmtKind::Block(block) = &mut stmt.kind {
            block.axes.iter_mut().zip(values).for_each(|(axis, value)| axis.binding = value);
        }
        stmt
    };
    let values = [row.expr() * int(5) + u.expr(), t.expr() * int(5) + k.expr()];
    let part_of_row = |stmt| Stmt::serial(k.clone(), int(5), bound(stmt, values.clone()));
    let body = Stmt::seq([part_of_row(copy), part_of_row(sum)]);
    let nest = thread_loop(other, &u, 5, thread_loop(axis, &t, 8, body));
    let nest = thread_loop("blockIdx.x", &row, 3, nest);
    PrimFunc { body: Block::root(vec![part], nest).into(), ..function(&[&a, &b], &[], vec![]) }
}

#[test]
fn scheduled_threads_reduce_together() {
    for (axis, other) in [("threadIdx.x", "threadIdx.y"), ("threadIdx.y", "threadIdx.x")] {
        let func = shared_reduction(axis, other, |old, new| old.max(new));
        let kernel = lowered(&func);
        // A thread has five elements.
        assert!(text(&kernel).contains("part = T.alloc_local((T.int64(5),))"), "{}", text(&kernel));
        check_kernel(&func, &kernel, &[&[15, 40], &[15]]);
    }
    let func = shared_reduction("threadIdx.x", "threadIdx.y", |old, new| old / new);
    let target = Target::baseline();
    let error = lower_gpu(&func, Options::new(&target), &Gpu::DEFAULT).unwrap_err().to_string();
    assert!(error.contains("several threads reduce along axis `v1` of block `sum` in a form that"), "{error}");
}

#[test]
fn races_are_found() {
    let mut kernel = lowered(&reversal(true, "shared"));
    remove_barriers(&mut kernel.device[0].func.body);
    let args = [sample(DType::FLOAT32, &[128], 0), sample(DType::FLOAT32, &[128], 1)].map(Arg::from);
    let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
    let error = interp::run_kernel(&kernel.host.func, &device, &mut raw_args(&kernel.host, &args)).unwrap_err();
    assert!(error.fault.to_string().contains("without a barrier"), "{error}");
}

fn remove_barriers(stmt: &mut Stmt) {
    stmt.each_child_mut(&mut remove_barriers);
    if matches!(&stmt.kind, StmtKind::Evaluate(e) if e.as_intrin("tvm_storage_sync").is_some()) {
        *stmt = Stmt::nop();
    }
}

/// Subtracts the maximum of each row, and divides by the sum of the row.
fn centered(n: PrimExpr, k: PrimExpr) -> PrimFunc {
    let row = [n.clone()];
    let matrix = [n.clone(), k.clone()];
    let (a, c) = (buffer("A", &matrix, DType::FLOAT32), buffer("C", &matrix, DType::FLOAT32));
    let (top, sum) = (buffer("top", &row, DType::FLOAT32), buffer("sum", &row, DType::FLOAT32));
    let moved = buffer("moved", &matrix, DType::FLOAT32);
    let axes = |kind: char| [('S', n.clone()), (kind, k.clone())];
    let reduce = |name: &str, of: &Buffer, to: &Buffer, init: f64, max: bool| {
        sblock(name, &axes('R'), |v| {
            let at = vec![v[0].clone()];
            let (old, new) = (PrimExpr::load(to, at.clone()), PrimExpr::load(of, v.to_vec()));
            let value = if max { old.max(new) } else { old + new };
            (Some(Stmt::store(to, at.clone(), f32(init))), Stmt::store(to, at, value))
        })
    };
    let at = |b: &Buffer, v: &[PrimExpr]| PrimExpr::load(b, vec![v[0].clone()]);
    let shift = sblock("shift", &axes('S'), |v| {
        (None, Stmt::store(&moved, v.to_vec(), (PrimExpr::load(&a, v.to_vec()) - at(&top, v)).unary("sigmoid")))
    });
    let divide = sblock("divide", &axes('S'), |v| {
        let value = PrimExpr::load(&moved, v.to_vec()) / at(&sum, v) + PrimExpr::load(&a, v.to_vec());
        (None, Stmt::store(&c, v.to_vec(), value))
    });
    let stages = vec![reduce("max", &a, &top, -10.0, true), shift, reduce("sum", &moved, &sum, 0.0, false), divide];
    noalias(function(&[&a, &c], &[&top, &sum, &moved], stages))
}

#[test]
fn row_wise_stages_read_and_write_memory_once() {
    let (n, k) = (Var::int64("n"), Var::int64("k"));
    let dynamic = centered(n.expr(), k.expr());
    assert_eq!(plan(&dynamic).lines().next(), Some("rows, 1 at a time:"), "{}", plan(&dynamic));
    let kernel = lowered(&dynamic);
    let run = |func: &PrimFunc, kernel: &GpuKernel, n: i64, k: i64| {
        let args = [sample(DType::FLOAT32, &[n, k], 0), sample(DType::FLOAT32, &[n, k], 1)].map(Arg::from);
        let (mut expected, mut actual) = (args.clone(), raw_args(&kernel.host, &args));
        interp::run(func, &mut expected).unwrap();
        let device: Vec<_> = kernel.device.iter().map(|device| (device.name.clone(), device.func.clone())).collect();
        interp::run_kernel(&kernel.host.func, &device, &mut actual).unwrap_or_else(|e| panic!("{e}\n{}", text(kernel)));
        let (expected, actual) = (expected[1].tensor().unwrap(), actual[1].tensor().unwrap());
        let pairs = expected.as_slice::<f32>().unwrap().iter().zip(actual.as_slice::<f32>().unwrap());
        for (expected, actual) in pairs {
            assert!((expected - actual).abs() <= 1e-5 * expected.abs(), "{expected} {actual}: {}", text(kernel));
        }
    };
    for (n, k) in [(1, 1), (3, 40), (2, 300), (0, 4), (3, 0)] {
        run(&dynamic, &kernel, n, k);
    }
    let fixed = centered(int(3), int(512));
    let kernel = lowered(&fixed);
    assert_eq!(kernel.device.len(), 1);
    run(&fixed, &kernel, 3, 512);
}

/// Returns the error of a plan for the only stage of a function.
fn plan_error(func: &PrimFunc, plan: &str) -> String {
    let target = Target::baseline();
    let plans = Plans::read(&format!("main:\n    {plan}\n")).unwrap();
    let options = Options { plan: plans.of("main"), ..Options::new(&target) };
    let error = lower_gpu(func, options, &Gpu::DEFAULT).unwrap_err().to_string();
    error.strip_prefix("TIR function `main` cannot be compiled: its plan cannot be used: ").unwrap_or(&error).to_owned()
}

#[test]
fn plans_are_checked() {
    let n = Var::int64("n");
    let rows = row_sums(n.expr(), int(100), 0.0);
    let errors = [
        ("warp_reduction: v0 grid 2048, v1", "a block has 2048 threads, and sm_80 allows 1024"),
        ("warp_reduction: v0 parallel 4, v1", "loops of this kind are for CPUs"),
        ("warp_reduction: v0 by 3 block, v0 thread, v1 by 24, v1 thread", "24 threads of 72 reduce a result together"),
        (
            "warp_reduction: v0 block, v1 by 24, v1 by 7 thread, v1",
            "this step does not divide that of the loop over `v1` around it",
        ),
        ("warp_reduction: v0 thread, v1", "the extent of `v0` is dynamic here"),
        ("warp_reduction: v0, v1", "a thread accumulates results along `v0` in registers"),
        (
            "warp_reduction: v0 block, v1 by 64, v1 by 2 thread, v1 vector",
            "vectors along `v1` are not one aligned access of 16 bytes",
        ),
        ("warp_reduction: v0 grid 32, v1 by 32, v1 thread", "`grid` loops exclude `block` and `thread` loops"),
        ("horizontal: v0 block, v1", "there is no rule `horizontal`"),
    ];
    for (plan, error) in errors {
        assert_eq!(plan_error(&rows, plan), error, "{plan}");
    }
    let product = noalias(matmul(n.expr(), int(64), int(64), DType::FLOAT32));
    let copy = "copy of A as [v2, v0] (cooperative_copy: v0 thread, v2 thread)";
    let row = "copy of A as [v2] (cooperative_copy: v2 thread)";
    let kernel = lowered_with(
        &product,
        Some(&format!("contraction: v0 by 8 block, v1 by 8 block, {copy}, v2, v0 thread, v1 thread")),
    );
    check_kernel(&product, &kernel, &[&[9, 64], &[64, 64], &[9, 64]]);
    let errors = [
        (
            format!("v0 by 8 block, v1 by 8 block, v0 thread, {row}, v2, v1 thread"),
            "copies are made by all threads of a block",
        ),
        (format!("v0 grid 64, v1 grid 64, {row}, v2"), "only the threads of a block share copies"),
        (
            format!("v0 by 1024 block, v1 block, {copy}, v2, v0 thread"),
            "copies take 262144 bytes of shared memory, and sm_80 has 166912",
        ),
        (
            format!("v0 by 8 block, v1 by 8 block, {row}, v2, v0 thread, v1 thread"),
            "a copy has the axes that the operand varies along inside of it",
        ),
    ];
    for (loops, error) in errors {
        assert_eq!(plan_error(&product, &format!("contraction: {loops}")), error, "{loops}");
    }
}
