# opt: FuseOpsByPattern{patterns=[["x.half", "R.nn.relu(_.has_dtype(\"float16\"))"], ["x.wide", "R.nn.relu(_.has_shape([_, 5]))"], ["x.last", "R.sum(_, axis=1)"], ["x.far", "R.nn.relu(R.nn.relu(_))"]]}
# Other dtypes, sizes and attributes; and calls outside of the dataflow block.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        outside = R.nn.relu(x)
        with R.dataflow():
            y = R.nn.relu(outside)
            s = R.sum(y, axis=0)
            R.output(s)
        return s
