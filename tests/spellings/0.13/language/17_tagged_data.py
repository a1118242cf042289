from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    # A full tree with `levels` levels; a leaf holds its number times x.
    @R.function
    def grow(x: R.Tensor((), dtype="float32"), levels: R.Tensor((), dtype="int64"), first: R.Tensor((), dtype="int64")) -> R.Object:
        cls = Module
        at_the_top = R.equal(levels, R.const(0, "int64"))
        if at_the_top:
            number = R.multiply(x, R.astype(first, dtype="float32"))
            tree = R.call_pure_packed("vm.builtin.alloc_adt", R.prim_value(0), number, sinfo_args=(R.Object,))
        else:
            below = R.subtract(levels, R.const(1, "int64"))
            twice = R.multiply(first, R.const(2, "int64"))
            left = cls.grow(x, below, twice)
            right = cls.grow(x, below, R.add(twice, R.const(1, "int64")))
            tree = R.call_pure_packed("vm.builtin.alloc_adt", R.prim_value(1), left, right, sinfo_args=(R.Object,))
        return tree

    @R.function
    def total(tree: R.Object) -> R.Tensor((), dtype="float32"):
        cls = Module
        is_leaf = R.call_pure_packed("vm.builtin.has_tag", tree, R.prim_value(0), sinfo_args=(R.Prim("bool"),))
        if is_leaf:
            number = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(0), sinfo_args=(R.Tensor((), dtype="float32"),))
            result = number
        else:
            left = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(0), sinfo_args=(R.Object,))
            right = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(1), sinfo_args=(R.Object,))
            result = R.add(cls.total(left), cls.total(right))
        return result

    @R.function
    def main(x: R.Tensor((), dtype="float32"), levels: R.Tensor((), dtype="int64")) -> R.Tensor((), dtype="float32"):
        cls = Module
        tree = cls.grow(x, levels, R.const(0, "int64"))
        return cls.total(tree)
