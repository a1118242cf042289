"""Compiles machine-learning models to small, fast, self-contained programs, and runs them.

>>> import hammock
>>> model = hammock.compile("model.onnx")
>>> y = model(x)
>>> model.save("model.so")
>>> model = hammock.load("model.so")
"""

from hammock._hammock import *  # noqa: F403
from hammock._hammock import __version__

if "compile" not in globals():

    def __getattr__(name: str) -> object:
        message = f"module 'hammock' has no attribute '{name}'"
        if not name.startswith("_"):
            message += ": this is the package hammock-runtime, which has no compiler; `pip install hammock` has both"
        raise AttributeError(message, name=name)
