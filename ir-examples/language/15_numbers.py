# Literals of every dtype, including infinity and NaN.
#
# $ hammock run 15_numbers.py
# 0: inf (float32)
# 1: nan (float64)
# 2: 0.1 (float32)
# 3: 255 (uint8)
# 4: true (bool)
#
# In kernels `T.float32("inf")`, `T.bfloat16(1.5)`, `T.int8(-1)`; smaller floats (`float8_e4m3fn`, `float4_e2m1fn`, …) and
# vectors (`float32x4`) are dtypes as well.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main():
        infinite = R.const("inf", "float32")
        nothing = R.const("nan", "float64")
        tenth = R.const(0.1, "float32")
        most = R.const(255, "uint8")
        yes = R.const(True, "bool")
        return (infinite, nothing, tenth, most, yes)
