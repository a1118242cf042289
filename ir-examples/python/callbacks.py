"""Functions that cross languages: models call Python, Python calls the runtime, and exceptions come back."""

# %% A Python function that models call by name. With `call_dps_packed`, it writes into its last argument.
import traceback

import numpy as np

import hammock


@hammock.register_global_func("example.clip")
def clip(x: np.ndarray, low: float, high: float, out: np.ndarray) -> None:
    np.clip(x, low, high, out=out)


model = hammock.compile("""
from tvm.script import relax as R, tirx as T

@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    y = R.multiply(x, R.const(10, "float32"))
    low, high = R.prim_value(T.float64(-5)), R.prim_value(T.float64(5))
    z = R.call_dps_packed("example.clip", (y, low, high), out_sinfo=R.Tensor((n,), "float32"))
    return z
""")
print(model(np.array([-1, 0.25, 1], "float32")))

# %% A model that receives a function, and calls it. Functions of other models are such values, too.
APPLY = """
from tvm.script import relax as R

@R.function(pure=False)
def main(
    x: R.Tensor((3,), "float32"),
    f: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"), False),
) -> R.Tensor((3,), "float32"):
    y = f(x)
    z = R.add(x, y)
    return z
"""
apply = hammock.compile(APPLY)
x = np.array([1, 4, 9], "float32")
print(apply(x, lambda x: -x), apply(x, np.sqrt), apply(x, model))


# %% An exception in a callback ends the call, and comes back as it is. Its notes name the lines of the model.
def refuse(x: np.ndarray) -> None:
    raise LookupError("there is nothing here")


try:
    apply(x, refuse)
except LookupError as error:
    text = "".join(traceback.format_exception(error))
    print(text)
    assert "in refuse" in text and "y = f(x)" in text

# %% A result of another shape than the model declares is an error where the model uses it.
try:
    apply(x, lambda x: x[:2])
except ValueError as error:
    print("ValueError:", error)

# %% The other way: Python calls functions of the runtime (`hammock builtins` lists them), and models as functions.
uniform = hammock.get_global_func("hammock.random.uniform")
print(uniform(7, 0), uniform(7, 1))
f = hammock.convert(model.main)
print(f(x))

# %% Names are for the whole process. A model keeps the function that it was loaded with.
hammock.remove_global_func("example.clip")
print(model(x))
