"""Diagnostics of the compiler: messages with a code, a location in the text, and advice."""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Span:
    """A range of a text. Lines and columns count from 1, columns in characters; the end is exclusive."""

    file: str | None
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file or '<text>'}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Label:
    """A location that a diagnostic is about. `primary` is true for that of the error, false for context."""

    message: str
    primary: bool
    span: Span | None


@dataclass(frozen=True)
class Fix:
    """A suggested change: `text` replaces what is in `span`."""

    text: str
    span: Span | None


@dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler.

    `severity` is "error", "warning" or "note"; `code` such as "E0201" is explained by `hammock explain CODE`; `span`
    is the location of the error, if it is one in a text; `help` has advice.
    """

    severity: str
    code: str
    message: str
    span: Span | None
    labels: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()

    @property
    def file(self) -> str | None:
        """The file."""
        return None if self.span is None else self.span.file

    @property
    def line(self) -> int | None:
        """The line, from 1."""
        return None if self.span is None else self.span.line

    @property
    def column(self) -> int | None:
        """The column in characters, from 1."""
        return None if self.span is None else self.span.column

    @property
    def end_line(self) -> int | None:
        """The line of the end."""
        return None if self.span is None else self.span.end_line

    @property
    def end_column(self) -> int | None:
        """The column after the last character."""
        return None if self.span is None else self.span.end_column

    def __str__(self) -> str:
        location = f"{self.span}: " if self.span else ""
        return f"{location}{self.severity}[{self.code}]: {self.message}"


class CompileError(Exception):
    """A model could not be read or compiled. It prints as the command line prints it, with the lines that are wrong."""

    diagnostics: list[Diagnostic]
    """All that was found, in the order of the text."""

    def __init__(self, text: str, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text, list(diagnostics))
        self.diagnostics = list(diagnostics)

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def code(self) -> str | None:
        """The code of the first error, such as "E0201"."""
        first = self._first()
        return None if first is None else first.code

    @property
    def span(self) -> Span | None:
        """The location of the first error."""
        first = self._first()
        return None if first is None else first.span

    def _first(self) -> Diagnostic | None:
        errors = (found for found in self.diagnostics if found.severity == "error")
        return next(errors, None)


class CompileWarning(UserWarning):
    """A model is valid, but probably not what was meant."""

    diagnostics: list[Diagnostic]
    """The warnings."""

    def __init__(self, text: str, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text, list(diagnostics))
        self.diagnostics = list(diagnostics)

    def __str__(self) -> str:
        return str(self.args[0])


for _class in (Span, Label, Fix, Diagnostic, CompileError, CompileWarning):
    _class.__module__ = "hammock"


def compile_error(text: str, found: str) -> CompileError:
    """The exception for diagnostics as text and as JSON."""
    return CompileError(text, _diagnostics(found))


def warn(text: str, found: str) -> None:
    """Warns at the line that called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(CompileWarning(text, _diagnostics(found)), stacklevel=level)


def _diagnostics(found: str) -> list[Diagnostic]:
    return [_diagnostic(entry) for entry in json.loads(found)]


def _diagnostic(entry: dict[str, Any]) -> Diagnostic:
    file = entry["file"]
    labels = (Label(label["message"], label["primary"], _span(file, label)) for label in entry["labels"])
    fixes = (Fix(fix["text"], _span(file, fix)) for fix in entry["fixes"])
    span = _span(file, entry)
    texts = entry["severity"], entry["code"], entry["message"]
    return Diagnostic(*texts, span, tuple(labels), tuple(entry["help"]), tuple(fixes))


def _span(file: str | None, location: dict[str, Any]) -> Span | None:
    if location["line"] is None:
        return None
    return Span(file, location["line"], location["column"], location["end_line"], location["end_column"])
