"""Programs as HTML with light highlighting, for notebooks."""

from __future__ import annotations

import html
import re

_COLORS = {
    "comment": "#7a8288",
    "string": "#3a7d44",
    "decorator": "#9a5bb5",
    "keyword": "#b0503a",
    "operator": "#2f6db5",
    "number": "#a3711a",
}
_TOKENS = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>\"\"\"(?s:.*?)\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<decorator>@[\w.]+)
    |(?P<keyword>\b(?:class|def|return|with|as|if|elif|else|for|in|while|pass|lambda|and|or|not|True|False|None)\b)
    |(?P<operator>\b[RTI]\.[\w.]+)
    |(?P<number>\b\d[\w.]*)""",
    re.VERBOSE,
)


def to_html(program: str) -> str:
    """A text module as a `<pre>` element."""
    parts, end = [], 0
    for token in _TOKENS.finditer(program):
        parts.append(html.escape(program[end : token.start()]))
        color = _COLORS[token.lastgroup or "comment"]
        parts.append(f'<span style="color:{color}">{html.escape(token.group())}</span>')
        end = token.end()
    parts.append(html.escape(program[end:]))
    return f'<pre style="line-height:1.3;overflow-x:auto">{"".join(parts)}</pre>'
