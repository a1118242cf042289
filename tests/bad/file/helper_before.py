import numpy as np
from tvm.script import ir as I, relax as R

np.random.seed(0)


def make():
    return np.zeros(3)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x
