"""Times calls of tiny models from Python: against ONNX Runtime, and against the same calls through the C API.

    python call.py [--capi FOLDER] [--seconds SECONDS] [--threads THREADS]

`FOLDER` has the release build of `libhammock.so` (`cargo build --release -p hammock-capi`): a program in C is compiled
with `cc` and makes the same calls. Without ONNX Runtime, that race is left out. All run on one thread per call.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper

import hammock

FLOAT = onnx.TensorProto.FLOAT
# Duration of a batch of calls, in seconds: long for the clock, but short enough to run undisturbed on a busy machine.
BATCH = 1e-3


def onnx_model(nodes: list[onnx.NodeProto], inputs: list[str], shape: list[int]) -> bytes:
    """An ONNX model with float32 inputs of one shape, and the output `y`."""
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name in [*inputs, "y"]]
    one = helper.make_tensor("one", FLOAT, [], [1.0])
    graph = helper.make_graph(nodes, "main", values[:-1], values[-1:], [one])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def models() -> dict[str, tuple[bytes, list[str], list[int]]]:
    """The models by name, with their inputs."""
    node = helper.make_node
    fma = [node("Mul", ["a", "b"], ["t"]), node("Add", ["t", "c"], ["s"]), node("Add", ["s", "one"], ["y"])]
    layers = [node("MatMul", ["x", "x"], ["t"]), node("MatMul", ["t", "x"], ["s"]), node("Add", ["s", "one"], ["y"])]
    return {
        "x + 1 (16)": (onnx_model([node("Add", ["x", "one"], ["y"])], ["x"], [16]), ["x"], [16]),
        "a * b + c + 1 (16)": (onnx_model(fma, ["a", "b", "c"], [16]), ["a", "b", "c"], [16]),
        "x @ x @ x + 1 (128, 128)": (onnx_model(layers, ["x"], [128, 128]), ["x"], [128, 128]),
    }


def nanoseconds(call: Callable[[], Any], seconds: float) -> float:
    """The fastest time of a call."""
    call()
    begin = time.perf_counter()
    call()
    batch = max(1, min(200, int(BATCH / (time.perf_counter() - begin))))
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        fastest = min(fastest, (time.perf_counter() - begin) / batch)
    return fastest * 1e9


def rate(call: Callable[[], Any], threads: int, seconds: float) -> float:
    """Calls per second of some threads together."""
    counts = [0] * threads
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            call()
            counts[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - begin)


def in_c(
    program: pathlib.Path, library: pathlib.Path, shape: list[int], inputs: int, how: argparse.Namespace
) -> list[float]:
    """Nanoseconds per call, and calls per second, of the program in C."""
    sizes = [str(size) for size in shape]
    command = [program, library, str(inputs), str(how.threads), str(how.seconds), *sizes]
    return [float(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def compile_c(folder: pathlib.Path, into: pathlib.Path) -> pathlib.Path:
    """Compiles the program in C."""
    here = pathlib.Path(__file__).resolve()
    include = here.parents[2] / "runtime" / "include"
    program = into / "call"
    flags = ["-O2", f"-I{include}", str(folder / "libhammock.so"), "-lpthread", f"-Wl,-rpath,{folder}"]
    subprocess.run([os.environ.get("CC", "cc"), str(here.with_suffix(".c")), *flags, "-o", str(program)], check=True)
    return program


def onnx_runtime(model: bytes) -> Any:
    """A session of ONNX Runtime on one thread, or None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


def race(name: str, how: argparse.Namespace, folder: pathlib.Path, program: pathlib.Path | None) -> None:
    """Races one model, and prints a block of lines."""
    proto, inputs, shape = models()[name]
    source, library = folder / "model.onnx", folder / "model.so"
    source.write_bytes(proto)
    hammock.compile(source, threads=1).save(library)
    model = hammock.load(library)
    args = [np.ones(shape, np.float32) for _ in inputs]
    session, feeds = onnx_runtime(proto), dict(zip(inputs, args, strict=True))
    ours = nanoseconds(lambda: model(*args), how.seconds)
    print(f"{name}\n    Python                {ours:9.0f} ns")
    if program:
        c, c_rate = in_c(program, library, shape, len(inputs), how)
        print(f"    C                     {c:9.0f} ns   Python costs {ours - c:.0f} ns more")
    if session:
        theirs = nanoseconds(lambda: session.run(None, feeds), how.seconds)
        print(f"    ONNX Runtime, Python  {theirs:9.0f} ns   {theirs / ours:.1f} times as much")
    own_rate = rate(lambda: model(*args), how.threads, how.seconds)
    print(f"    {how.threads} threads, Python     {own_rate:9.0f} calls/s")
    if program:
        print(
            f"    {how.threads} threads, C          {c_rate:9.0f} calls/s   Python has {own_rate / c_rate:.2f} of that"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capi", type=pathlib.Path, help="folder of libhammock.so")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each measurement")
    parser.add_argument("--threads", type=int, default=8, help="number of threads that call at once")
    how = parser.parse_args()
    hammock.set_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(how.capi.resolve(), folder) if how.capi else None
        for model in models():
            race(model, how, folder, program)


if __name__ == "__main__":
    main()
