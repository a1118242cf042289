# Functions call each other through the module, by its name or an alias of it. `private=True` hides a function from
# outside callers, who look up the others by name. `pure=False` marks one with side effects, such as printing.
#
# $ hammock run 07_functions.py --arg '[1, 2]:float32'
# float32[2]
# [11.0 12.0]
#
# Functions may be nested; they capture the variables around them, and are first-class values. A pass lifts them into
# the module:
#
# $ hammock opt 07_functions.py --passes Normalize,LambdaLift | grep -c 'private=True'
# 2

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function(private=True)
    def twice(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        ten = R.full(R.shape([2]), R.const(10.0, "float32"), dtype="float32")

        @R.function
        def add_ten(z: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            w = R.add(z, ten)
            return w

        doubled = cls.twice(x)
        moved = add_ten(doubled)
        result = R.subtract(moved, x)
        return result
