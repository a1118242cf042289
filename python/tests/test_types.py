"""The type stubs agree with the module, and type checkers accept typical programs and reject wrong ones."""

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import hammock
from hammock import _hammock

PACKAGE = pathlib.Path(hammock.__file__).parent
STUB = ast.parse((PACKAGE / "_hammock.pyi").read_text())

# Members of the stub that are slots of the type, not all of which Python shows as members.
SLOTS = ("__buffer__", "__release_buffer__", "__getattr__")

PROGRAM = """\
import numpy as np
import hammock

model = hammock.compile("model.onnx", opt_level=3, returns="tensor")
model.save("model.so")
loaded: hammock.Model = hammock.load("model.so", timeout=1.5)
y = loaded(np.ones(3), w=[1, 2])
z = loaded.main(y)
names: list[str] = [parameter.name for parameter in loaded.signature("main").parameters]
seconds: float = loaded.bench(y, min_time=0.1).median
limited: hammock.Model = loaded.with_limits(timeout=1.0, interrupt=hammock.Interrupt())
device: hammock.Device = hammock.cpu()
print(loaded.profile(y).flame_graph(), hammock.inspect("model.so").size, names, seconds, z)
"""

WRONG = """\
import hammock

hammock.load(3)
hammock.load("model.so", returns="list")
hammock.compile("model.onnx", opt_level="fast")
hammock.load("model.so").signature().name = "other"
"""


def classes() -> dict[str, ast.ClassDef]:
    """The classes of the stub."""
    return {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def parameters(node: ast.FunctionDef) -> list[str]:
    """The parameters of a function of the stub, but for `self`."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [argument.arg for argument in plain]
    names += [argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument]
    return sorted(name for name in names if name not in ("self", "cls"))


def own_parameters(function: object) -> list[str] | None:
    """The parameters of a function of the module, if it declares them."""
    try:
        names = inspect.signature(function).parameters  # type: ignore[arg-type]
    except ValueError:
        return None
    return sorted(name for name in names if name not in ("self", "cls"))


def is_public(name: str) -> bool:
    return not name.startswith("_") or name.startswith("_repr_")


def test_the_stub_lists_everything() -> None:
    public = {name for name in dir(_hammock) if is_public(name)} | {"__version__"}
    declared = next(node for node in STUB.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    listed = set(ast.literal_eval(declared.value))
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    assert functions | set(classes()) | {"__version__", "_compiler"} == listed
    assert {name for name in listed if is_public(name)} | {"__version__"} == public


@pytest.mark.parametrize("name", sorted(classes()))
def test_classes_have_the_members_of_the_stub(name: str) -> None:
    own, node = getattr(_hammock, name), classes()[name]
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    if issubclass(own, Exception):
        return
    assert {member for member in vars(own) if is_public(member)} == {member for member in methods if is_public(member)}
    for member, method in methods.items():
        if member in SLOTS:
            continue
        is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in method.decorator_list)
        found = inspect.getattr_static(own, member)
        assert inspect.isgetsetdescriptor(found) == is_property, member
        if is_public(member) and not is_property:
            assert own_parameters(found) == parameters(method), member
            assert found.__doc__ or member.startswith("_repr_"), f"{name}.{member} has no documentation"


def test_functions_have_the_parameters_of_the_stub() -> None:
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            function = getattr(_hammock, node.name)
            assert own_parameters(function) == parameters(node), node.name
            assert function.__doc__, node.name


def test_mypy_accepts_typical_programs_and_finds_mistakes(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    errors = {tuple(line.split(":")[:2]) for line in ran.stdout.splitlines() if ": error:" in line}
    errors = {(file, line) for file, line in errors if not file.startswith(str(PACKAGE))}
    assert errors == {("wrong.py", line) for line in "3456"}, ran.stdout + ran.stderr


def test_stubtest_finds_no_difference(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MYPYPATH": str(PACKAGE.parent)}
    allowed = tmp_path / "allowed"
    allowed.write_text("".join(f"hammock\\._hammock\\..*\\.{name}\n" for name in SLOTS))
    command = [sys.executable, "-m", "mypy.stubtest", "hammock._hammock", "--ignore-disjoint-bases"]
    command += ["--allowlist", str(allowed), "--ignore-unused-allowlist"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
