# An uninitialized temporary.
@T.prim_func(s_tir=True)
def sums(x: T.Buffer((8, 4), "float32"), y: T.Buffer((8,), "float32")):
    total = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 4):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            total[vi] = total[vi] + x[vi, vk]
    for i in range(8):
        with T.sblock("copy"):
            vi = T.axis.spatial(8, i)
            y[vi] = total[vi]
