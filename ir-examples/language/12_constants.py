# Scalars are written in place, `R.const(2.0, "float32")`; other constants stand in a section of metadata at the head of
# the file, or in a file of their own:
#
# $ hammock opt 12_constants.py --params-out /tmp/hammock-language.safetensors | grep -c 'load_json'
# 0
#
# Text that was printed without its constants can still be worked with: `--params FILE` gives them back, and
# `--params zeros` stands in zeros for them.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((2, 2), dtype="float32"):
        table = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
        twice = R.multiply(table, R.const(2.0, "float32"))
        return twice
