# Scalars are written inline, `R.const(2.0, "float32")`; other constants are in a metadata section at the top of
# the file, or in a file of their own:
#
# $ hammock opt 12_constants.py --params-out /tmp/hammock-language.safetensors | grep -c 'load_json'
# 0
#
# A text that was printed without its constants is still usable: `--params FILE` restores them, and
# `--params zeros` replaces them with zeros.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((2, 2), dtype="float32"):
        table = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
        twice = R.multiply(table, R.const(2.0, "float32"))
        return twice
