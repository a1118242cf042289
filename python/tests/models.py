"""Models that several tests call, each compiled once."""

import functools

import hammock

_HEADER = """\
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
"""

_ZOO = """\
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.add(x, w)
        return y

    @R.function
    def pairwise(a: R.Tensor(("n", "m"), "float32"), b: R.Tensor(("m", "n"), "float32")):
        y = R.matmul(a, b)
        return y

    @R.function
    def same(value: R.Object) -> R.Object:
        return value

    @R.function
    def fields(pair: R.Tuple(R.Tensor((2,), "float32"), T.int64)):
        x = pair[0]
        k = pair[1]
        y = R.add(x, x)
        return (y, (k, R.str("seven")))

    @R.function
    def numbers(i: T.int64, f: T.float64):
        return (i, f)

    @R.function
    def small(i: T.int32, b: T.bool):
        return (i, b)

    @R.function
    def filled(shape: R.Shape(["a", "b"]), value: R.Tensor((), "int32")) -> R.Tensor(("a", "b"), "int32"):
        a, b = T.int64(), T.int64()
        y = R.full(R.shape([a, b]), value, dtype="int32")
        return y

    @R.function
    def halves(x: R.Tensor(("n",), "float32")):
        y = R.astype(x, "bfloat16")
        return y

    @R.function
    def constant() -> R.Tensor((3,), "float32"):
        y = R.const([1.0, 2.0, 3.0], "float32")
        return y
"""

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip

_TYPED = """\
    @R.function
    def {dtype}(x: R.Tensor(("n",), "{dtype}")) -> R.Tensor(("n",), "{dtype}"):
        y = R.flip(x, axis=0)
        return y
"""


@functools.cache
def zoo() -> hammock.Model:
    """A model with a function for each kind of parameter."""
    return hammock.compile(_HEADER + _ZOO)


@functools.cache
def typed() -> hammock.Model:
    """A model with a function for each dtype of `DTYPES`, which reverses a vector."""
    return hammock.compile(_HEADER + "\n".join(_TYPED.format(dtype=dtype) for dtype in DTYPES))


def compiled(body: str, **options: object) -> hammock.Model:
    """The model of a class body."""
    return hammock.compile(_HEADER + body, **options)
