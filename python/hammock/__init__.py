"""Compiles machine-learning models to small, fast, self-contained programs, and runs them.

>>> import hammock
>>> model = hammock.compile("model.onnx")
>>> y = model(x)
>>> model.save("model.so")
>>> model = hammock.load("model.so")
"""

import sys as _sys

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError(
        "hammock does not support free-threaded Python yet: its module has the stable ABI, which that lacks"
    )

from hammock import relax as relax
from hammock._hammock import *  # noqa: F403
from hammock._hammock import __version__
from hammock.device import Device as Device, cpu as cpu, cuda as cuda
from hammock.functions import register_global_func as register_global_func
from hammock.relax import build as build
