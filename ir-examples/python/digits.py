"""Compile a network that reads handwritten digits, run it, see where its time goes, and keep it as a file.

The network is `digits/model.py`, three dense layers; its weights are named parameters, and its batch size is symbolic.
"""

# %% Compile: a text and its weights. `params` may also be a dict of arrays.
import os
import tempfile
from pathlib import Path

import numpy as np

import hammock

DIGITS = Path(__file__).resolve().parents[1] / "digits"
model = hammock.compile(DIGITS / "model.py", params=DIGITS / "weights.safetensors")
print(model)

# %% Run: NumPy in and out. Any batch size runs, without compiling again.
test = np.load(DIGITS / "test.npz")
images, labels = test["images"], test["labels"]
guesses = model.classify(images)
print(f"accuracy: {model.accuracy(images, labels):.4f}")
assert np.mean(guesses == labels) > 0.97
assert np.array_equal(model.classify(images[:1]), guesses[:1])

# %% The signature of a function: what it takes, what was bound, and what it returns.
signature = model.signature("classify")
print(signature)
for parameter in signature.parameters + signature.results:
    print(f"  {parameter.role} {parameter.name}: {parameter.type}, dtype {parameter.dtype}, shape {parameter.shape}")

# %% Wrong arguments are errors that name the function, the parameter, and what was expected.
try:
    model(images[:, :63])
except ValueError as error:
    print("ValueError:", error)

# %% Time calls. `model.bench` takes the arguments of a call; the figures are in seconds.
timing = model.bench(images, min_time=0.2)
print(timing)
print(f"{len(images) / timing.median:,.0f} images per second")

# %% Profile: the kernels, slowest first. In a notebook, a profile shows as a table with a flame graph.
profile = model.profile(images)
print(profile)
slowest = max((row for row in profile.rows if row.kind == "kernel"), key=lambda row: row.own)
print("slowest kernel:", slowest.name)

# %% Save and load. The file needs neither the text nor the weights, and hammock-runtime runs it too.
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "digits.so")
model.save(path)
again = hammock.load(path)
assert np.array_equal(again.classify(images), guesses)
print("kernels:", *hammock.inspect(path).kernels)
folder.cleanup()
