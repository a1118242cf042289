# opt: RealizeVDevice
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    # The hint places its result and the values computed from it; its operand is on another device.
    @R.function
    def main(x: R.Tensor((n, 3), "float32", "llvm:0"), y: R.Tensor((n, 3), "float32"), z: R.Tensor((n, 3), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.hint_on_device(a, R.device(device_type=2, index=1))
            c = R.multiply(b, y)
            d = R.hint_on_device(c, R.device(device_type=2, index=1))
            t = (d, z)
            R.output(t)
        return t
