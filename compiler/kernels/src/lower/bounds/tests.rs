use super::*;
use crate::{KernelError, lower::lower};
use hammock_interp::{
    self as interp, Arg,
    samples::{buffer, function, map, matmul, sblock},
};
use hammock_ir::{
    Tensor,
    tir::{ForKind, MatchBuffer, Region},
};
use hammock_target::Target;

fn int(v: i64) -> PrimExpr {
    PrimExpr::int64(v)
}

fn lowered(func: &PrimFunc) -> crate::FlatKernel {
    lower(func, &Target::avx512()).unwrap()
}

/// Returns the numbers of proved and of checked accesses.
fn accesses(func: &PrimFunc) -> (usize, usize) {
    let Accesses { proved, checked } = lowered(func).accesses;
    (proved, checked)
}

/// `copy` of `A[index(i)]` to `B[i]`, over `n` elements.
fn copy(from: PrimExpr, n: PrimExpr, index: impl FnOnce(&PrimExpr) -> PrimExpr) -> PrimFunc {
    let (a, b) = (buffer("A", &[from], DType::INT32), buffer("B", std::slice::from_ref(&n), DType::INT32));
    let stage =
        sblock("copy", &[('S', n)], |v| (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![index(&v[0])]))));
    function(&[&a, &b], &[], vec![stage])
}

/// Runs the kernel's flat code on zeros; returns its error message.
fn error(func: &PrimFunc, sizes: &[&[i64]]) -> Option<String> {
    let tensor = |n: &&[i64]| {
        let count = n.iter().product::<i64>() as usize;
        Tensor::from_slice(n, &vec![0i32; count]).unwrap()
    };
    let args: Vec<Arg> = sizes.iter().map(tensor).map(Arg::from).collect();
    let kernel = lowered(func);
    let mut raw = crate::lower::tests::raw_args(&kernel, &args);
    let flat = interp::run(&kernel.func, &mut raw).err().map(|e| e.fault.to_string());
    let reference = interp::run(func, &mut args.clone()).err();
    assert_eq!(flat.is_some(), reference.is_some(), "{flat:?} against {reference:?}");
    flat
}

#[test]
fn accesses_by_axes_are_proved() {
    let [n, m, k] = ["n", "m", "k"].map(|name| Var::int64(name).expr());
    assert_eq!(accesses(&matmul(n.clone(), m, k, DType::FLOAT32)), (5, 0));
    assert_eq!(accesses(&map(n, DType::FLOAT32, DType::FLOAT32, |x| x)), (2, 0));
    assert_eq!(accesses(&copy(int(9), int(8), |i| i + int(1))), (2, 0));
    let padded = |i: &PrimExpr| i.clone().max(int(1)) - int(1);
    assert_eq!(accesses(&copy(int(8), int(9), padded)), (2, 0));
}

/// `copy` of `A` to `B`, whose sizes are expressions over a scalar `p` and the size of `S`.
fn copy_of_derived_size(
    sizes: [fn(&PrimExpr, &PrimExpr) -> PrimExpr; 3],
    index: fn(&PrimExpr) -> PrimExpr,
) -> PrimFunc {
    let [p, s] = ["p", "s"].map(Var::int64);
    let [of_a, of_b, of_loop] = sizes.map(|size| size(&p.expr(), &s.expr()));
    let (a, b) = (buffer("A", &[of_a], DType::INT32), buffer("B", &[of_b], DType::INT32));
    let stage = sblock("copy", &[('S', of_loop)], |v| {
        (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![index(&v[0])])))
    });
    let mut func = function(&[&buffer("S", &[s.expr()], DType::INT32), &a, &b], &[], vec![stage]);
    func.params.insert(1, hammock_ir::tir::Param::scalar(p));
    func
}

#[test]
fn derived_sizes_are_sizes() {
    let sum = |p: &PrimExpr, s: &PrimExpr| p + s;
    let turned = |p: &PrimExpr, s: &PrimExpr| s + p;
    let same = |v: &PrimExpr| v.clone();
    assert_eq!(accesses(&copy_of_derived_size([sum, sum, sum], same)), (2, 0));
    assert_eq!(accesses(&copy_of_derived_size([sum, turned, turned], same)), (2, 0));
    let less = |p: &PrimExpr, s: &PrimExpr| s.clone() - int(1) + p;
    assert_eq!(accesses(&copy_of_derived_size([sum, turned, less], |v| v + int(1))), (2, 0), "by what the number is");
    assert_eq!(accesses(&copy_of_derived_size([sum, turned, sum], |v| v + int(1))), (1, 1));
    let least = |p: &PrimExpr, _: &PrimExpr| p.clone().min(int(1));
    assert_eq!(accesses(&copy_of_derived_size([least, least, least], same)), (2, 0));
    let number = |p: &PrimExpr, _: &PrimExpr| p.clone();
    let twice = |p: &PrimExpr, _: &PrimExpr| p * int(2);
    assert_eq!(
        accesses(&copy_of_derived_size([twice, twice, number], same)),
        (2, 0),
        "it is checked to be no more than a size"
    );
    let others = |p: &PrimExpr, s: &PrimExpr| p + s + s;
    assert_eq!(accesses(&copy_of_derived_size([sum, sum, others], same)), (0, 2), "`s` may be more than nothing");
}

#[test]
fn conditions_guard_accesses_and_their_checks() {
    let (a, b) = (buffer("A", &[int(8)], DType::INT32), buffer("B", &[int(9)], DType::INT32));
    let guarded = |condition: fn(&PrimExpr) -> PrimExpr| {
        let stage = sblock("pad", &[('S', int(9))], |v| {
            let inner = PrimExpr::load(&a, vec![&v[0] - int(1)]);
            (None, Stmt::store(&b, v.to_vec(), condition(&v[0]).if_then_else(inner, PrimExpr::int32(7))))
        });
        function(&[&a, &b], &[], vec![stage])
    };
    let right = guarded(|i| i.clone().ge(int(1)));
    assert_eq!(accesses(&right), (2, 0));
    assert_eq!(error(&right, &[&[8], &[9]]), None);
    let wrong = guarded(|i| i.clone().ge(int(1)).or(i.clone().lt(int(1))));
    assert_eq!(accesses(&wrong), (1, 1));
    let message = error(&wrong, &[&[8], &[9]]).unwrap();
    assert_eq!(message, "IndexError: index -1 is outside of dimension 0 of buffer `A`, whose size is 8");
}

#[test]
fn linear_indices_are_checked_before_loops() {
    let [n, m] = ["n", "m"].map(|name| Var::int64(name).expr());
    let func = copy(m, n, |i| i.clone());
    assert_eq!(accesses(&func), (1, 1));
    assert_eq!(error(&func, &[&[8], &[8]]), None);
    assert_eq!(error(&func, &[&[8], &[0]]), None);
    assert_eq!(error(&func, &[&[0], &[0]]), None);
    let message = error(&func, &[&[8], &[20]]).unwrap();
    assert_eq!(message, "IndexError: index 19 is outside of dimension 0 of buffer `A`, whose size is 8");
    // The loop itself is unchanged.
    let mut lanes = 1;
    lowered(&func).func.body.walk(&mut |s| s.each_expr(&mut |e| e.walk(&mut |e| lanes = lanes.max(e.dtype().lanes))));
    assert!(lanes > 1);
}

#[test]
fn loaded_indices_are_checked_at_their_use() {
    let (a, b, at) = (
        buffer("A", &[int(4)], DType::INT32),
        buffer("B", &[int(2)], DType::INT32),
        buffer("I", &[int(2)], DType::INT32),
    );
    let stage = sblock("take", &[('S', int(2))], |v| {
        let index = PrimExpr::load(&at, v.to_vec());
        (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![index + PrimExpr::int32(4)])))
    });
    let func = function(&[&a, &at, &b], &[], vec![stage]);
    assert_eq!(accesses(&func), (2, 1));
    assert!(error(&func, &[&[4], &[2], &[2]]).unwrap().contains("index 4 is outside of dimension 0 of buffer `A`"));
}

#[test]
fn axes_outside_of_their_domains_are_errors() {
    let b = buffer("B", &[int(8)], DType::INT32);
    let mut stage = sblock("fill", &[('S', int(8))], |v| (None, Stmt::store(&b, v.to_vec(), PrimExpr::int32(1))));
    if let StmtKind::For(l) = &mut stage.kind {
        l.extent = int(12);
    }
    let message = error(&function(&[&b], &[], vec![stage]), &[&[8]]).unwrap();
    assert_eq!(
        message,
        "IndexError: axis `v0` of block `fill` gets value 8 from 0 on, outside of its domain of 8 values"
    );
}

#[test]
fn views_and_allocations_are_measured() {
    let n = Var::int64("n");
    let a = buffer("A", &[n.expr()], DType::INT32);
    let i = Var::int64("i");
    let view = |count: PrimExpr, offset: i64| {
        let view = buffer("V", std::slice::from_ref(&count), DType::INT8).change(|b| {
            b.data = a.data.clone();
            b.elem_offset = Some(int(offset));
        });
        let fill = Stmt::store(&view, vec![i.expr()], PrimExpr::int(1, DType::INT8));
        let body = vec![Stmt::new(StmtKind::Decl(view)), Stmt::serial(i.clone(), count, fill)];
        PrimFunc { body: Stmt::new(StmtKind::Seq(body)), ..function(&[&a], &[], vec![]) }
    };
    assert_eq!(error(&view(n.expr() * int(4), 0), &[&[8]]), None);
    assert!(error(&view(n.expr() * int(4), 1), &[&[8]]).unwrap().contains("buffer `V` reaches"));
    assert_eq!(error(&view(int(32), 0), &[&[8]]), None);
    assert!(error(&view(int(32), 0), &[&[7]]).is_some());
    let work = buffer("W", &[n.expr() - int(3)], DType::INT32);
    let func = function(&[&a], &[&work], vec![Stmt::nop()]);
    assert_eq!(error(&func, &[&[3]]), None);
    assert!(error(&func, &[&[2]]).unwrap().contains("buffer `W` cannot be allocated with these sizes"));
}

#[test]
fn regions_are_inside_of_their_buffers() {
    let a = buffer("A", &[int(6)], DType::INT32);
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let func = |extent: i64, size: i64| {
        let tile = buffer("T", &[int(size)], DType::INT32);
        let store = Stmt::store(&tile, vec![j.expr()], PrimExpr::int32(1));
        let region = Region { buffer: a.clone(), ranges: vec![(i.expr() * int(2), int(extent))] };
        let block = Block {
            match_buffers: vec![MatchBuffer { buffer: tile, source: region }],
            ..Block::root(vec![], Stmt::serial(j.clone(), int(size), store))
        };
        function(&[&a], &[], vec![Stmt::serial(i.clone(), int(3), block.into())])
    };
    assert_eq!(error(&func(2, 2), &[&[6]]), None);
    assert!(error(&func(3, 3), &[&[6]]).is_some());
    assert!(error(&func(2, 3), &[&[6]]).is_some());
}

#[test]
fn derived_sizes_and_strides_are_compared() {
    let n = Var::int64("n");
    let (a, b) = (buffer("A", &[n.expr()], DType::INT32), buffer("B", &[n.expr() + int(1)], DType::INT32));
    let one = PrimExpr::int32(1);
    let stage = sblock("fill", &[('S', n.expr())], |v| (None, Stmt::store(&b, vec![&v[0] + int(1)], one)));
    let func = function(&[&a, &b], &[], vec![stage]);
    assert_eq!(accesses(&func), (1, 0));
    assert_eq!(error(&func, &[&[3], &[4]]), None);
    assert!(error(&func, &[&[9], &[4]]).is_some());
    let strided = buffer("S", &[int(4)], DType::INT32).change(|b| b.strides = vec![int(2)]);
    let i = Var::int64("i");
    let fill = Stmt::serial(i.clone(), int(4), Stmt::store(&strided, vec![i.expr()], PrimExpr::int32(1)));
    assert!(error(&function(&[&strided], &[], vec![fill]), &[&[4]]).is_some());
}

#[test]
fn vectors_are_checked_at_both_ends() {
    let (a, n) = (buffer("A", &[int(8)], DType::INT32), Var::int64("n"));
    let b = buffer("B", &[n.expr()], DType::INT32);
    let store = |start: PrimExpr| {
        let at = PrimExpr::ramp(start, int(1), 4);
        let value = PrimExpr::int32(1).broadcast(4);
        function(&[&a, &b], &[], vec![Stmt::store(&a, vec![at], value)])
    };
    assert_eq!(accesses(&store(int(4))), (1, 0));
    assert_eq!(error(&store(n.expr()), &[&[8], &[4]]), None);
    assert!(error(&store(n.expr()), &[&[8], &[5]]).unwrap().contains("index 8 is outside"));
    assert!(error(&store(n.expr() - int(1)), &[&[8], &[0]]).unwrap().contains("index -1 is outside"));
}

#[test]
fn lanes_are_checked_before_loops() {
    let n = Var::int64("n");
    let (a, b) = (buffer("A", &[n.expr()], DType::INT32), buffer("B", &[int(8)], DType::INT32));
    let copy = |base: fn(&Var, &Var) -> PrimExpr, stride: i64| {
        let i = Var::int64("i");
        let value = PrimExpr::load(&a, vec![PrimExpr::ramp(base(&i, &n), int(stride), 2)]);
        let stored = Stmt::store(&b, vec![PrimExpr::ramp(i.expr() * int(2), int(1), 2)], value);
        function(&[&a, &b], &[], vec![Stmt::serial(i, int(4), stored)])
    };
    let constant = copy(|_, n| n.expr() - int(3), 2);
    assert_eq!(accesses(&constant), (1, 1));
    assert_eq!(error(&constant, &[&[3], &[8]]), None);
    assert!(error(&constant, &[&[2], &[8]]).unwrap().contains("index -1 is outside"));
    let moving = copy(|i, _| i.expr() * int(2), 3);
    assert_eq!(error(&moving, &[&[10], &[8]]), None);
    assert!(error(&moving, &[&[9], &[8]]).unwrap().contains("index 9 is outside"));
}

#[test]
fn checks_are_hoisted_to_where_operands_are_defined() {
    let (a, b) = (buffer("A", &[int(4)], DType::INT32), buffer("B", &[int(1)], DType::INT32));
    let s = Var::int64("s");
    let outside = || PrimExpr::load(&a, vec![PrimExpr::load(&b, vec![int(0)]).cast(DType::INT64) - int(1)]);
    let zero = || PrimExpr::int32(0);
    let never = outside().gt(zero()).and(s.expr().lt(s.expr()));
    let empty = Stmt::new(StmtKind::If(never, Box::new(Stmt::nop()), None));
    let bound = Stmt::new(StmtKind::Bind(s, int(1)));
    assert!(error(&function(&[&a, &b], &[], vec![bound, empty]), &[&[4], &[1]]).is_some());
    // Indices of a single element, whatever their value.
    let nothing = |value: PrimExpr| Stmt::store(&b, vec![value.cast(DType::INT64)], zero());
    for index in [outside() * zero(), outside().floormod(PrimExpr::int32(1)), outside() - outside()] {
        assert!(error(&function(&[&a, &b], &[], vec![nothing(index)]), &[&[4], &[1]]).is_some());
    }
}

#[test]
fn unchecked_kernels_have_no_checks() {
    let [n, m] = ["n", "m"].map(|name| Var::int64(name).expr());
    let func = copy(m, n, |i| i.clone());
    let target = Target::avx512();
    let options = crate::Options { checked: false, ..crate::Options::new(&target) };
    let kernel = crate::lower_with(&func, options).unwrap();
    let mut checks = 0;
    kernel.func.body.walk(&mut |s| {
        s.each_expr(&mut |e| checks += usize::from(e.any(&mut |e| check::is_check(e))));
    });
    assert_eq!(checks, 0);
}

#[test]
fn impossible_allocations_are_rejected() {
    let (a, huge) = (buffer("A", &[int(1)], DType::INT32), buffer("W", &[int(1 << 40), int(1 << 40)], DType::INT32));
    let l = Stmt::for_kind(Var::int64("i"), int(1), ForKind::Serial, Stmt::nop());
    let error: KernelError = lower(&function(&[&a], &[&huge], vec![l]), &Target::avx512()).unwrap_err();
    assert!(error.to_string().contains("buffer `W` cannot be allocated"));
}
