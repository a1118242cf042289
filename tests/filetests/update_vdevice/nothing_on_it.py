# opt: UpdateVDevice{new_vdevice={"target":{"kind":"cuda","arch":"sm_90"},"vdevice_id":1},index=2}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @R.function
    def main(x: R.Tensor((n, 3), "float32", "llvm:0"), y: R.Tensor((n, 3), "float32", "cuda:0")):
        a = R.to_vdevice(x, "cuda:0")
        b = R.add(a, y)
        return b
