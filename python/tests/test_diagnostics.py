"""Exceptions and warnings of the compiler: what they say, and where they point."""

import pickle
import warnings

import pytest

import hammock

WRONG = """@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.ad(x, x)
    return y
"""


def failure(*args, **options):
    with pytest.raises(hammock.CompileError) as found:
        hammock.parse(*args, **options)
    return found.value


def test_an_error_has_code_place_and_advice():
    error = failure(WRONG, name="mine.py")
    (diagnostic,) = error.diagnostics
    assert diagnostic.severity == "error" and diagnostic.code == error.code and diagnostic.code.startswith("E02")
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == ("mine.py", 3, 9)
    assert (diagnostic.end_line, diagnostic.end_column) == (3, 13)
    assert "did you mean" in diagnostic.help[0]
    assert diagnostic.fixes[0].text.endswith("add")
    assert diagnostic.labels[0].primary and diagnostic.labels[0].span == error.span
    assert str(error.span) == "mine.py:3:9"


def test_an_error_prints_as_on_the_command_line():
    text = str(failure(WRONG, name="mine.py"))
    assert text.startswith("error[E02") and "mine.py:3:9" in text and "y = R.ad(x, x)" in text and "^^^" in text
    assert str(failure(WRONG).diagnostics[0]).startswith("<text>:3:9: error[E02")


def test_all_errors_are_found_at_once():
    twice = WRONG.replace("return y", "z = R.mul(y, x)\n    return z")
    assert len(failure(twice).diagnostics) == 2


def test_an_error_without_a_text_has_no_place():
    with pytest.raises(hammock.CompileError) as found:
        hammock.opt(hammock.parse(WRONG.replace("R.ad", "R.add")), "FuseOpz")
    assert found.value.span is None and found.value.diagnostics[0].line is None
    assert "did you mean `FuseOps`?" in found.value.diagnostics[0].help


def test_errors_survive_pickling():
    error = failure(WRONG)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.diagnostics == error.diagnostics and again.code == error.code


def test_texts_that_are_no_programs():
    for text in ["\n", "a\nb", "\x00\n\x00", "@R.function\ndef", "class X:\n  pass\n", "(" * 5000 + "\n", "é\n" * 100]:
        assert failure(text).diagnostics, text
    with pytest.raises(UnicodeEncodeError):
        hammock.parse("\ud800\n")


WARNED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        return y
"""


def test_weights_that_fit_no_parameter_are_a_warning():
    import numpy

    weights = {"x": numpy.zeros(4, "float32"), "nowhere": numpy.zeros(3, "float32")}
    with pytest.warns(hammock.CompileWarning, match="nowhere") as caught:
        hammock.parse(WARNED, params=weights)
    assert caught[0].filename == __file__
    assert caught[0].message.diagnostics[0].severity == "warning"
    with warnings.catch_warnings():
        warnings.simplefilter("error", hammock.CompileWarning)
        with pytest.raises(hammock.CompileWarning):
            hammock.parse(WARNED, params=weights)
    assert len(hammock.parse(WARNED)) == 1
