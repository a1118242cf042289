# opt: s_tir.ConvertBlocksToOpaque,s_tir.LowerOpaqueBlock
# Loops of one iteration are removed, a thread binding becomes a launch, and a pragma an attribute.
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1, 8, 4), "float32"), B: T.Buffer((1, 8, 4), "float32")):
        for zero in range(1):
            for one in T.serial(zero, zero + 1):
                for i in T.thread_binding(8, thread="blockIdx.x"):
                    for j in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16, "keep": 1}):
                        with T.sblock("copy"):
                            vo, vi, vj = T.axis.remap("SSS", [one, i, j])
                            B[vo, vi, vj] = A[vo, vi, vj]
