from tvm.scirpt import relax as R
@R.function
def main(x: R.Tensor((4,), dtype="float32")):
    return x
