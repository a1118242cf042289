# opt: RealizeVDevice
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # No device annotations.
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = R.add(x, x)
        return a
