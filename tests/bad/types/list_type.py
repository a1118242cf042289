# The type of a tuple is not a list.
@R.function
def main(x: [R.Tensor((3,), "float32"), R.Tensor((3,), "float32")]):
    return x
