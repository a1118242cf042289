# Devices: one module that uses the host and two GPUs. The embedding table stays in the host's memory, where its rows are
# gathered; each GPU has a layer. `main` copies activations from device to device.
#
# $ hammock compile devices.py --target cuda -o devices.so
# $ hammock inspect devices.so --stats                           # what runs where
# $ hammock run devices.so --device cuda:0,cuda:1 --arg '[3, 1, 4]:int64' --arg …

from typing import TypeVar
from tvm.script import ir as I, relax as R

n = TypeVar("n")

@I.ir_module
class Module:
    # "llvm:0" is the host, "cuda:0" the first device that `--device` gives, and "cuda:1" the second.
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @R.function
    def main(
        tokens: R.Tensor((n,), "int64", "llvm:0"),
        table: R.Tensor((100, 16), "float32", "llvm:0"),
        w0: R.Tensor((16, 32), "float32", "cuda:0"),
        w1: R.Tensor((32, 8), "float32", "cuda:1"),
    ):
        with R.dataflow():
            rows = R.take(table, tokens, axis=0)
            # What is computed from a tensor is on its device, unless a type says otherwise.
            x0 = R.to_vdevice(rows, "cuda:0")
            y0 = R.nn.relu(R.matmul(x0, w0))
            x1 = R.to_vdevice(y0, "cuda:1")
            y1 = R.nn.softmax(R.matmul(x1, w1))
            R.output(y1)
        return y1
