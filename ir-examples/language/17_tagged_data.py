# Tagged unions (algebraic data types): a tag selects the variant, whose fields hold the data. `alloc_adt` creates a
# value, and a chain of `if`s over `has_tag` distinguishes variants, like `match` in other languages. Here a tree is a
# leaf (tag 0: a number) or a branch (tag 1: two trees). `main` grows a full tree of some depth with the leaves
# 0, x, 2 x, … and adds them up.
#
# $ hammock run 17_tagged_data.py --arg '1:float32' --arg '4:int64'
# 120.0 (float32)
# $ hammock run 17_tagged_data.py --func grow --arg '1:float32' --arg '1:int64' --arg '1:int64'
# Adt(tag=1, fields=(Adt(tag=0, fields=(2.0)), Adt(tag=0, fields=(3.0))))
#
# Values of statically unknown type have the type `R.Any`; `match_cast` checks the actual type. Data may be nested to
# any depth: calls need no native stack, and neither does dropping a long list.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    # A full tree with `levels` levels; a leaf holds its number times x.
    @R.function
    def grow(x: R.Tensor((), dtype="float32"), levels: R.Tensor((), dtype="int64"), first: R.Tensor((), dtype="int64")) -> R.Any:
        cls = Module
        at_the_top = R.equal(levels, R.const(0, "int64"))
        if at_the_top:
            number = R.multiply(x, R.astype(first, dtype="float32"))
            tree = R.call_pure_packed("vm.builtin.alloc_adt", R.prim_value(0), number, ty_args=(R.Any,))
        else:
            below = R.subtract(levels, R.const(1, "int64"))
            twice = R.multiply(first, R.const(2, "int64"))
            left = cls.grow(x, below, twice)
            right = cls.grow(x, below, R.add(twice, R.const(1, "int64")))
            tree = R.call_pure_packed("vm.builtin.alloc_adt", R.prim_value(1), left, right, ty_args=(R.Any,))
        return tree

    @R.function
    def total(tree: R.Any) -> R.Tensor((), dtype="float32"):
        cls = Module
        is_leaf = R.call_pure_packed("vm.builtin.has_tag", tree, R.prim_value(0), ty_args=(R.Prim("bool"),))
        if is_leaf:
            number = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(0), ty_args=(R.Tensor((), dtype="float32"),))
            result = number
        else:
            left = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(0), ty_args=(R.Any,))
            right = R.call_pure_packed("vm.builtin.get_field", tree, R.prim_value(1), ty_args=(R.Any,))
            result = R.add(cls.total(left), cls.total(right))
        return result

    @R.function
    def main(x: R.Tensor((), dtype="float32"), levels: R.Tensor((), dtype="int64")) -> R.Tensor((), dtype="float32"):
        cls = Module
        tree = cls.grow(x, levels, R.const(0, "int64"))
        return cls.total(tree)
