# A fraction would be truncated to an integer.
@R.function
def main(x: R.Tensor((2, 3), "int64")):
    y = R.multiply(x, 1.5)
    return y
