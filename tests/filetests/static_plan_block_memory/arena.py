# opt: LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory{scope="function",arena=true},LowerAllocTensor
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    # One storage; two small tensors reuse the memory of the large one.
    @R.function
    def main(x: R.Tensor((64,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((64,), dtype="float32"):
        a = R.concat((x, x, x, x), axis=0)
        b = R.strided_slice(a, axes=[0], begin=[0], end=[64])
        p = R.exp(b)
        q = R.negative(p)
        if c:
            s = R.tanh(p)
            r = R.add(s, q)
        else:
            r = R.add(p, q)
        d = R.exp(r)
        return d

    # All tensors are in a branch, and so is the storage. In a function with calls, storages are released before them.
    @R.function
    def inner(x: R.Tensor((64,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((64,), dtype="float32"):
        if c:
            s = R.tanh(x)
            t = R.exp(s)
            r = R.add(s, t)
        else:
            r = x
        return r

    @R.function
    def calls(x: R.Tensor((64,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((64,), dtype="float32"):
        cls = Module
        s = R.tanh(x)
        t = R.exp(s)
        u = R.negative(t)
        v = cls.inner(u, c)
        w = R.exp(v)
        y = R.tanh(w)
        return y

    # Two slots suffice: only one branch runs, and its input is dead after its first use.
    @R.function
    def branches(x: R.Tensor((64,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((64,), dtype="float32"):
        a = R.exp(x)
        if c:
            b = R.tanh(a)
            d = R.exp(b)
            r = R.tanh(d)
        else:
            b = R.negative(a)
            d = R.exp(b)
            e = R.negative(d)
            r = R.exp(e)
        f = R.tanh(r)
        return f

    # A value that is live late in one branch, or after both, does not share memory with values of the other branch.
    @R.function
    def needed(x: R.Tensor((64,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((64,), dtype="float32"):
        a = R.exp(x)
        k = R.tanh(x)
        if c:
            b = R.tanh(a)
            d = R.exp(b)
            r = R.tanh(d)
        else:
            b = R.negative(x)
            d = R.exp(b)
            r = R.add(d, a)
        f = R.add(r, k)
        g = R.exp(f)
        return g
