# from tvm.script import ir as I
x = 1
