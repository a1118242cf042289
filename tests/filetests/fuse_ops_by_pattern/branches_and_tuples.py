# opt: FuseOpsByPattern{patterns=[["x.halves", "R.concat(is_tuple([is_tuple_get_item(R.split(_), 1), R.abs(_)], unordered=True))"], ["x.larger", "R.add(_, _) | R.clip(R.add(_, _), ...)"]]}
# Tuple fields, in any order; the larger of two matches; branches.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")):
        if c:
            with R.dataflow():
                halves = R.split(x, 2, axis=1)
                second = halves[1]
                size = R.abs(x)
                both = R.concat((size, second), axis=1)
                R.output(both)
            y = both
        else:
            with R.dataflow():
                twice = R.add(x, x)
                cut = R.clip(twice, -1, 1)
                wide = R.concat((cut, cut), axis=1)
                less = R.strided_slice(wide, axes=[1], begin=[0], end=[6])
                R.output(less)
            y = less
        return y
