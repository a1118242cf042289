# Operators are called by name: tensors first, then attributes, which have defaults. `hammock ops` lists all of them.
#
# $ hammock run 02_operators.py --arg '[[1, 2], [3, 4]]:float32' --arg '[10, 20]:float32'
# 0: float32[2, 2]
# [[21.0 42.0]
#  [23.0 44.0]]
# 1: float32[2]
# [3.0 7.0]
# 2: float16[2, 2]
# [[-1.0 -2.0]
#  [-3.0 -4.0]]
#
# Python's operators are supported: + - * / // % ** @ and comparisons, `-x`, `t[0]` of a tuple, `.astype`.
# A number literal takes the dtype of the tensor operand. The parser binds nested calls to variables:
#
# $ hammock opt 02_operators.py | grep -c 'R.multiply'
# 1

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2,), dtype="float32")):
        scaled = x + y * 2.0
        rows = R.sum(x, axis=[1], keepdims=False)
        halves = (-x).astype("float16")
        return (scaled, rows, halves)
