"""Runs the Python code of the documents."""

import contextlib
import doctest
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import hammock

ROOT = Path(__file__).parents[2]


def blocks(document: str) -> list[tuple[str, str]]:
    """Returns the code blocks of a document in order, each with its language."""
    text = (ROOT / document).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_program_of_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks("README.md")
    at = next(at for at, (language, _) in enumerate(found) if language == "python")
    (_, program), (language, expected) = found[at : at + 2]
    assert language == ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    assert printed.getvalue() == expected


@pytest.mark.parametrize("chapter", ["docs/src/python.md", "docs/src/python-compiler.md"])
def test_sessions_of_the_book(tmp_path, monkeypatch, chapter):
    shutil.copytree(ROOT / "ir-examples", tmp_path / "tour")
    monkeypatch.chdir(tmp_path / "tour")
    session = "".join(code for language, code in blocks(chapter) if language == "python")
    test = doctest.DocTestParser().get_doctest(session, {}, chapter, None, 0)
    assert len(test.examples) > 10
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=report.write)
    assert runner.summarize(verbose=False).failed == 0, report.getvalue()


@pytest.mark.parametrize("package", ["python", "python/runtime"])
def test_programs_on_the_pages_of_the_packages(tmp_path, monkeypatch, package):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests/onnx/mlp.onnx", "model.onnx")
    model = hammock.compile("model.onnx")
    model.save("model.so")
    x = np.ones((2, 64), "float32")
    for language, program in blocks(f"{package}/README.md"):
        assert language == "python"
        names = {"x": x}
        exec(program, names)
        np.testing.assert_array_equal(names["y"], model(x))
