# opt: ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def increase(a: T.Buffer((1, 2, 4, 4), "float32")):
        for i, j, k in T.grid(2, 4, 4):
            with T.sblock("a"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                a[0, vi, vj, vk] = a[0, vi, vj, vk] + T.float32(1)

    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((2, 2, 1, 1), "float32")):
        cls = Module
        with R.dataflow():
            a = R.nn.conv2d(x, w)
            b = R.nn.relu(a)
            c = R.call_tir_inplace(cls.increase, (b,), out_ty=R.Tensor((1, 2, 4, 4), "float32"), inplace_indices=[0])
            y = R.add(a, b)
            R.output(y)
        return y
