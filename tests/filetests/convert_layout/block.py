# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Everything between the first convolution and the last value is in NHWC; only bias and weights are permuted.
    @R.function
    def main(
        x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), b: R.Tensor((1, 4, 1, 1), "float32"),
        v: R.Tensor((4, 4, 1, 1), "float32"), p: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            y = R.nn.conv2d(x, w, padding=1)
            y1 = R.nn.relu(R.add(y, b))
            n = R.nn.batch_norm(y1, p, p, p, p, axis=1)
            n1 = n[0]
            z = R.nn.conv2d(n1, v)
            s = R.concat((y1, z), axis=1)
            t = R.split(s, [4], axis=1)
            m = R.nn.max_pool2d(t[1], pool_size=2, strides=2)
            out = R.mean(m, axis=[2, 3])
            R.output(out)
        return out
