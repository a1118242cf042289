//! Every operation that flat TIR may have in device functions, of every dtype, compiled for every architecture.

use crate::kernel::{device_func, global, ptx, scoped};
use hammock_codegen::llvm::OptLevel;
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{BinaryOp, binary, check},
    tir::{Buffer, Param, Stmt, StmtKind},
};
use hammock_kernels::DeviceFunc;
use hammock_target::Gpu;

const INTEGERS: [DType; 8] =
    [DType::INT8, DType::INT16, DType::INT32, DType::INT64, DType::UINT8, DType::UINT16, DType::UINT32, DType::UINT64];
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
                    let args =
                        vec![full.clone(), value.clone(), PrimExpr::int32(1), PrimExpr::int32(32), PrimExpr::int32(32)];
                    Stmt::store(&x, vec![i.clone()], PrimExpr::intrin(*name, args, dtype))
                });
                let syncs = ["shared", "warp"]
                    .map(|scope| PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str(scope)], DType::VOID));
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

/// Copies two tiles to shared memory asynchronously, and multiplies them once on each warp.
fn multiplies(dtype: DType, [shape, operands, sums]: [&'static str; 3], sum: DType) -> DeviceFunc {
    let ((x, first), (y, second)) = (global("x", dtype), global("y", sum));
    let shared = scoped("tile", "shared", 4096, dtype);
    let a = scoped("a", "local", 32 / i64::from(dtype.bits) * 4, dtype);
    let b = scoped("b", "local", 32 / i64::from(dtype.bits) * 4, dtype);
    let c = scoped("c", "local", 4, sum);
    let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Attrs::new()));
    let device = device_func(vec![first, second], |i| {
        let call = |name: &'static str, args: Vec<PrimExpr>, dtype: DType| {
            Stmt::new(StmtKind::Evaluate(PrimExpr::intrin(name, args, dtype)))
        };
        let zero = || PrimExpr::int64(0);
        let address = |buffer: &Buffer, at: PrimExpr| {
            PrimExpr::intrin("address_of", vec![PrimExpr::load(buffer, vec![at])], DType::HANDLE)
        };
        let element = &i * PrimExpr::int64(16 / i64::from(dtype.bits / 8));
        let to = address(&shared, element.clone().floormod(PrimExpr::int64(2048)));
        let is_inside = i.clone().lt(PrimExpr::int64(1000));
        let copy = vec![to, zero(), address(&x, element.clone()), zero(), PrimExpr::int64(16), is_inside];
        let load = |registers: &Buffer, transposes: bool, count: i32| {
            let (kind, from) =
                (PrimExpr::str(".b16"), address(&shared, element.clone().floormod(PrimExpr::int64(2048))));
            let (transposes, count) = (PrimExpr::bool(transposes), PrimExpr::int32(count));
            call("ptx_ldmatrix", vec![transposes, count, kind, registers.data.expr(), zero(), from, zero()], dtype)
        };
        let words = [shape, "row", "col", operands, operands, sums].map(PrimExpr::str);
        let [a_data, b_data, c_data] = [&a, &b, &c].map(|buffer| buffer.data.expr());
        let fragments = [a_data, zero(), b_data, zero(), c_data, zero(), PrimExpr::bool(false)];
        let stores = (0..4).map(|at| Stmt::store(&c, vec![PrimExpr::int64(at)], PrimExpr::constant(0.0, sum)));
        let multiply = call("ptx_mma", words.into_iter().chain(fragments).collect(), sum);
        let result = Stmt::store(&y, vec![i.clone()], PrimExpr::load(&c, vec![PrimExpr::int64(3)]));
        let waits = [
            call("ptx_commit_group", Vec::new(), DType::VOID),
            call("ptx_wait_group", vec![PrimExpr::int32(1)], DType::VOID),
        ];
        let barrier = call("tvm_storage_sync", vec![PrimExpr::str("shared")], DType::VOID);
        let stmts = [&shared, &a, &b, &c].map(alloc).into_iter().chain(stores);
        let stmts = stmts.chain([call("ptx_cp_async", copy, dtype)]).chain(waits).chain([barrier]);
        let stmts = stmts.chain([load(&a, false, 4), load(&b, true, 2), load(&b, false, 1), multiply, result]);
        Stmt::seq(stmts.collect::<Vec<_>>())
    });
    DeviceFunc { shared_bytes: 4096 * u64::from(dtype.bits / 8), ..device }
}

#[test]
fn tensor_cores_multiply() {
    let cases = [
        (
            DType::FLOAT16,
            ["m16n8k16", "fp16", "fp32"],
            DType::FLOAT32,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        (
            DType::BFLOAT16,
            ["m16n8k16", "bf16", "fp32"],
            DType::FLOAT32,
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        ),
        (
            DType::FLOAT32,
            ["m16n8k8", "tf32", "fp32"],
            DType::FLOAT32,
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        ),
        (DType::FLOAT32, ["m16n8k8", "tf32", "fp32"], DType::FLOAT32, "cvt.rna.tf32.f32"),
        (DType::INT8, ["m16n8k32", "int8", "int32"], DType::INT32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
        (DType::UINT8, ["m16n8k32", "uint8", "int32"], DType::INT32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"),
    ];
    for gpu in Gpu::ALL {
        for (dtype, words, sum, instruction) in cases {
            // Legalized code has the bits of bfloat16.
            let memory = if dtype.is_bfloat16() { DType::UINT16 } else { dtype };
            let text = ptx(&multiplies(memory, words, sum), gpu, OptLevel::Unroll);
            if gpu.capability < (8, 0) {
                let message = text.unwrap_err().to_string();
                assert!(message.contains("an instruction that the architecture lacks"), "{message}");
                continue;
            }
            let text = text.unwrap();
            let has = |instruction: &str| assert!(text.contains(instruction), "{instruction} in {text}");
            [instruction, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"]
                .into_iter()
                .for_each(has);
            ["cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group"].into_iter().for_each(has);
        }
    }
}
