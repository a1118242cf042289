"""Models in other processes and interpreters: pickled, forked, spawned; sub-interpreters."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import hammock

TEXT = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    y = R.multiply(x, R.const(2, "float32"))
    return y
"""

X = np.array([1, 2, 3], "float32")


@pytest.fixture(scope="module")
def model():
    return hammock.compile(TEXT)


@pytest.fixture
def loaded(model, tmp_path):
    model.save(tmp_path / "model.so")
    return hammock.load(tmp_path / "model.so")


def test_a_loaded_model_is_pickled_by_path(loaded):
    data = pickle.dumps(loaded)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again.path == loaded.path
    np.testing.assert_array_equal(again(X), 2 * X)
    os.remove(loaded.path)
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_paths_are_absolute(loaded, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    relative = hammock.load("model.so")
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(relative))(X), 2 * X)


def test_saving_replaces_a_file(model, tmp_path, monkeypatch):
    """Other processes may have it mapped: what they see stays."""
    monkeypatch.chdir(tmp_path)
    for name in ["model.so", "-"]:
        (tmp_path / name).write_bytes(b"old")
        with open(tmp_path / name, "rb") as old:
            model.save(name)
            assert old.read() == b"old"
        np.testing.assert_array_equal(hammock.load(tmp_path / name)(X), 2 * X)
    assert sorted(os.listdir(tmp_path)) == ["-", "model.so"]
    with pytest.raises(OSError, match="missing"):
        model.save("missing/model.so")


def test_a_compiled_model_is_pickled_by_bytes(model):
    again = pickle.loads(pickle.dumps(model))
    assert again.path is None
    np.testing.assert_array_equal(again(X), 2 * X)


def test_options_are_pickled(model, tmp_path):
    model.save(tmp_path / "model.so")
    model = hammock.load(tmp_path / "model.so", returns="tensor", timeout=1e-9, max_memory=1 << 30)
    with pytest.raises(TimeoutError):
        pickle.loads(pickle.dumps(model))(X)
    limited = pickle.loads(pickle.dumps(model.with_limits(timeout=60)))
    assert isinstance(limited(X), hammock.Tensor)
    with pytest.raises(TypeError, match="interrupt"):
        pickle.dumps(model.with_limits(interrupt=hammock.Interrupt()))
    with pytest.raises(TypeError):
        pickle.dumps(hammock.Interrupt())


def test_functions_of_models_are_pickled(model):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model.main))(X), 2 * X)


def test_damaged_pickles_are_refused(model):
    for contents in [b"", b"no model", "/no/such/file"]:
        with pytest.raises((ValueError, OSError)):
            hammock._hammock._unpickle(contents, "numpy", None, None)


def call(model, queue):
    queue.put(model(X).tolist())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("kind", ["model", "loaded"])
def test_processes_call_models(method, kind, request):
    model = request.getfixturevalue(kind)
    model(X)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=call, args=(model, queue))
    process.start()
    assert queue.get(timeout=60) == (2 * X).tolist()
    process.join(timeout=60)
    assert process.exitcode == 0


def in_a_child(body):
    """Runs `body` in a forked child; returns its exit status, or None if it hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = body() or 0
        finally:
            os._exit(status)
    timer = threading.Timer(30, os.kill, (child, signal.SIGKILL))
    timer.start()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    timer.cancel()
    return status


def test_children_handle_signals():
    """The thread that requests checks of signals does not exist in a child, which starts its own."""
    endless = hammock.compile("""
@I.ir_module
class Module:
    @R.function
    def again(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        y = R.add(x, x)
        z = Module.again(y)
        return z

    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        y = Module.again(x)
        return y
""")

    def interrupted():
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            endless(np.float32(1))
        except KeyboardInterrupt:
            return 7

    for _ in range(2):
        assert in_a_child(interrupted) == 7
        assert interrupted() == 7


def test_children_of_busy_parents_call_models(model):
    """Forks while other threads run the model, and within a callback."""
    is_over = threading.Event()

    def run():
        while not is_over.is_set():
            model(X)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        assert in_a_child(lambda: int(model(X).sum() != 12)) == 0
    is_over.set()
    for thread in threads:
        thread.join()
    nested = hammock.convert(lambda: in_a_child(lambda: int(model(X).sum() != 12)))
    assert nested() == 0


def test_sub_interpreters_are_refused():
    program = """
import hammock
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
interpreters.run_string(interpreters.create(), '''
try:
    import hammock
except ImportError as error:
    print("refused:", error, flush=True)
''')
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    if "No module named" in done.stderr:
        pytest.skip("this Python has no sub-interpreters")
    assert "refused: " in done.stdout and "interpreters" in done.stdout, done.stdout + done.stderr
