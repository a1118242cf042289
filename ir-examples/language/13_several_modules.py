# A file may contain several modules; `--module` selects one.
#
# $ hammock run 13_several_modules.py --module Halve --arg '[2, 4]:float32'
# float32[2]
# [1.0 2.0]
# $ hammock run 13_several_modules.py --module Square --arg '[2, 4]:float32'
# float32[2]
# [ 4.0 16.0]

from tvm.script import ir as I, relax as R

@I.ir_module
class Halve:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        y = R.divide(x, R.const(2.0, "float32"))
        return y

@I.ir_module
class Square:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        y = R.multiply(x, x)
        return y
