#!/usr/bin/env python3
"""Draws pipeline.svg: how a model becomes a file and runs, with the command that shows each stage.

    python3 docs/pictures/pipeline.py > docs/pictures/pipeline.svg
"""

WIDTH, BOX, GAP, TOP, HEIGHT = 1000, 136, 30, 34, 62
FONT = "font-family='ui-sans-serif,system-ui,Helvetica,Arial,sans-serif'"
CODE = "font-family='ui-monospace,Menlo,Consolas,monospace'"

# Title, what it holds, the command that prints it, fill.
STAGES = [
    ("Model", "TVMScript or ONNX", "hammock inspect", "#e8eef7"),
    ("IR module", "Relax + TIR", "hammock opt", "#e8f3ec"),
    ("Passes", "fusion, layout, memory", "opt --print-after", "#e8f3ec"),
    ("Plans", "a loop nest per kernel", "opt --print-plans", "#e8f3ec"),
    ("Machine code", "kernels and bytecode", "compile --emit asm", "#fbf1e0"),
    ("One file", "model.so", "hammock compile", "#f5e8ef"),
]


def text(x, y, content, size, extra):
    return f"<text x='{x}' y='{y}' font-size='{size}' text-anchor='middle' {extra}>{content}</text>"


def box(x, y, width, title, detail, fill):
    return [
        f"<rect x='{x}' y='{y}' width='{width}' height='{HEIGHT}' rx='8' fill='{fill}' stroke='#49566b'/>",
        text(x + width / 2, y + 27, title, 15, f"{FONT} font-weight='600' fill='#1d2733'"),
        text(x + width / 2, y + 46, detail, 11, f"{FONT} fill='#49566b'"),
    ]


def arrow(x1, y1, x2, y2):
    return [f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='#49566b' stroke-width='1.6' marker-end='url(#head)'/>"]


def main():
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} 232' width='{WIDTH}' height='232'>",
        "<title>From a model to a running program</title>",
        "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0 8 4 0 8z' fill='#49566b'/></marker></defs>",
        f"<rect width='{WIDTH}' height='232' fill='white'/>",
    ]
    left = (WIDTH - len(STAGES) * BOX - (len(STAGES) - 1) * GAP) / 2
    for i, (title, detail, command, fill) in enumerate(STAGES):
        x = left + i * (BOX + GAP)
        out += box(x, TOP, BOX, title, detail, fill)
        out.append(text(x + BOX / 2, TOP + HEIGHT + 20, command, 11, f"{CODE} fill='#7a3b00'"))
        if i:
            out += arrow(x - GAP + 2, TOP + HEIGHT / 2, x - 3, TOP + HEIGHT / 2)
    last = left + (len(STAGES) - 1) * (BOX + GAP)
    y = 152
    out += arrow(last + BOX / 2, TOP + HEIGHT + 30, last + BOX / 2, y - 4)
    out += box(last, y, BOX, "Runtime", "VM and thread pool", "#f5e8ef")
    caption = "runs it from the command line, C or C++: no Python, no framework, no compiler"
    out.append(
        f"<text x='{last - 14}' y='{y + 36}' font-size='12' text-anchor='end' {FONT} fill='#49566b'>"
        f"<tspan {CODE} fill='#7a3b00'>hammock-run</tspan> {caption}</text>"
    )
    out.append("</svg>")
    print("\n".join(out))


main()
