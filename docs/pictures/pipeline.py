#!/usr/bin/env python3
"""Draws pipeline.svg: how a model becomes a file and runs, with the command that shows each stage.

    python3 docs/pictures/pipeline.py > docs/pictures/pipeline.svg
"""
from style import FONT, svg

WIDTH, BOX, GAP, TOP, HEIGHT = 1000, 136, 30, 34, 62
CODE = "font-family='ui-monospace,Menlo,Consolas,monospace'"

# Title, what it holds, the command that prints it, colour.
STAGES = [
    ("Model", "TVMScript or ONNX", "hammock inspect", "c0"),
    ("IR module", "Relax + TIR", "hammock opt", "c2"),
    ("Passes", "fusion, layout, memory", "opt --print-after", "c2"),
    ("Plans", "a loop nest per kernel", "opt --print-plans", "c2"),
    ("Machine code", "kernels and bytecode", "compile --emit asm", "c1"),
    ("One file", "model.so", "hammock compile", "c3"),
]


def text(x, y, content, size, extra):
    return f"<text x='{x}' y='{y}' font-size='{size}' text-anchor='middle' {extra}>{content}</text>"


def box(x, y, width, title, detail, color):
    return [
        f"<rect x='{x}' y='{y}' width='{width}' height='{HEIGHT}' rx='8' class='{color}'/>",
        text(x + width / 2, y + 27, title, 15, f"{FONT} font-weight='600' class='on'"),
        text(x + width / 2, y + 46, detail, 11, f"{FONT} class='on'"),
    ]


def arrow(x1, y1, x2, y2):
    return [f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' class='edge' marker-end='url(#head)'/>"]


def main():
    out = [
        "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0 8 4 0 8z' class='arrow'/></marker></defs>",
    ]
    left = (WIDTH - len(STAGES) * BOX - (len(STAGES) - 1) * GAP) / 2
    for i, (title, detail, command, color) in enumerate(STAGES):
        x = left + i * (BOX + GAP)
        out += box(x, TOP, BOX, title, detail, color)
        out.append(text(x + BOX / 2, TOP + HEIGHT + 20, command, 11, f"{CODE} class='muted'"))
        if i:
            out += arrow(x - GAP + 2, TOP + HEIGHT / 2, x - 3, TOP + HEIGHT / 2)
    last = left + (len(STAGES) - 1) * (BOX + GAP)
    y = 152
    out += arrow(last + BOX / 2, TOP + HEIGHT + 30, last + BOX / 2, y - 4)
    out += box(last, y, BOX, "Runtime", "VM and thread pool", "c3")
    caption = "runs it from the command line, C or C++: no Python, no framework, no compiler"
    out.append(
        f"<text x='{last - 14}' y='{y + 36}' font-size='12' text-anchor='end' {FONT} class='muted'>"
        f"<tspan {CODE} class='muted'>hammock-run</tspan> {caption}</text>"
    )
    print(svg(WIDTH, 232, "From a model to a running program", out))


main()
