//! A matmul on tensor cores, from its plan to PTX.

use crate::texts::snapshot;
use hammock_codegen::llvm::{self, OptLevel};
use hammock_diagnostics::SourceFile;
use hammock_ir::Function;
use hammock_kernels::{Options, lower_gpu, schedule::Plans};
use hammock_target::{Gpu, Target};

const MODULE: &str = "\
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((100, 64), \"float16\"), B: T.Buffer((64, 48), \"float16\"), C: T.Buffer((100, 48), \"float32\")):
        T.func_attr({\"global_symbol\": \"main\", \"tirx.noalias\": True})
        for i, j, k in T.grid(100, 48, 64):
            with T.sblock(\"matmul\"):
                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + T.Cast(\"float32\", A[vi, vk]) * T.Cast(\"float32\", B[vk, vj])
";

const PLAN: &str = "\
main:
    tensor_core_contraction: vi by 16 block, vj by 16 block, vk by 16, copy of A as [vi, vk padded 24] in 3 stages \
    (cooperative_copy: vi thread, vk by 8 thread, vk vector), copy of B as [vk, vj padded 24] in 3 stages (cooperative_copy: \
    vk thread, vj by 8 thread, vj vector), vi by 16 warp, vj by 16 warp, vk by 16 unrolled, vi by 16 unrolled, vj by 8 \
    unrolled, vi mma, vj mma, vk mma
";

#[test]
fn matmul_on_tensor_cores() {
    let source = SourceFile::new("matmul.py", MODULE).unwrap();
    let module = hammock_import::read_module(&source, &Default::default()).unwrap();
    let Function::Tir(func) = &module.functions["main"] else { panic!("no kernel") };
    let (target, plans) = (Target::avx2(), Plans::read(PLAN).unwrap());
    let options = Options { plan: plans.of("main"), ..Options::new(&target) };
    let kernel = lower_gpu(func, options, &Gpu::DEFAULT).unwrap();
    let text = llvm::ptx(&[kernel], &Gpu::DEFAULT, OptLevel::Unroll).unwrap();
    snapshot("matmul_f16.ptx", &String::from_utf8(text).unwrap());
}
