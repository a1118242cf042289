# opt: FuseOpsByPattern{patterns="tests/filetests/fuse_ops_by_pattern/dnnl.patterns",annotate_codegen=true}
# The first matching pattern wins; equal groups share a function.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32"), b: R.Tensor((1, 4, 1, 1), "float32")):
        with R.dataflow():
            first = R.nn.conv2d(x, w, padding=1)
            biased = R.add(b, first)
            relu = R.nn.relu(biased)
            second = R.nn.conv2d(relu, w, padding=1)
            again = R.nn.relu(R.add(b, second))
            third = R.nn.conv2d(again, w, padding=0)
            y = R.nn.gelu(third)
            R.output(y)
        return y
