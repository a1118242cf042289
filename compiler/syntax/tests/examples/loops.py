from __future__ import annotations
from tvm.script import tirx as T, relax as R

@T.prim_func
def main[n, m: int](a: T.Buffer((n, 16), "float32", strides=(32, 1), scope="global"), k: T.int64, *rest) -> T.int64:
    threads = T.env_thread("threadIdx.x")
    z: T.int32 = 0
    out: T.let[T.int32]
    for i in range(0, n, 2):
        for j in T.vectorized(16):
            vi, *vs = T.axis.remap("SR", [i, j])
            a[i, j], z = -a[i, j] ** 2 + (a[i, 0] if i > 0 and not j == 3 else 1.0), z + 1
        a[i, 0:4], a[i, :], a[i, ::2] = b = 0x1F, 0b11, 1_000
        while z < 16 <= k or z is not None:
            z += 1
            if z % 3 == 0: continue
            elif z >> 2 & 1: break
            else: pass
        assert i not in (1, 2,), ("RuntimeError", ["bad" "index"])
    with T.attr({"pragma": True}) as node, T.launch_thread(threads, 32):
        T.evaluate(T.call_extern("int32", r"f\n", {1, 2}, {}, [x * 2 for x, y in z if x if y], *rest, **{"k": ...}))
    @R.function
    def inner(x): return x @ x; pass
    return z
