# Tuples group values: several results, several arguments. `(x,)` is a tuple of one, `t[1]` a field.
#
# $ hammock run 05_tuples.py --arg '([1, 2]:float32, 7)'
# 0: float32[2]
# [2.0 4.0]
# 1.0: 7
# 1.1: "seven"
#
# In addition to tensors, values may be integers and other scalars (`T.int64`), shapes (`R.Shape`), strings, or any type
# (`R.Any`).

from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @R.function
    def main(pair: R.Tuple(R.Tensor((2,), dtype="float32"), T.int64)):
        x = pair[0]
        k = pair[1]
        word = R.str("seven")
        y = R.add(x, x)
        return (y, (k, word))
