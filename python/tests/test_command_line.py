"""The command line of the package: it behaves as the program does."""

import os
import signal
import subprocess
import sys
import time

import pytest

import hammock

HAMMOCK = [sys.executable, "-m", "hammock"]

ENDLESS = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        return Module.main(x)
"""


ABSOLUTE = """
from tvm.script import relax as R

@R.function
def main(x: R.Tensor((2,), "float32")):
    return R.abs(x)
"""


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HAMMOCK, *arguments], capture_output=True, text=True, timeout=60, **options)


def test_negative_answers_do_not_end_the_process(tmp_path, capfd):
    path = tmp_path / "model.py"
    path.write_text(ABSOLUTE)
    assert hammock._hammock.main(["hammock", "check", "--json", str(path)]) == 0
    path.write_text(ABSOLUTE.replace("R.abs", "R.ab"))
    assert hammock._hammock.main(["hammock", "check", "--json", str(path)]) == 1
    path.write_text(ABSOLUTE.replace("  return", "    return"))
    assert hammock._hammock.main(["hammock", "fmt", "--check", str(path)]) == 1
    assert capfd.readouterr().out.endswith(f"]\n{path}\n")


def test_version_and_usage_name_the_program():
    assert run("-V").stdout == f"hammock {hammock.__version__}\n"
    assert run("--version").stdout.startswith(f"hammock {hammock.__version__}\nLLVM ")
    wrong = run("no-such-command")
    assert wrong.returncode == 2 and wrong.stdout == ""
    assert (
        "no-such-command" in wrong.stderr
        and "Usage: python -m hammock" in wrong.stderr
        and "Traceback" not in wrong.stderr
    )


def test_status_of_a_failure_is_1(tmp_path):
    missing = run("run", "missing.py", cwd=tmp_path)
    assert missing.returncode == 1 and missing.stdout == ""
    assert "missing.py" in missing.stderr and "Traceback" not in missing.stderr


def test_arguments_that_are_not_utf_8_are_wrong_usage():
    wrong = subprocess.run([*HAMMOCK, "check", b"\xff.py"], capture_output=True, timeout=60)
    assert wrong.returncode == 2 and b"UTF-8" in wrong.stderr and b"Traceback" not in wrong.stderr


def test_standard_input_and_output(tmp_path):
    result = run("run", "-", "--arg", "[-1, 2]:float32", input=ABSOLUTE, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "float32[2]\n[1.0 2.0]\n"


def test_a_closed_pipe_ends_the_command_quietly():
    with subprocess.Popen([*HAMMOCK, "ops"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command(tmp_path, number):
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS)
    arguments = ["run", str(file), "--arg", "1:int64"]
    with subprocess.Popen([*HAMMOCK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        try:
            wait_for_cpu_time(command)
            command.send_signal(number)
            assert command.wait(10) == -number
            assert command.stderr.read() == b""
        finally:
            command.kill()


def wait_for_cpu_time(command: subprocess.Popen) -> None:
    """Waits until the command has computed for a second: it is past the start of Python and runs the model."""
    ticks = os.sysconf("SC_CLK_TCK")
    while command.poll() is None:
        with open(f"/proc/{command.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        if int(fields[11]) + int(fields[12]) > ticks:
            return
        time.sleep(0.05)
    raise AssertionError(f"the command ended by itself: {command.stderr.read()!r}")


def test_the_script_calls_the_same_function():
    script = "import sys; from hammock.__main__ import main; sys.exit(main())"
    result = subprocess.run([sys.executable, "-c", script, "-V"], capture_output=True, text=True, timeout=60)
    assert result.stdout == f"hammock {hammock.__version__}\n"
