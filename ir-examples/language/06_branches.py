# `if` chooses by a bool tensor without axes; both branches end in a binding of the same name, which is the result.
# Loops are recursion: a tail call needs no stack.
#
# $ hammock run 06_branches.py --arg '3:float32'
# 9.0 (float32)
# $ hammock run 06_branches.py --arg '-3:float32'
# 0.0 (float32)
# $ hammock run 06_branches.py --func power --arg '2:float32' --arg '10:int64' --arg '1:float32'
# 1024.0 (float32)

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        positive = x > R.const(0.0, "float32")
        if positive:
            y = R.multiply(x, x)
        else:
            y = R.zeros_like(x)
        return y

    @R.function
    def power(x: R.Tensor((), dtype="float32"), k: R.Tensor((), dtype="int64"), so_far: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        cls = Module
        done = R.equal(k, R.const(0, "int64"))
        if done:
            result = so_far
        else:
            result = cls.power(x, k - R.const(1, "int64"), so_far * x)
        return result
