//! Every operation that flat TIR may have in device functions, of every dtype, compiled for every architecture.

use crate::kernel::{device_func, global, ptx};
use hammock_codegen::llvm::OptLevel;
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, binary, check},
    tir::{Param, Stmt, StmtKind},
};
use hammock_target::Gpu;

const INTEGERS: [DType; 8] = [
    DType::INT8,
    DType::INT16,
    DType::INT32,
    DType::INT64,
    DType::UINT8,
    DType::UINT16,
    DType::UINT32,
    DType::UINT64,
];
const FLOATS: [DType; 2] = [DType::FLOAT32, DType::FLOAT64];

/// Operations on numbers of a dtype.
type Operations = fn(&PrimExpr, &PrimExpr) -> Vec<PrimExpr>;

fn arithmetic(x: &PrimExpr, y: &PrimExpr) -> Vec<PrimExpr> {
    use BinaryOp::*;
    let both = |op| binary(op, x.clone(), y.clone());
    let conditions = [Eq, Ne, Lt, Le, Gt, Ge].map(both);
    let choice = conditions.iter().cloned().reduce(|a, b| a.and(b.clone()).or(b)).unwrap();
    let values = [Add, Sub, Mul, Div, Min, Max].map(both);
    let lazy = PrimExpr::intrin("if_then_else", vec![choice.clone(), x.clone(), y.clone()], x.dtype());
    values.into_iter().chain([choice.select(x.clone(), y.clone()), lazy]).collect()
}

fn intrinsics(names: &[&'static str], args: &[&PrimExpr]) -> Vec<PrimExpr> {
    let args: Vec<PrimExpr> = args.iter().map(|arg| (*arg).clone()).collect();
    names.iter().map(|name| PrimExpr::intrin(*name, args.clone(), args[0].dtype())).collect()
}

fn float_functions(x: &PrimExpr, y: &PrimExpr) -> Vec<PrimExpr> {
    let unary = ["sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "abs", "fabs"];
    let tests = ["isnan", "isinf", "isfinite"];
    let tests = tests.map(|name| PrimExpr::intrin(name, vec![x.clone()], DType::BOOL.with_lanes(x.dtype().lanes)));
    let tests = tests.map(|test| test.select(x.clone(), y.clone()));
    [
        arithmetic(x, y),
        intrinsics(&unary, &[x]),
        intrinsics(&["copysign"], &[x, y]),
        intrinsics(&["fma"], &[x, y, x]),
        tests.to_vec(),
    ]
    .concat()
}

fn integer_functions(x: &PrimExpr, y: &PrimExpr) -> Vec<PrimExpr> {
    use BinaryOp::*;
    let quotients = [Mod, FloorDiv, FloorMod].map(|op| binary(op, x.clone(), y.clone()));
    let constant = PrimExpr::int(7, x.dtype().element()).broadcast(x.dtype().lanes);
    let by_constant = [Div, Mod, FloorDiv, FloorMod].map(|op| binary(op, x.clone(), constant.clone()));
    let two = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"];
    [
        arithmetic(x, y),
        quotients.to_vec(),
        by_constant.to_vec(),
        intrinsics(&two, &[x, y]),
        intrinsics(&["abs", "bitwise_not", "popcount", "clz"], &[x]),
        intrinsics(&["fma"], &[x, y, x]),
    ]
    .concat()
}

/// Stores the results of operations of a dtype, in scalar and vector form.
fn compile(dtype: DType, operations: Operations, gpu: &Gpu, level: OptLevel) {
    let ((x, first), (y, second), (z, third)) = (global("x", dtype), global("y", dtype), global("z", dtype));
    let device = device_func(vec![first, second, third], |i| {
        let mut stores = Vec::new();
        for lanes in [1, 4] {
            let index = match lanes {
                1 => i.clone(),
                _ => PrimExpr::ramp(&i * PrimExpr::int64(4), PrimExpr::int64(1), lanes),
            };
            let load = |buffer| PrimExpr::load(buffer, vec![index.clone()]);
            let values = operations(&load(&x), &load(&y));
            stores.extend(values.into_iter().map(|value| Stmt::store(&z, vec![index.clone()], value)));
        }
        Stmt::seq(stores)
    });
    ptx(&device, gpu, level).unwrap();
}

#[test]
fn operations_have_instructions() {
    for gpu in Gpu::ALL {
        for level in [OptLevel::None, OptLevel::Unroll] {
            INTEGERS.iter().for_each(|dtype| compile(*dtype, integer_functions, gpu, level));
            FLOATS.iter().for_each(|dtype| compile(*dtype, float_functions, gpu, level));
        }
    }
}

#[test]
fn casts_have_instructions() {
    let narrow = [DType::FLOAT16, DType::BFLOAT16, DType::BOOL];
    let all: Vec<DType> = INTEGERS.into_iter().chain(FLOATS).chain(narrow).collect();
    for gpu in Gpu::ALL {
        for from in &all {
            let (x, param) = global("x", *from);
            let outs: Vec<_> = all.iter().map(|to| global(&to.to_string(), *to)).collect();
            let params: Vec<Param> = [param].into_iter().chain(outs.iter().map(|(_, param)| param.clone())).collect();
            let device = device_func(params, |i| {
                let stores = outs.iter().flat_map(|(out, _)| {
                    let wide = PrimExpr::ramp(&i * PrimExpr::int64(4), PrimExpr::int64(1), 4);
                    [(i.clone(), 1), (wide, 4)].map(|(index, lanes)| {
                        let value = PrimExpr::load(&x, vec![index.clone()]).cast(out.dtype.with_lanes(lanes));
                        Stmt::store(out, vec![index], value)
                    })
                });
                Stmt::seq(stores.collect::<Vec<_>>())
            });
            ptx(&device, gpu, OptLevel::Unroll).unwrap();
        }
    }
}

#[test]
fn threads_cooperate() {
    let words = [DType::FLOAT32, DType::INT32, DType::INT64, DType::FLOAT64, DType::INT8, DType::FLOAT16];
    let names = ["tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor"];
    for gpu in Gpu::ALL {
        for dtype in words {
            let (x, param) = global("x", dtype);
            let device = device_func(vec![param], |i| {
                let value = PrimExpr::load(&x, vec![i.clone()]);
                let full = PrimExpr::int(-1, DType::UINT32);
                let shuffled = names.iter().map(|name| {
                    let args = vec![full.clone(), value.clone(), PrimExpr::int32(1), PrimExpr::int32(32), PrimExpr::int32(32)];
                    Stmt::store(&x, vec![i.clone()], PrimExpr::intrin(*name, args, dtype))
                });
                let syncs = ["shared", "warp"].map(|scope| {
                    PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str(scope)], DType::VOID)
                });
                let syncs = syncs.map(|sync| Stmt::new(StmtKind::Evaluate(sync)));
                Stmt::seq(shuffled.chain(syncs).collect::<Vec<_>>())
            });
            let text = ptx(&device, gpu, OptLevel::Lean).unwrap();
            let has = |instruction: &str| assert!(text.contains(instruction), "{instruction} in {text}");
            ["shfl.sync.idx.b32", "shfl.sync.up", "shfl.sync.down", "shfl.sync.bfly", "bar.sync", "bar.warp.sync"]
                .into_iter()
                .for_each(has);
        }
        for dtype in [DType::FLOAT32, DType::INT32, DType::INT64, DType::FLOAT64] {
            let (x, param) = global("x", dtype);
            let device = device_func(vec![param], |i| {
                let at = PrimExpr::intrin("address_of", vec![PrimExpr::load(&x, vec![i])], DType::HANDLE);
                let one = PrimExpr::constant(1.0, dtype);
                Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("atomic_add", vec![at, one], dtype)))
            });
            let text = ptx(&device, gpu, OptLevel::Lean).unwrap();
            assert!(text.contains(".global.add") || text.contains("red."), "{text}");
        }
    }
}

#[test]
fn checks_have_instructions() {
    for gpu in Gpu::ALL {
        let (x, param) = global("x", DType::INT64);
        let device = device_func(vec![param], |i| {
            let value = PrimExpr::load(&x, vec![i.clone()]);
            let texts = ["index ", " is not in 0..", ""].map(PrimExpr::str);
            let index = [value.clone(), PrimExpr::int64(1 << 20)].into_iter().chain(texts).collect();
            let index = PrimExpr::intrin(check::INDEX, index, DType::INT64);
            let divisor = PrimExpr::intrin(check::DIVISOR, vec![value.clone(), PrimExpr::str("")], DType::INT64);
            let count = vec![value.clone(), PrimExpr::int32(64), PrimExpr::str("")];
            let count = PrimExpr::intrin(check::COUNT, count, DType::INT64);
            let sum = &value + &i * &value;
            let exact = vec![sum, PrimExpr::str("x + i * x"), PrimExpr::str("x"), value];
            let exact = PrimExpr::intrin(check::EXACT, exact, DType::INT64);
            Stmt::seq([
                Stmt::store(&x, vec![index.clone()], index / divisor),
                Stmt::store(&x, vec![i], PrimExpr::intrin("shift_left", vec![exact, count], DType::INT64)),
            ])
        });
        let text = ptx(&device, gpu, OptLevel::Lean).unwrap();
        assert!(text.contains("cas.b32") && !text.contains("trap"), "{text}");
    }
}
