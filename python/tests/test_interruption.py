"""Ctrl-C, timeouts and interrupts while a model runs."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hammock

EXAMPLE = pathlib.Path(__file__).parents[2] / "ir-examples" / "control_flow.py"
ENDLESS = np.float32("inf")


@pytest.fixture(scope="module", params=["bytecode", "compiled"])
def endless(request, tmp_path_factory):
    """A model that never ends for infinity."""
    path = str(tmp_path_factory.mktemp("endless") / "model.so")
    command = ["hammock", "compile", str(EXAMPLE), "--exec-mode", request.param, "-o", path]
    assert hammock.main(command) == 0
    return hammock.load(path)


def interrupt_after(seconds):
    """Sends this process SIGINT later."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_ends_a_call(endless):
    for _ in range(2):
        interrupt_after(0.2)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt) as caught:
            endless(ENDLESS)
        assert time.monotonic() - begin < 2
        assert any("in count at" in note for note in caught.value.__notes__)
        assert endless(np.float32(1000)) == 10


def test_ctrl_c_ends_a_call_with_limits(endless):
    interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        endless.with_limits(timeout=60, interrupt=hammock.Interrupt())(ENDLESS)


def test_ctrl_c_ends_a_function_value(endless):
    f = hammock.convert(endless["main"])
    interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        f(np.array(ENDLESS))


def test_ctrl_c_ends_a_call_after_a_pause(endless):
    assert endless(np.float32(1)) == 1
    time.sleep(1.5)
    interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        endless(ENDLESS)


def test_handlers_run_during_a_call(endless):
    """A handler that returns lets the call go on."""
    times = []
    before = signal.signal(signal.SIGUSR1, lambda *_: times.append(time.monotonic()))
    try:
        begin = time.monotonic()
        sent = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        sent.start()
        with pytest.raises(TimeoutError):
            endless.with_limits(timeout=0.6)(ENDLESS)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(times) == 1 and times[0] - begin < 0.4


def test_handlers_may_call_the_model(endless):
    results = []
    before = signal.signal(signal.SIGUSR1, lambda *_: results.append(int(endless(np.float32(1000)))))
    try:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(TimeoutError):
            endless.with_limits(timeout=0.5)(ENDLESS)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert results == [10]


def test_timeouts_end_calls(endless):
    limited = endless.with_limits(timeout=0.1)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="time limit"):
        limited(ENDLESS)
    assert time.monotonic() - begin < 2
    assert limited(np.float32(8)) == 4 and limited.main(x=np.float32(8)) == 4
    with pytest.raises(TimeoutError):
        limited.with_limits(interrupt=hammock.Interrupt())(ENDLESS)
    for bad in [0, -1, float("nan"), float("inf")]:
        with pytest.raises(ValueError, match="timeout"):
            endless.with_limits(timeout=bad)


def test_interrupts_end_calls_of_other_threads(endless):
    interrupt = hammock.Interrupt()
    limited, caught = endless.with_limits(interrupt=interrupt), []

    def run():
        try:
            limited(ENDLESS)
        except hammock.CancelledError as error:
            caught.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    assert not interrupt.is_cancelled
    interrupt.cancel()
    for thread in threads:
        thread.join(timeout=10)
    assert len(caught) == 2 and interrupt.is_cancelled
    with pytest.raises(hammock.CancelledError):
        limited(np.float32(1))
    assert endless(np.float32(1)) == 1


def test_ctrl_c_in_a_callback():
    hammock.register_global_func("test.interruption.sleep", lambda: time.sleep(20), override=True)
    model = hammock.compile("""
@R.function(pure=False)
def main() -> R.Object:
    y = R.call_packed("test.interruption.sleep", ty_args=(R.Object,))
    return y
""")
    interrupt_after(0.2)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model()
    assert time.monotonic() - begin < 5


def run_python(text, *args):
    """Runs a program; returns its exit status and what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-X", "dev", "-c", text, *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_ctrl_c_ends_a_program(endless):
    program = """
import sys, hammock, numpy, threading, os, signal
model = hammock.load(sys.argv[1])
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
model(numpy.float32("inf"))
"""
    status, text = run_python(program, endless.path)
    assert status in (-signal.SIGINT, 130) and "KeyboardInterrupt" in text, (status, text)


def test_programs_end_while_threads_run_models(endless):
    """Daemon threads in a call, in calls one after the other, or in a callback, do not crash the interpreter at its end."""
    program = """
import sys, time, hammock, numpy, threading
model = hammock.load(sys.argv[1])
def endless():
    model(numpy.float32("inf"))
def many():
    while True:
        model(numpy.float32(1000))
def callback():
    while True:
        pass
targets = (endless, many, many, hammock.convert(callback))
threads = [threading.Thread(target=target, daemon=True) for target in targets]
[thread.start() for thread in threads]
time.sleep(0.2)
print("end")
"""
    for _ in range(2):
        status, text = run_python(program, endless.path)
        assert (status, text) == (0, "end\n")
