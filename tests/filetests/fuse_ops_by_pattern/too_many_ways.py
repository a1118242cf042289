# opt: FuseOpsByPattern{patterns="tests/filetests/fuse_ops_by_pattern/sums.patterns"}
# No match, but the search is abandoned at its limit before that is certain.
@R.function
def main(v0: R.Tensor((4,), "float32")):
    with R.dataflow():
        v1 = R.add(v0, v0)
        v2 = R.add(v1, v1)
        v3 = R.add(v2, v2)
        v4 = R.add(v3, v3)
        v5 = R.add(v4, v4)
        v6 = R.add(v5, v5)
        v7 = R.add(v6, v6)
        v8 = R.add(v7, v7)
        v9 = R.add(v8, v8)
        v10 = R.add(v9, v9)
        v11 = R.add(v10, v10)
        v12 = R.add(v11, v11)
        v13 = R.add(v12, v12)
        v14 = R.add(v13, v13)
        v15 = R.add(v14, v14)
        v16 = R.add(v15, v15)
        v17 = R.add(v16, v16)
        v18 = R.add(v17, v17)
        v19 = R.add(v18, v18)
        v20 = R.add(v19, v19)
        R.output(v20)
    return v20
