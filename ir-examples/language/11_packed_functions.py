# Functions of the runtime are called by name: `hammock builtins` lists them. The text declares the type of the result.
#
# $ hammock run 11_packed_functions.py --arg '[[1, 2, 3]]:float32'
# shape[1, 3]

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Shape(ndim=2):
        R.assert_op(R.const(True, "bool"), format="never seen")
        shape = R.call_packed("vm.builtin.shape_of", x, ty_args=(R.Shape(ndim=2),))
        return shape
