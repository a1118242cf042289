"""Compiles machine-learning models to small, fast, self-contained programs, and runs them.

    >>> import hammock
    >>> model = hammock.compile("model.onnx")
    >>> y = model(x)
    >>> model.save("model.so")
    >>> model = hammock.load("model.so")
"""

from hammock._hammock import *  # noqa: F403
from hammock._hammock import __version__
