# The type of a tuple is no list.
@R.function
def main(x: [R.Tensor((3,), "float32"), R.Tensor((3,), "float32")]):
    return x
