"""How long a call of the compiler may take, and what receives its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any


class Control:
    """A time limit in seconds for all steps of a call together, and a callable that gets a text for each stage."""

    def __init__(self, name: str, timeout: float | None, progress: Callable[[str], object] | None) -> None:
        if timeout is not None:
            if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
                raise TypeError(f"`{name}` is a number of seconds, not an object of class {type(timeout).__name__}")
            if not timeout > 0:
                raise ValueError(f"`{name}` is a positive number of seconds, not {timeout}")
        if progress is not None and not callable(progress):
            raise TypeError(f"`progress` is a callable that takes a text, not {progress!r}")
        self._end = None if timeout is None or math.isinf(timeout) else time.monotonic() + timeout
        self._progress = progress

    def step(self) -> dict[str, Any]:
        """The arguments of the next step: the seconds that are left, and the callable.

        Raises TimeoutError if no time is left.
        """
        left = None if self._end is None else self._end - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("compiling exceeded its time limit")
        return {"timeout": left, "progress": self._progress}

    def say(self, text: str) -> None:
        """Reports the progress."""
        if self._progress is not None:
            self._progress(text)
