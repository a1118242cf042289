"""Signatures of functions, and what `help`, `inspect` and completion show."""

import inspect
import pydoc

import numpy as np
import pytest

import models


def test_signature_of_a_function() -> None:
    signature = models.zoo().signature("main")
    assert str(signature) == "main(x: float32[n, 4], w: float32[4]) -> float32[n, 4]"
    assert repr(signature) == f"<hammock.Signature {signature}>"
    assert signature.name == "main" and signature == models.zoo().signature()
    assert signature != models.zoo().signature("same")
    x, w = signature.parameters
    assert (x.name, x.role, x.kind, x.dtype, x.shape, x.type) == (
        "x",
        "input",
        "tensor",
        "float32",
        ("n", 4),
        "float32[n, 4]",
    )
    assert w.shape == (4,) and str(w) == "w: float32[4]"
    (y,) = signature.results
    assert (y.role, y.dtype, y.shape) == ("output", "float32", ("n", 4))


def test_kinds_of_parameters() -> None:
    def only(name: str) -> tuple[str, str | None, object]:
        parameter = models.zoo().signature(name).parameters[0]
        return parameter.kind, parameter.dtype, parameter.shape

    assert only("filled") == ("shape", None, ("a", "b"))
    assert only("numbers") == ("number", "int64", None)
    assert only("fields") == ("tuple", None, None)
    assert only("same") == ("other", None, None)


def test_weights_are_bound() -> None:
    model = models.compiled(
        """\
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        y = R.multiply(x, w)
        return y
""",
        params={"w": np.array([2.0, 3.0], np.float32)},
    )
    signature = model.signature()
    assert [x.name for x in signature.parameters] == ["x"]
    assert [(w.name, w.role) for w in signature.bound] == [("w", "bound")]
    assert model([1, 1]).tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="it is a weight, whose value is in the model"):
        model([1, 1], w=[1, 1])


def test_unknown_functions() -> None:
    with pytest.raises(KeyError, match="did you mean `main`"):
        models.zoo().signature("mian")


def test_inspect_and_help() -> None:
    zoo = models.zoo()
    signature = inspect.signature(zoo.main)
    assert list(signature.parameters) == ["x", "w"]
    assert signature.parameters["x"].annotation == "float32[n, 4]"
    assert signature.return_annotation == "float32[n, 4]"
    assert signature == inspect.signature(zoo) == inspect.signature(zoo["main"])
    signature.bind(1, w=2)
    with pytest.raises(TypeError):
        signature.bind(1, v=2)
    text = pydoc.plain(pydoc.render_doc(zoo.pairwise))
    assert "pairwise(a: float32[n, m], b: float32[m, n]) -> float32[n, n]" in text
    assert "Parameters:" in text and "Results:" in text
    assert zoo.pairwise.__name__ == "pairwise" and zoo.pairwise.signature == zoo.signature("pairwise")


def test_completion_and_listing() -> None:
    zoo = models.zoo()
    assert zoo.functions[:2] == ["main", "pairwise"] and "main" in zoo and "nothing" not in zoo and 3 not in zoo
    assert {"main", "pairwise", "signature", "bench", "save"} <= set(dir(zoo))
    assert "pairwise(a: float32[n, m], b: float32[m, n]) -> float32[n, n]" in repr(zoo)
    assert repr(zoo.numbers) == "<hammock function numbers(i: int64, f: float64) -> (int64, float64)>"
