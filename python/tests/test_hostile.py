"""Hostile arguments: each call ends in a right result or an exception, and leaks nothing."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import hammock
import hostile
import models


def test_hostile_calls_return_or_raise() -> None:
    outcomes = hostile.run(10_000, seed=1)
    assert outcomes.total() == 10_000
    assert min(outcomes["result"], outcomes["TypeError"], outcomes["ValueError"], outcomes["Hostile"]) > 100


def test_hostile_calls_under_development_mode() -> None:
    path = pathlib.Path(hostile.__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-X", "dev", str(path), "2000", "2"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "result" in ran.stdout and "Fatal" not in ran.stderr


def resident_bytes() -> int:
    """Memory of this process."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_does_not_grow() -> None:
    hostile.run(1_000, seed=3)
    before = resident_bytes()
    for _ in range(4):
        hostile.run(1_000, seed=3)
    assert resident_bytes() - before < 16 << 20


def test_references_are_released() -> None:
    zoo = models.zoo()
    x, w, wrong = np.ones((3, 4), np.float32), np.ones(4, np.float32), np.ones(5, np.float32)
    objects = [x, w, wrong, x.dtype, np.dtype("int64"), zoo]

    def calls() -> None:
        for _ in range(100):
            y = zoo(x, w)
            zoo.same(x), zoo.same((x, w)), zoo(x, w=[1, 2, 3, 4]), zoo.main.signature
            memoryview(hammock.Tensor(y)), np.from_dlpack(hammock.Tensor(x)), hammock.Tensor(x)[0]
            for args in ((x, wrong), (x,), (x, w, w), (x, "text"), (x[::-1], wrong[::-1])):
                with pytest.raises((TypeError, ValueError)):
                    zoo(*args)

    calls()
    before = [sys.getrefcount(item) for item in objects]
    calls()
    assert [sys.getrefcount(item) for item in objects] == before
