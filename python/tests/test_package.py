"""The packages: their versions, files and licences."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hammock

PYTHON = Path(__file__).parents[1]


def manifest(path: str) -> dict:
    return tomllib.loads((PYTHON / path).read_text())


def test_the_version_is_that_of_the_crates():
    assert hammock.__version__ == manifest("../Cargo.toml")["workspace"]["package"]["version"]


def test_both_packages_require_the_same():
    one, other = (manifest(path)["project"] for path in ("pyproject.toml", "runtime/pyproject.toml"))
    for key in ("requires-python", "license", "license-files", "dependencies"):
        assert one[key] == other[key], key


@pytest.mark.parametrize("package", ["", "runtime"])
def test_packages_contain_the_licences(package):
    files = {file.name for file in (PYTHON / package / "licenses").iterdir()}
    assert files == {"LICENSE", "LLVM.txt", "THIRD_PARTY.txt"}
    assert (PYTHON / package / "licenses/LICENSE").read_text() == (PYTHON / "../LICENSE").read_text()


def test_the_package_has_types():
    assert (PYTHON / "hammock/py.typed").exists()


def test_import_is_lazy():
    """Importing the package imports neither NumPy nor other large modules, so that it takes a few milliseconds."""
    script = "import sys, hammock; print(*{'numpy', 'torch', 'onnx', 'asyncio'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


WITHOUT_COMPILER = """
import sys
import hammock._hammock as native

del sys.modules["hammock"]
for name in {"compile", "_compiler"} & set(native.__all__):
    delattr(native, name)
    native.__all__.remove(name)

import hammock

print(hasattr(hammock, "compile"), hasattr(hammock, "load"))
hammock.compile
"""


def test_a_missing_compiler_is_explained():
    """What `hammock-runtime` says, tried by hiding the compiler."""
    result = subprocess.run([sys.executable, "-c", WITHOUT_COMPILER], capture_output=True, text=True)
    assert (result.stdout, result.returncode) == ("False True\n", 1)
    assert (
        "AttributeError: module 'hammock' has no attribute 'compile': this is the package hammock-runtime"
        in result.stderr
    )
    assert "`pip install hammock`" in result.stderr


COMPILER_ONLY = {"_compiler.pyi", "compiler.py", "control.py", "diagnostics.py", "highlight.py", "ir.py"}
COMPILER_ONLY |= {"torch.py", "transform.py"}
"""Files that need the compiler, which `hammock-runtime` leaves out."""


def test_the_runtime_has_all_files_that_need_no_compiler():
    files = {file for file in (PYTHON / "hammock").iterdir() if file.suffix in (".py", ".pyi", ".typed")}
    links = {file.resolve() for file in (PYTHON / "runtime/hammock").iterdir() if file.is_symlink()}
    missing = {file.name for file in files - links} - COMPILER_ONLY
    assert not missing, "link them in python/runtime/hammock, or add them to COMPILER_ONLY"
    assert {file.name for file in links} & COMPILER_ONLY == set() and links <= files
