"""Tests the installed package `hammock-runtime`: `python runtime_package.py digits.so test.npz`."""

import subprocess
import sys

import numpy as np

import hammock

path, images = sys.argv[1], np.load(sys.argv[2])["images"]
scores = hammock.load(path)(images)
assert scores.shape == (len(images), 10) and scores.dtype == np.float32

try:
    hammock.compile("model.onnx")
except AttributeError as error:
    assert "`pip install hammock`" in str(error), error
else:
    raise AssertionError("the runtime has no compiler")

shown = subprocess.run(["hammock-run", "inspect", path], capture_output=True, text=True, check=True)
assert "main" in shown.stdout
same = subprocess.run([sys.executable, "-m", "hammock", "inspect", path], capture_output=True, text=True, check=True)
assert same.stdout == shown.stdout

# Link-time optimization must leave in place what ends threads in callbacks.
ends = """
import threading, time, hammock
def endless():
    while True:
        pass
threading.Thread(target=hammock.convert(endless), daemon=True).start()
time.sleep(0.2)
"""
subprocess.run([sys.executable, "-c", ends], check=True)
