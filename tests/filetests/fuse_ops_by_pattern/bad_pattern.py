# opt: FuseOpsByPattern{patterns="tests/filetests/fuse_ops_by_pattern/bad.patterns"}
@R.function
def main(x: R.Tensor((4,), "float32")):
    return x
