"""Runs the examples of `ir-examples/python` as programs. They check their results themselves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "ir-examples" / "python"

NEEDS = {"torch_model": ["torch", "onnxscript"], "scale_out": ["ray"]}
"""The packages that an example needs in addition to NumPy."""

PRINTS = {
    "callbacks": ["[-5.   2.5  5. ]", "[0. 0. 0.] [ 2.  6. 12.]", "in main at <text>:9", "ValueError: kernel"],
    "digits": ["accuracy: 0.97", "main(), parameter `images`", "slowest kernel: ", "float32[n, 64]"],
    "generate": ["Alice was", "the same as the trained network"],
    "kernel": ["(0, 7): the same as NumPy", "error[", "def unit_rows("],
    "passes": ["'R.matmul': 1", "'R.nn.gelu_tanh': 1", "the modules differ at", "the same as NumPy"],
    "scale_out": ["360 images, accuracy 0.97", " processes", "replicas gave the same digits"],
    "torch_model": ["the same as torch", "torch.compile gives the same", "median "],
}
"""What each example prints, among other things."""


def test_all_examples_are_run():
    assert sorted(PRINTS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", PRINTS)
def test_example(name, tmp_path):
    missing = [package for package in NEEDS.get(name, []) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"the example needs {' and '.join(missing)}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    absent = [text for text in PRINTS[name] if text not in done.stdout]
    assert not absent, done.stdout


@pytest.mark.parametrize("name", PRINTS)
def test_examples_are_in_cells(name):
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    assert sum(line.startswith("# %% ") for line in lines) >= 4
    assert max(map(len, lines)) <= 120
