"""Look at a program between passes, and put a pass written in Python into the pipeline."""

# %% Read a program. Modules do not change; passes make new ones.
import numpy as np

import hammock
from hammock import transform

PROGRAM = """
from tvm.script import relax as R

@R.function
def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 32), "float32")) -> R.Tensor(("n", 32), "float32"):
    with R.dataflow():
        h = R.matmul(x, w)
        again = R.matmul(x, w)
        y = R.nn.gelu(R.add(h, again))
        R.output(y)
    return y
"""
module = hammock.parse(PROGRAM)
for binding in module["main"].bindings:
    print(f"line {binding.span.line}: {binding}")

# %% Run passes by name. A pass with options is a function of hammock.transform; hammock.passes() lists all.
clean = hammock.opt(module, ["EliminateCommonSubexpr", "CanonicalizeBindings"])
print(clean)
fused = hammock.opt(clean, ["LegalizeOps", "AnnotateTIROpPattern", transform.FuseOps(), "FuseTIR"])
print(repr(fused))


# %% A pass in Python: a function from a module to a module, or to its text. This one replaces the exact GELU by the
# approximation with tanh, as many training frameworks use it.
def approximate_gelu(module: hammock.Module) -> str:
    return str(module).replace("R.nn.gelu(", "R.nn.gelu_tanh(")


# %% Another one only looks: it counts the operators.
def count_operators(module: hammock.Module) -> hammock.Module:
    counts: dict[str, int] = {}
    for function in module.functions.values():
        for binding in function.bindings:
            operator = binding.value.partition("(")[0]
            counts[operator] = counts.get(operator, 0) + 1
    print(counts)
    return module


# %% Both stand in a list with the compiler's own. What they return is verified.
pipeline = ["EliminateCommonSubexpr", "CanonicalizeBindings", count_operators, approximate_gelu, count_operators]
approximate = hammock.opt(module, pipeline)

# %% Two modules are structurally equal if they differ only in names and in the order of functions.
renamed = hammock.parse(PROGRAM.replace("again", "other"))
assert hammock.structural_equal(approximate, hammock.opt(renamed, pipeline))
assert not hammock.structural_equal(approximate, clean)
try:
    hammock.assert_structural_equal(approximate, clean)
except AssertionError as error:
    print(error)

# %% hammock.compile takes the same lists, before the passes of the level.
model = hammock.compile(module, passes=pipeline)
rng = np.random.default_rng(0)
x, w = rng.standard_normal((5, 64), dtype="float32"), rng.standard_normal((64, 32), dtype="float32") / 8
h = 2 * (x @ w)
tanh = h / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
np.testing.assert_allclose(model(x, w), tanh, rtol=1e-3, atol=1e-4)
print("the same as NumPy")

# %% The last stage is the program of the virtual machine, with its allocations and kernels.
print(str(hammock.opt(module, opt_level=2))[:1500])
