from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.add(x, x)
        return y


import numpy as np

print(Module)
target = tvm.target.Target("llvm")
if __name__ == "__main__":
    ex = tvm.compile(Module, target)
    print(f"{ex.stats()}")
    try:
        del ex
    finally:
        pass
