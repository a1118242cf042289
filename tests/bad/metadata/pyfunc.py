# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @I.pyfunc
    def main(self, x):
        return x
