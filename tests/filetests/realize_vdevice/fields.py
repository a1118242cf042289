# opt: RealizeVDevice
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # Fields of a tuple may be on different devices; so may the arguments of a function and its result.
    @R.function(private=True)
    def sub(a: R.Tensor((n,), "float32", "llvm:0")) -> R.Tensor((n,), "float32", "cuda:1"):
        b = R.to_vdevice(a, "cuda:1")
        return b

    @R.function
    def main(x: R.Tensor((n,), "float32"), y: R.Tensor((n,), "float32"), z: R.Tensor((n,), "float32", "cuda:1")):
        cls = Module
        a = R.exp(x)
        t = (a, z)
        b = t[0]
        c = R.exp(b)
        d = cls.sub(y)
        e = R.add(t[1], d)
        return (c, e)
