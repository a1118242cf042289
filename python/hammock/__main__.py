"""The command line: `python -m hammock`, and the script `hammock` (`hammock-run` in the package `hammock-runtime`)."""

import os
import signal
import sys

from hammock._hammock import main as _run


def main() -> int:
    """Runs the command line with the arguments of the process; returns the exit status."""
    # Python would only notice Ctrl-C after the command; by default, it ends the process, as it ends the program.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    program = os.path.basename(sys.argv[0])
    return _run(["python -m hammock" if program == "__main__.py" else program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
