"""Compiling: what may be compiled, options, limits, interruption."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

import hammock

TEXT = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    with R.dataflow():
        y = R.matmul(x, w)
        z = R.nn.relu(y)
        R.output(z)
    return z
"""

X = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
W = numpy.linspace(2, -1, 16, dtype="float32").reshape(4, 4)
Y = numpy.maximum(X @ W, 0)


def check(model, *args):
    numpy.testing.assert_allclose(model(X, *args), Y, rtol=1e-5, atol=1e-6)


def test_every_form_of_a_text_is_compiled(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    for model in [TEXT, path, str(path), hammock.parse(TEXT)]:
        check(hammock.compile(model), W)
        check(hammock.compile(model, params={"w": W}))


@pytest.mark.parametrize(
    "options",
    [
        {"opt_level": 0},
        {"opt_level": 3, "strict_order": True},
        {"target": "x86-64-v2", "threads": 1},
        {"multi_version": True},
        {"multi_version": ["x86-64-v2", "x86-64-v3"]},
        {"exec_mode": "compiled"},
        {"exec_mode": "compiled=main"},
        {"bounds": "unchecked", "cache": False},
        {"tune": 0.2, "tune_sizes": {"n": 3}},
        {"compile_timeout": 600, "timeout": 10, "max_memory": 1 << 30},
    ],
    ids=str,
)
def test_options(options):
    check(hammock.compile(TEXT, params={"w": W}, **options))


def test_quantization_is_close():
    w = numpy.random.default_rng(1).standard_normal((256, 256)).astype("float32")
    text = TEXT.replace("4), ", "256), ").replace("(4, ", "(256, ")
    notes = []
    model = hammock.compile(text, params={"w": w}, quantize="int8", quantize_group=32, progress=notes.append)
    x = numpy.random.default_rng(2).standard_normal((3, 256)).astype("float32")
    numpy.testing.assert_allclose(model(x), numpy.maximum(x @ w, 0), atol=0.6)
    assert not numpy.array_equal(model(x), hammock.compile(text, params={"w": w})(x))
    assert any("int8" in note for note in notes), notes
    with pytest.warns(hammock.CompileWarning, match="nothing quantized"):
        hammock.compile(TEXT, params={"w": W}, quantize="int8")


def test_tuned_plans_are_kept_in_a_file(tmp_path):
    plans = tmp_path / "tuned.txt"
    texts = []
    hammock.compile(TEXT, tune=0.2, tune_file=plans, progress=texts.append)
    assert plans.read_text() and any(text.startswith("tuning") for text in texts)
    check(hammock.compile(TEXT, tune_file=plans), W)
    with pytest.raises(FileNotFoundError):
        hammock.compile(TEXT, tune_file=tmp_path / "missing.txt")


def test_the_path_of_the_output_is_absolute(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name in ["model.so", "-"]:
        pickled = pickle.dumps(hammock.compile(TEXT, output=name))
        monkeypatch.chdir("/")
        assert pickle.loads(pickled).path == tmp_path / name
        monkeypatch.chdir(tmp_path)
    assert capfd.readouterr().out == ""


def test_the_output_is_a_file_that_loads(tmp_path):
    path, weights = tmp_path / "model.so", tmp_path / "model.safetensors"
    w = numpy.random.default_rng(1).standard_normal((64, 64)).astype("float32")
    text = TEXT.replace("4), ", "64), ").replace("(4, ", "(64, ")
    x = numpy.ones((2, 64), "float32")
    model = hammock.compile(text, params={"w": w}, output=path, external_weights=weights)
    assert model.path == path or str(model.path) == str(path)
    assert weights.stat().st_size > w.nbytes / 2 and path.exists()
    numpy.testing.assert_allclose(model(x), hammock.load(path)(x))
    numpy.testing.assert_allclose(model(x), numpy.maximum(x @ w, 0), rtol=1e-4, atol=1e-4)
    for wrong in [tmp_path / "w.npz", tmp_path / "other" / "w.safetensors", path]:
        with pytest.raises(ValueError, match="external_weights"):
            hammock.compile(text, params={"w": w}, output=path, external_weights=wrong)
    with pytest.raises(ValueError, match="needs `output`"):
        hammock.compile(text, external_weights=weights)
    with pytest.raises(hammock.CompileError, match="cannot"):
        hammock.compile(TEXT, output=tmp_path / "no" / "model.so")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"opt_level": 4}, ValueError, "`opt_level` is 0 to 3, not 4"),
        ({"opt_level": "2"}, TypeError, "`opt_level`"),
        ({"threads": 0}, ValueError, "`threads`"),
        ({"threads": -1}, ValueError, "`threads`"),
        ({"threads": 1 << 70}, TypeError, "`threads`"),
        ({"target": 3}, TypeError, "`target`"),
        ({"target": "i386"}, hammock.CompileError, "i386"),
        ({"quantize": "int3"}, ValueError, "`quantize`"),
        ({"quantize_group": 32}, ValueError, "`quantize_group`"),
        ({"exec_mode": "jit"}, hammock.CompileError, "jit"),
        ({"exec_mode": "reference"}, ValueError, "reference"),
        ({"bounds": "maybe"}, ValueError, "`bounds`"),
        ({"strict_order": "yes"}, TypeError, "`strict_order`"),
        ({"libs": ["cublas"]}, hammock.CompileError, "cublas"),
        ({"libs": ["mkl"], "target": "cuda"}, hammock.CompileError, "mkl"),
        ({"libs": 3}, TypeError, "`libs`"),
        ({"allow_tf32": True}, ValueError, "`allow_tf32`"),
        ({"cache": "no"}, TypeError, "`cache`"),
        ({"plans": "/nowhere"}, FileNotFoundError, "plans"),
        ({"tune": 0}, ValueError, "`tune`"),
        ({"tune": 1, "target": "x86-64-v3"}, ValueError, "`tune`"),
        ({"tune_sizes": {"n": 0}}, ValueError, "`tune_sizes`"),
        ({"tune_sizes": "n"}, TypeError, "`tune_sizes`"),
        ({"multi_version": 3}, TypeError, "`multi_version`"),
        ({"multi_version": ["z80"]}, hammock.CompileError, "z80"),
        ({"multi_version": True, "target": "x86-64-v3"}, ValueError, "`multi_version`"),
        ({"shapes": {"x": (1, 4)}}, ValueError, "`shapes`"),
        ({"overridable": ["x"]}, ValueError, "`overridable`"),
        ({"overridable": "x"}, TypeError, "`overridable` is a list"),
        ({"overridable": 3}, TypeError, "`overridable` is a list"),
        ({"compile_timeout": 0}, ValueError, "`compile_timeout`"),
        ({"compile_timeout": True}, TypeError, "`compile_timeout`"),
        ({"timeout": -1}, ValueError, "`timeout`"),
        ({"returns": "list"}, ValueError, "`returns`"),
        ({"params": {"w": numpy.zeros((3, 3), "float32")}}, hammock.CompileError, "w"),
        ({"params": {"w": object()}}, TypeError, "dtype"),
        ({"params": "/nowhere.npz"}, FileNotFoundError, "nowhere.npz"),
        ({"params": 3}, TypeError, "`params`"),
        ({"nothing": 3}, TypeError, "nothing"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options, error, match):
    with pytest.raises(error, match=match):
        hammock.compile(TEXT, **options)


def test_what_cannot_be_compiled(tmp_path):
    for model in [None, 3, object(), numpy.zeros(3), [TEXT]]:
        with pytest.raises(TypeError, match="`model`"):
            hammock.compile(model)
    with pytest.raises(FileNotFoundError):
        hammock.compile("model.onnx.missing")
    with pytest.raises(hammock.CompileError):
        hammock.compile(b"\x00\x01\x02")
    with pytest.raises(TypeError, match="already"):
        hammock.compile(hammock.parse(TEXT), module="Module")
    path = tmp_path / "model.so"
    hammock.compile(TEXT).save(path)
    with pytest.raises(hammock.CompileError, match="compiled"):
        hammock.compile(path)


def many_kernels(count):
    """A program with `count` different kernels, which takes seconds to compile."""
    lines = [
        f"    x{i + 1} = R.nn.softmax(R.reshape(x{i}, R.shape([{i + 2}, {i + 3}])), axis=-1)" for i in range(count)
    ]
    params = ", ".join(f'x{i}: R.Tensor(({(i + 2) * (i + 3)},), "float32")' for i in range(count))
    body = [line.replace(f"x{i + 1} =", f"y{i} =") for i, line in enumerate(lines)]
    results = ", ".join(f"y{i}" for i in range(count))
    return f"@R.function\ndef main({params}):\n" + "\n".join(body) + f"\n    return ({results})\n"


def test_a_time_limit_stops_the_compiler():
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="time limit"):
        hammock.compile(many_kernels(300), compile_timeout=0.1, cache=False)
    assert time.monotonic() - start < 30
    check(hammock.compile(TEXT), W)


def test_exceptions_of_progress_stop_the_compiler():
    def stop(text):
        raise KeyError(text)

    with pytest.raises(KeyError, match="reading the model"):
        hammock.compile(TEXT, progress=stop)
    texts = []
    hammock.compile(TEXT, progress=texts.append)
    assert texts[0] == "reading the model" and "compiling kernels" in texts


def test_ctrl_c_stops_the_compiler():
    def interrupt():
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    began = []

    def progress(text):
        if text == "compiling kernels":
            began.append(time.monotonic())
            thread.start()

    with pytest.raises(KeyboardInterrupt):
        hammock.compile(many_kernels(300), cache=False, progress=progress)
    assert time.monotonic() - began[0] < 30
    thread.join()
    check(hammock.compile(TEXT), W)


def test_other_threads_run_while_models_are_compiled():
    results = [None] * 4

    def work(at):
        results[at] = hammock.compile(TEXT, params={"w": W}, threads=1, cache=False)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    ticks = 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ticks += 1
        time.sleep(0.0002)
    assert ticks > 20
    for model in results:
        check(model)


def test_a_thread_that_cannot_start_is_an_exception():
    script = """
        import resource, hammock
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (128 << 20), resource.RLIM_INFINITY))
        try:
            hammock.parse("x\\n")
        except RuntimeError as error:
            print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert "cannot start a thread for the compiler" in run.stdout, run.stderr
