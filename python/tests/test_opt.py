"""Passes: those of the compiler, in Python, and both in one list."""

import numpy
import pytest

import hammock
from hammock import transform

TEXT = """@R.function
def main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
    with R.dataflow():
        a = R.exp(x)
        b = R.exp(x)
        c = R.add(a, b)
        R.output(c)
    return c
"""


@pytest.fixture
def module():
    return hammock.parse(TEXT)


def values(module):
    return [binding.value for binding in module["main"].bindings]


def test_passes_run_in_order(module):
    after = hammock.opt(module, ["EliminateCommonSubexpr", "CanonicalizeBindings"])
    assert values(after) == ["R.exp(x)", "R.add(a, a)"]
    assert values(module) == ["R.exp(x)", "R.exp(x)", "R.add(a, b)"]
    assert hammock.structural_equal(after, hammock.opt(TEXT, "EliminateCommonSubexpr,CanonicalizeBindings"))


def test_options_are_given_in_three_forms(module):
    prepared = hammock.opt(module, "LegalizeOps,AnnotateTIROpPattern")
    forms = [
        ["FuseOps{fuse_opt_level=0}"],
        [("FuseOps", {"fuse_opt_level": 0})],
        [transform.FuseOps(fuse_opt_level=0)],
        transform.FuseOps(fuse_opt_level=0),
    ]
    results = [hammock.opt(prepared, form) for form in forms]
    assert all(hammock.structural_equal(results[0], result) for result in results)
    assert not hammock.structural_equal(results[0], hammock.opt(prepared, "FuseOps"))


def test_a_level_lowers_to_the_vm(module):
    calls = "\n".join(values(hammock.opt(module, opt_level=2)))
    assert "vm.builtin" in calls or "vm.alloc_tensor" in calls, calls
    with pytest.warns(hammock.CompileWarning, match="nothing quantized"):
        hammock.opt(module, opt_level=2, quantize="int8")
    with pytest.raises(TypeError, match="opt_level"):
        hammock.opt(module, quantize="int8")
    with pytest.raises(TypeError, match="`threads`"):
        hammock.opt(module, threads="2")
    with pytest.raises(ValueError, match="0 to 3"):
        hammock.opt(module, opt_level=4)


def exp_to_sigmoid(module):
    return module.script().replace("R.exp", "R.sigmoid")


def test_a_pass_in_python_runs_between_others(module):
    seen = []

    def look(module):
        seen.append(values(module))
        return module

    after = hammock.opt(module, ["EliminateCommonSubexpr,CanonicalizeBindings", look, exp_to_sigmoid, "LegalizeOps"])
    assert seen == [["R.exp(x)", "R.add(a, a)"]]
    assert set(after) == {"add", "tir_sigmoid", "main"}


def test_compiled_models_use_passes_in_python():
    x = numpy.linspace(-1, 1, 64, dtype="float32").reshape(8, 8)
    model = hammock.compile(TEXT, passes=["EliminateCommonSubexpr", exp_to_sigmoid, "CanonicalizeBindings"])
    assert numpy.allclose(model(x), 2 / (1 + numpy.exp(-x)), rtol=1e-6)
    only = hammock.compile(TEXT, passes=exp_to_sigmoid)
    assert numpy.allclose(only(x), 2 / (1 + numpy.exp(-x)), rtol=1e-6)


def test_constants_survive_passes_that_return_text():
    text = TEXT.replace('"float32")) ->', '"float32"), w: R.Tensor((8, 8), "float32")) ->').replace(
        "R.add(a, b)", "R.add(a, w)"
    )
    w = numpy.arange(64, dtype="float32").reshape(8, 8)
    brief = lambda module: str(module)  # noqa: E731
    x = numpy.zeros((8, 8), "float32")
    assert numpy.array_equal(hammock.compile(text, params={"w": w}, passes=[brief])(x), w + 1)


def test_exceptions_of_passes_are_raised_as_they_are(module):
    class Own(Exception):
        pass

    def fail(_):
        raise Own("mine")

    with pytest.raises(Own, match="mine"):
        hammock.opt(module, ["Normalize", fail])
    with pytest.raises(Own):
        hammock.compile(module, passes=[fail])


@pytest.mark.parametrize("result", [None, 3, b"text", ["a"]])
def test_what_passes_return_is_a_module(module, result):
    def nonsense(_):
        return result

    with pytest.raises(TypeError, match="the pass `nonsense` returned"):
        hammock.opt(module, [nonsense])


def test_what_passes_return_is_verified(module):
    def broken(module):
        return module.script().replace("R.add(a, b)", "R.add(a, undefined)")

    with pytest.raises(hammock.CompileError) as found:
        hammock.opt(module, [broken])
    assert "the pass `broken`" in found.value.__notes__[0]
    assert found.value.span.file == "<returned by broken>"


def test_unknown_passes_and_options_are_found_before_any_runs(module):
    def never(_):
        raise AssertionError("it ran")

    for wrong, match in [("FuseOpz", "FuseOps"), ("FuseOps{speed=3}", "speed"), (("FuseOps", {"speed": 3}), "speed")]:
        with pytest.raises(hammock.CompileError, match=match):
            hammock.opt(module, [never, wrong])
        with pytest.raises(hammock.CompileError, match=match):
            hammock.compile("/nowhere", passes=[never, wrong])
    for wrong in [3, [3], [None], [("FuseOps",)], [("FuseOps", 3)], [(3, {})]]:
        with pytest.raises(TypeError):
            hammock.opt(module, wrong)
    with pytest.raises(TypeError, match="fuse_opt_level"):
        hammock.opt(module, [("FuseOps", {"fuse_opt_level": object()})])


def test_an_error_of_a_pass_names_it():
    module = hammock.parse(TEXT.replace("R.exp(x)", "R.nn.relu(x)"))
    with pytest.raises(hammock.CompileError) as found:
        hammock.opt(module, ["Normalize", "VMShapeLower", ("BindSymbolicVars", {"binding_map": {"q": 3}})])
    assert "BindSymbolicVars" in str(found.value)


def test_passes_are_listed():
    listed = {info.name: info for info in hammock.passes()}
    fuse = listed["FuseOps"]
    assert fuse.doc and any(option.name == "fuse_opt_level" and option.doc for option in fuse.options)
    for name in ("FuseOps", "LegalizeOps", "UnrollLoop"):
        assert name in dir(transform) and getattr(transform, name)().name.endswith(name)
        assert getattr(transform, name).__doc__
    with pytest.raises(AttributeError):
        transform.FuseOpz  # noqa: B018
    with pytest.raises(hammock.CompileError, match="has no option"):
        transform.FuseOps(speed=3)


def test_passes_are_callables(module):
    both = transform.Sequential([transform.EliminateCommonSubexpr(), transform.CanonicalizeBindings()])
    assert values(both(module)) == values(hammock.opt(module, [both])) == ["R.exp(x)", "R.add(a, a)"]


def test_progress_and_time(module):
    texts = []
    hammock.opt(module, ["Normalize", exp_to_sigmoid], opt_level=0, progress=texts.append)
    assert "pass exp_to_sigmoid" in texts and "pass VMShapeLower" in texts
    with pytest.raises(TimeoutError):
        hammock.opt(module, opt_level=2, timeout=1e-9)

    class Own(Exception):
        pass

    def fail(_):
        raise Own

    with pytest.raises(Own):
        hammock.opt(module, opt_level=2, progress=fail)
