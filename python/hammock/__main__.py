"""The command line: `python -m hammock`, and the script `hammock`."""

import sys

from hammock._hammock import main as _run


def main() -> int:
    """Runs the command line with the arguments of the process; returns the exit status."""
    return _run(["hammock", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
