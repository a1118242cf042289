# opt: LegalizeOps,AnnotateTIROpPattern,FuseOps
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # Calls on different devices are not fused, even if the copy between them is none.
    @R.function
    def main(x: R.Tensor((n, 4), "float32", "llvm:0"), y: R.Tensor((n, 4), "float32", "cuda:1")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, x)
            c = R.to_vdevice(b, "cuda:1")
            d = R.exp(c)
            e = R.add(d, y)
            R.output(e)
        return e
