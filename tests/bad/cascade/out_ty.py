from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((4, 9), "float32"))
            z = R.add(y, w)
            R.output(z)
        return z

    @R.function
    def declared(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        y = R.call_tir(Module.double, (x,), out_ty=R.Tensor((4, 8), "float16"))
        return y

    @R.function
    def pair(x: R.Tensor((4, 8), "float32")):
        y = R.call_tir(Module.double, (x,), out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")])
        return R.nn.relu(y)

    @T.prim_func(private=True)
    def double(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float32(2)
