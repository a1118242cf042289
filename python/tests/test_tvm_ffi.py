"""Values and functions to and from the package `tvm_ffi`, where it is installed."""

import numpy as np
import pytest

import hammock

tvm_ffi = pytest.importorskip("tvm_ffi")

TEXT = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    y = R.call_dps_packed("test.tvm_ffi.scale", (x,), out_sinfo=R.Tensor(("n",), "float32"))
    return y
"""

X = np.array([1, 2, 3], "float32")


def test_tensors_cross():
    theirs = tvm_ffi.from_dlpack(X.copy())
    ours = hammock.Tensor(theirs)
    np.testing.assert_array_equal(ours.numpy(), X)
    back = tvm_ffi.from_dlpack(ours)
    ours.numpy()[0] = 9
    assert np.from_dlpack(theirs)[0] == 9 and np.from_dlpack(back)[0] == 9


def test_models_take_their_tensors():
    hammock.register_global_func("test.tvm_ffi.scale", lambda x, out: np.multiply(x, 2, out), override=True)
    model = hammock.compile(TEXT)
    np.testing.assert_array_equal(model(tvm_ffi.from_dlpack(X)), 2 * X)
    hammock.remove_global_func("test.tvm_ffi.scale")


def test_their_functions_are_called_by_models():
    @tvm_ffi.register_global_func("test.tvm_ffi.theirs", override=True)
    def scale(x, out):
        np.from_dlpack(out)[:] = np.from_dlpack(x) * 3

    hammock.register_global_func("test.tvm_ffi.scale", tvm_ffi.get_global_func("test.tvm_ffi.theirs"), override=True)
    np.testing.assert_array_equal(hammock.compile(TEXT)(X), 3 * X)
    hammock.remove_global_func("test.tvm_ffi.scale")


def test_our_functions_are_called_by_them():
    ours = hammock.convert(lambda x, y: x + y)
    theirs = tvm_ffi.convert(ours)
    assert theirs(1, 2) == 3
    result = theirs(tvm_ffi.from_dlpack(X), tvm_ffi.from_dlpack(X))
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * X)


def test_shapes_and_strings_cross():
    same = hammock.convert(lambda *values: values)
    shape, text = same(tvm_ffi.Shape((2, 3)), tvm_ffi.convert("a text that is not short"))
    assert shape == (2, 3) and text == "a text that is not short"
    model = hammock.compile("""
@R.function
def main(x: R.Tensor((6,), "float32"), s: R.Shape(["m", "k"])) -> R.Tensor(("m", "k"), "float32"):
    m, k = T.int64(), T.int64()
    y = R.reshape(x, R.shape([m, k]))
    return y
""")
    assert model(np.arange(6, dtype="float32"), tvm_ffi.Shape((2, 3))).shape == (2, 3)


def test_exceptions_cross():
    class Fault(Exception):
        pass

    def fail():
        raise Fault("theirs")

    with pytest.raises(Exception, match="theirs"):
        hammock.convert(tvm_ffi.convert(fail))()
    with pytest.raises(Exception, match="theirs"):
        tvm_ffi.convert(hammock.convert(fail))()


@pytest.mark.parametrize("kind", [TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError])
def test_classes_of_exceptions_cross(kind):
    def fail():
        raise kind("theirs")

    for f in [hammock.convert(tvm_ffi.convert(fail)), tvm_ffi.convert(hammock.convert(fail))]:
        with pytest.raises(kind, match="theirs"):
            f()


def test_devices_of_theirs():
    from hammock.device import to_device

    assert to_device(tvm_ffi.device("cpu")) == hammock.cpu()
    assert to_device(tvm_ffi.device("cuda", 1)) == hammock.cuda(1)
