"""The virtual machine under TVM's names, as TVM's documentation uses it."""

import numpy as np
import pytest

import hammock
import hammock as tvm
from hammock import relax

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        z = R.add(R.multiply(x, R.const(2, "float32")), y)
        return z

    @R.function
    def both(x: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        return (R.add(x, x), R.negative(x))

    @R.function(pure=False)
    def adder(x: R.Tensor((2,), "float32")) -> R.Object:
        @R.function
        def add(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z = R.add(x, y)
            return z
        return add
"""

X, Y = np.array([1, 2], "float32"), np.array([3, 4], "float32")


@pytest.fixture(scope="module")
def executable():
    return relax.build(MODULE, target="llvm")


@pytest.fixture
def vm(executable):
    return relax.VirtualMachine(executable, tvm.cpu())


def test_a_function_is_called(vm):
    result = vm["main"](hammock.Tensor(X), Y)
    assert isinstance(result, hammock.Tensor)
    np.testing.assert_array_equal(result.numpy(), 2 * X + Y)
    assert isinstance(vm["main"](x=X, y=Y), hammock.Tensor)
    with pytest.raises(AttributeError, match="did you mean `main`"):
        vm["mian"]


def test_modules_come_from_files_and_models(executable, tmp_path):
    path = tmp_path / "module.so"
    executable.export_library(path)
    for module in [path, str(path), hammock.load(path), executable]:
        vm = relax.VirtualMachine(module, "cpu", memory_cfg="naive")
        np.testing.assert_array_equal(vm["main"](X, Y).numpy(), 2 * X + Y)


def test_myadd():
    """TVM's first example of a packed function."""

    def callback(x, y):
        return x + y

    tvm.register_global_func("myadd", callback, override=True)
    myadd = tvm.get_global_func("myadd")
    assert myadd(1, 2) == 3
    vm = relax.VirtualMachine(
        relax.build("""
@R.function(pure=False)
def main(x: R.Prim("int64"), y: R.Prim("int64")) -> R.Prim("int64"):
    z = R.call_packed("myadd", x, y, ty_args=(R.Prim("int64"),))
    return z
""")
    )
    assert vm["main"](40, 2) == 42
    tvm.remove_global_func("myadd")


def test_callhello(capsys):
    """TVM's example of a function that receives a function."""

    @tvm.register_global_func("callhello", override=True)
    def callhello(f):
        f("hello world")

    f = tvm.get_global_func("callhello")
    f(tvm.convert(lambda message: print(message)))
    assert capsys.readouterr().out == "hello world\n"
    vm = relax.VirtualMachine(
        relax.build("""
@R.function(pure=False)
def main(f: R.Object) -> R.Object:
    z = R.call_packed("callhello", f, ty_args=(R.Object,))
    return z
""")
    )
    vm["main"](tvm.convert(print))
    assert capsys.readouterr().out == "hello world\n"
    tvm.remove_global_func("callhello")


def test_stateful_calls(vm):
    with pytest.raises(ValueError, match="not set"):
        vm.invoke_stateful("main")
    vm.set_input("main", X, Y)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), 2 * X + Y)
    vm.set_input("main", y=X, x=Y)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), 2 * Y + X)
    vm.set_input("both", X)
    vm.invoke_stateful("both")
    first, second = vm.get_outputs("both")
    np.testing.assert_array_equal([first.numpy(), second.numpy()], [2 * X, -X])
    with pytest.raises(TypeError, match="missing argument `y`"):
        vm.set_input("main", X)
    with pytest.raises(ValueError, match="no function `none`"):
        vm.set_input("none", X)
    with pytest.raises(ValueError, match="was not invoked"):
        vm.get_outputs("adder")


def test_machines_share_no_state(executable):
    one, other = (relax.VirtualMachine(executable, tvm.cpu()) for _ in range(2))
    one.set_input("main", X, Y)
    with pytest.raises(ValueError, match="not set"):
        other.invoke_stateful("main")


def test_saved_functions(vm):
    vm.save_function("main", "saved", X, y=Y)
    np.testing.assert_array_equal(vm["saved"]().numpy(), 2 * X + Y)
    vm.save_function("main", "silent", X, Y, include_return=False)
    assert vm["silent"]() is None
    assert vm.time_evaluator("saved", tvm.cpu())().mean > 0
    with pytest.raises(ValueError, match="itself has a function"):
        vm.save_function("main", "both", X, Y)
    with pytest.raises(TypeError, match="no arguments"):
        vm["saved"](1)


def test_functions_are_timed(vm):
    timed = vm.time_evaluator("main", tvm.cpu(), number=2, repeat=5)(X, Y)
    assert len(timed.results) == 5 and 0 < timed.min <= timed.median <= timed.max < 1
    np.testing.assert_allclose(timed.mean, np.mean(timed.results))
    np.testing.assert_allclose(timed.std, np.std(timed.results))
    np.testing.assert_allclose(timed.median, np.median(timed.results))
    assert "median" in str(timed)
    vm.set_input("main", X, Y)
    assert vm.time_evaluator("invoke_stateful", tvm.cpu())("main").mean > 0
    for wrong in [dict(number=0), dict(repeat=0), dict(number=-1), dict(min_repeat_ms="x")]:
        with pytest.raises(ValueError):
            vm.time_evaluator("main", tvm.cpu(), **wrong)(X, Y)
    result = relax.BenchmarkResult([3.0, 1.0, 2.0, 10.0])
    assert (result.median, result.mean, result.min, result.max) == (2.5, 4.0, 1.0, 10.0)


def test_instruments_see_and_skip_calls(vm):
    seen = []

    def instrument(function, name, before_run, result, *args):
        seen.append((name, before_run))
        if not name.startswith("vm.builtin"):
            assert all(isinstance(arg, hammock.Tensor) for arg in args)

    vm.set_instrument(instrument)
    np.testing.assert_array_equal(vm["main"](X, Y).numpy(), 2 * X + Y)
    kernels = [name for name, before in seen if before and not name.startswith("vm.builtin")]
    assert kernels and (kernels[0], False) in seen

    def skip(function, name, before_run, result, *args):
        return relax.VMInstrumentReturnKind.SKIP_RUN if name == kernels[0] else relax.VMInstrumentReturnKind.NO_OP

    vm.set_instrument(skip)
    vm["main"](X, Y)
    vm.set_instrument(None)
    np.testing.assert_array_equal(vm["main"](X, Y).numpy(), 2 * X + Y)
    with pytest.raises(TypeError, match="callable"):
        vm.set_instrument(7)


def test_errors_of_instruments_end_the_call(vm):
    thrown = KeyError("instrument")

    def fail(*_):
        raise thrown

    vm.set_instrument(fail)
    with pytest.raises(KeyError) as caught:
        vm["main"](X, Y)
    assert caught.value is thrown


def test_closures_are_called(vm):
    add = vm["adder"](X)
    np.testing.assert_array_equal(vm.invoke_closure(add, Y).numpy(), X + Y)
    assert isinstance(add(Y), hammock.Tensor)
    with pytest.raises(ValueError, match="parameter `y`: expected"):
        vm.invoke_closure(add, np.zeros(3, "float32"))


def test_devices():
    assert tvm.cpu() == tvm.Device("cpu") == tvm.Device("cpu:0") and hash(tvm.cpu()) == hash(tvm.Device("cpu", 0))
    assert str(tvm.cuda(1)) == "cuda:1" and (tvm.cuda(1).device_type, tvm.cuda(1).device_id) == (2, 1)
    assert tvm.cpu().exist and not tvm.cuda().exist and tvm.cpu() != tvm.cuda()
    assert eval(repr(tvm.cuda(1)), {"hammock": hammock}) == tvm.cuda(1)
    for bad in ["gpu", "cuda:", "cuda:x", "cuda:-1", ""]:
        with pytest.raises(ValueError):
            tvm.Device(bad)
    with pytest.raises(ValueError, match="two indices"):
        tvm.Device("cuda:1", 1)
    with pytest.raises(ValueError, match="index"):
        tvm.Device("cuda", -1)
    with pytest.raises(AttributeError):
        tvm.cpu().index = 1


def test_devices_without_kernels_are_refused(executable):
    for device in [tvm.cuda(), "cuda", [tvm.cuda(), tvm.cpu()]]:
        with pytest.raises(ValueError, match="compiled for the CPU"):
            relax.VirtualMachine(executable, device)
    with pytest.raises(ValueError, match="no device cpu:9"):
        relax.VirtualMachine(executable, tvm.cpu(9))
    with pytest.raises(TypeError, match="a device is"):
        relax.VirtualMachine(executable, 7)
    with pytest.raises(ValueError, match="memory_cfg"):
        relax.VirtualMachine(executable, tvm.cpu(), memory_cfg="big")


def test_targets_of_llvm():
    executable = relax.build(MODULE, target="llvm -mcpu=x86-64-v3 -num-cores=2")
    assert "main" in executable.model
    with pytest.raises(hammock.CompileError):
        relax.build(MODULE, target="cuda:sm_1")
