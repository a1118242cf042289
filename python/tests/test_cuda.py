"""Models on CUDA devices: each test runs in a process whose driver is the emulator of the tests."""

import inspect
import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest

import hammock

MODULE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor(("n", 4), "float32"):
        y = R.multiply(x, w)
        z = R.add(y, w)
        return z

    @R.function
    def same(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return x
"""

SEVERAL_DEVICES = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm:0"), w: R.Tensor((4,), "float32", "cuda:1")):
        y = R.to_vdevice(R.add(x, x), "cuda:1")
        z = R.to_vdevice(R.multiply(y, w), "cuda:0")
        return R.add(z, z)
"""

_module = os.path.realpath(hammock._hammock.__file__)
EMULATOR = pathlib.Path(_module).parent / "deps" / "libhammock_cuda_emulator.so"


def run(folder: pathlib.Path, program: Callable[[], None], **variables: str) -> str:
    """Runs a function of this file in a process of its own, with the emulator; returns what it prints."""
    if not EMULATOR.exists():
        pytest.skip("the emulator of the CUDA driver is not built")
    if not (folder / "libcuda.so.1").exists():
        (folder / "libcuda.so.1").symlink_to(EMULATOR)
    return in_process(program, LD_LIBRARY_PATH=str(folder), **variables)


def in_process(program: Callable[[], None], **variables: str) -> str:
    body = textwrap.dedent("\n".join(inspect.getsource(program).splitlines()[1:]))
    text = "import numpy as np, hammock, pytest\nfrom test_cuda import MODULE\n" + body
    path = os.pathsep.join([*sys.path, os.path.dirname(__file__)])
    emulated = {f"CUDA_EMULATOR_{name}" if name != "LD_LIBRARY_PATH" else name: value for name, value in variables.items()}
    environment = {**os.environ, "PYTHONPATH": path, **emulated}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def arrays_are_copied_to_the_device() -> None:
    x, w = np.arange(8, dtype="float32").reshape(2, 4), np.full(4, 2, "float32")
    model = hammock.compile(MODULE, target="cuda")
    assert model.device == "cuda:0" and hammock.cuda().exist and not hammock.cuda(9).exist
    result = model(x, w)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, x * 2 + 2)
    np.testing.assert_array_equal(model([[1, 2, 3, 4]], w=w), [[4, 6, 8, 10]])
    assert hammock.compile(MODULE, target="cuda:sm_80", device="cuda:1").device == "cuda:1"
    profile = model.profile(x, w, number=1)
    assert any(row.kind == "kernel" and row.device > 0 for row in profile.rows)


def tensors_of_the_device_are_borrowed() -> None:
    import cuda_driver

    x, w = np.arange(8, dtype="float32").reshape(2, 4), np.full(4, 2, "float32")
    model = hammock.compile(MODULE, target="cuda", returns="tensor")
    own = cuda_driver.Array(x)
    result = model(own, w)
    assert own.streams == [1], "its work comes before that of the legacy default stream"
    assert result.device == "cuda:0" and result.__dlpack_device__() == (2, 0)
    assert result.tolist() == (x * 2 + 2).tolist() == result.cpu().numpy().tolist()
    for wrong in [lambda: result.numpy(), lambda: np.asarray(result), lambda: memoryview(result)]:
        with pytest.raises((TypeError, BufferError)):
            wrong()
    # Without a copy, in both directions.
    assert own.address_in(model.same(own)) and own.address_in(hammock.Tensor(own))
    assert not own.address_in(model.same(x))
    # A result is an argument of the next call.
    np.testing.assert_array_equal(model(result, w).cpu().numpy(), (x * 2 + 2) * 2 + 2)
    with pytest.raises(BufferError, match="0 is no stream"):
        result.__dlpack__(stream=0)
    copy = result.__dlpack__(stream=-1, copy=True)
    assert '"dltensor"' in repr(copy)
    # Elements that are not contiguous are copied.
    columns = cuda_driver.Array(x.T, strides=[1, 2])
    columns.shape = (type(columns.shape))(2, 4)
    np.testing.assert_array_equal(model.same(columns).cpu().numpy(), x.T.reshape(4, 2).T)


def tensors_of_other_devices_are_refused() -> None:
    import cuda_driver

    x, w = np.zeros((2, 4), "float32"), np.ones(4, "float32")
    here, there = cuda_driver.Array(x), cuda_driver.Array(x, 1)
    model = hammock.compile(MODULE, target="cuda")
    expected = r"main\(\), parameter `x`: expected float32\[n, 4\]: the tensor is on cuda:1, and the model runs on cuda:0"
    with pytest.raises(ValueError, match=expected):
        model(there, w)
    with pytest.raises(ValueError, match="the tensor is on cuda:0, and the model runs on cpu:0: copy it there"):
        hammock.compile(MODULE)(here, w)


def models_use_several_devices() -> None:
    import pickle

    import cuda_driver
    from test_cuda import SEVERAL_DEVICES as text

    x, w = np.arange(4, dtype="float32"), np.full(4, 3, "float32")
    model = hammock.compile(text, target="cuda")
    for given in [w, cuda_driver.Array(w, 1)]:
        np.testing.assert_array_equal(model(x, given), 12 * x)
    with pytest.raises(ValueError, match="parameter `w`: .*the tensor is on cuda:0, and the model runs on cuda:1"):
        model(x, cuda_driver.Array(w))
    swapped = hammock.compile(text, target="cuda", device="cuda:1,cuda:0")
    assert swapped.device == "cuda:1"
    for other in [swapped, pickle.loads(pickle.dumps(swapped))]:
        np.testing.assert_array_equal(other(x, cuda_driver.Array(w)), 12 * x)
    with pytest.raises(ValueError, match="the program uses 2 devices, and has 1 to run on"):
        hammock.compile(text, target="cuda", device="cuda:0")


def files_are_loaded_for_a_device() -> None:
    import pickle, tempfile

    x, w = np.zeros((2, 4), "float32"), np.ones(4, "float32")
    file = tempfile.mkdtemp() + "/model.so"
    hammock.compile(MODULE, target="cuda").save(file)
    assert hammock.load(file).device == "cuda:0"
    model = hammock.load(file, device=hammock.cuda(1))
    np.testing.assert_array_equal(model(x, w), np.ones((2, 4)))
    again = pickle.loads(pickle.dumps(model))
    assert again.device == "cuda:1"
    vm = hammock.relax.VirtualMachine(file, "cuda:1")
    assert vm["main"](x, w).device == "cuda:1"
    with pytest.raises(ValueError, match="there is no device cuda:7: there are 2 CUDA devices, cuda:0 to cuda:1"):
        hammock.load(file, device="cuda:7")
    with pytest.raises(ValueError, match="kernels are compiled for CUDA devices, and it cannot run on cpu:0"):
        hammock.load(file, device="cpu")
    with pytest.raises(ValueError, match="`gpu` is not a device"):
        hammock.load(file, device="gpu")
    hammock.compile(MODULE).save(file)
    with pytest.raises(ValueError, match="kernels are compiled for the CPU, and it cannot run on cuda:0"):
        hammock.load(file, device="cuda")
    with pytest.raises(MemoryError, match="on cuda:0 would exceed the limit of 1048576 "):
        hammock.compile(MODULE, target="cuda", max_memory=1 << 20)(np.zeros((1 << 18, 4), "float32"), w)


def old_devices_are_refused() -> None:
    model = hammock.compile(MODULE, target="cuda:sm_80")
    with pytest.raises(ValueError, match=r"compiled for sm_80, and cuda:0 \(CUDA emulator 0 \(sm_75\)\) is sm_75"):
        model(np.zeros((2, 4), "float32"), np.ones(4, "float32"))


def machines_without_a_driver() -> None:
    assert not hammock.cuda().exist
    with pytest.raises(RuntimeError, match="there is no NVIDIA driver: the library libcuda.so.1 is missing"):
        hammock.compile(MODULE, target="cuda")


def test_arrays_are_copied_to_the_device(tmp_path: pathlib.Path) -> None:
    run(tmp_path, arrays_are_copied_to_the_device)


def test_tensors_of_the_device_are_borrowed(tmp_path: pathlib.Path) -> None:
    run(tmp_path, tensors_of_the_device_are_borrowed)


def test_tensors_of_other_devices_are_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, tensors_of_other_devices_are_refused)


def test_models_use_several_devices(tmp_path: pathlib.Path) -> None:
    run(tmp_path, models_use_several_devices)


def test_files_are_loaded_for_a_device(tmp_path: pathlib.Path) -> None:
    run(tmp_path, files_are_loaded_for_a_device)


def test_old_devices_are_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, old_devices_are_refused, CAPABILITY="7.5")


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a driver")
def test_machines_without_a_driver() -> None:
    in_process(machines_without_a_driver)


def test_targets_are_checked() -> None:
    with pytest.raises(hammock.CompileError, match="there is no GPU architecture `sm_52`"):
        hammock.compile(MODULE, target="cuda:sm_52")
    with pytest.raises(ValueError, match="`multi_version` names the CPUs"):
        hammock.compile(MODULE, target="cuda", multi_version=True)
