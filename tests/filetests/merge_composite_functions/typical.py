# opt: FuseOpsByPattern{patterns=[["a.relu", "R.nn.relu(_)"], ["a.add", "R.add(_, _)"], ["b.gelu", "R.nn.gelu(_)"]]},MergeCompositeFunctions
# `late` needs `early` through another generator's `middle`, and so does not join it.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            early = R.nn.relu(x)
            more = R.add(early, w)
            middle = R.nn.gelu(more)
            late = R.add(more, middle)
            last = R.nn.relu(late)
            R.output(last)
        return last
