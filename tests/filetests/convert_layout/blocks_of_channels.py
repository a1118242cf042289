# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NCHW4c","OIHW4o"]}}
from typing import TypeVar
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
    # Channels in blocks of 4. The second convolution has 6 channels, not a multiple of 4: it keeps its layout.
    @R.function
    def main(
        x: R.Tensor((1, 8, 6, 6), "float32"), w: R.Tensor((4, 8, 3, 3), "float32"), v: R.Tensor((6, 4, 1, 1), "float32"),
        b: R.Tensor((1, 4, 1, 1), "float32"),
    ):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            y1 = R.add(R.nn.relu(y), b)
            y2 = R.nn.avg_pool2d(y1, pool_size=2)
            s = R.split(y2, [2], axis=2)
            z = R.nn.conv2d(y2, v)
            total = R.sum(y2, axis=[1], keepdims=True)
            cut = R.split(R.concat((y1, y1, y1), axis=1), [4, 8], axis=1)
            out = (z, s[0], total, cut[1])
            R.output(out)
        return out
