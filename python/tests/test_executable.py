"""`hammock.inspect`: the contents of compiled models."""

import pathlib

import pytest

import hammock
import models


def test_contents(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "zoo.so"
    models.zoo().save(path)
    executable = hammock.inspect(path)
    assert executable.size == path.stat().st_size and pathlib.Path(executable.path) == path
    assert list(executable.functions) == models.zoo().functions
    assert executable.functions["pairwise"] == models.zoo().signature("pairwise")
    assert executable.kernels and all(isinstance(name, str) for name in executable.kernels)
    assert ("float32", (3,)) in executable.constants
    ((target, features),) = executable.targets
    assert target and all(isinstance(feature, str) for feature in features)
    assert "main" in executable.bytecode() and executable.stats()
    assert "    input   x      float32[n, 4]" in str(executable) or "input   x" in str(executable)
    assert "zoo.so" in repr(executable)


def test_other_files_are_rejected(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError):
        hammock.inspect(tmp_path / "missing.so")
    text = tmp_path / "text.so"
    text.write_text("no model")
    with pytest.raises(ValueError):
        hammock.inspect(text)
    damaged = tmp_path / "damaged.so"
    models.zoo().save(damaged)
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(ValueError):
        hammock.inspect(damaged)
    with pytest.raises(ValueError):
        hammock.load(damaged)


def test_saved_models_load(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "zoo.so"
    models.zoo().save(path)
    model = hammock.load(path)
    assert model.functions == models.zoo().functions and model.path == path
    assert model.numbers(1, 2.0) == (1, 2.0)
