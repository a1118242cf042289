#!/usr/bin/env python3
"""Draws race.svg from race.csv: times relative to the best other runtime, shorter is faster.

    python3 docs/pictures/race.py > docs/pictures/race.svg
"""
import csv
import pathlib

ROW, LABEL, SCALE, TOP = 30, 200, 560, 44
FONT = "font-family='ui-sans-serif,system-ui,Helvetica,Arial,sans-serif'"
COLORS = ["#2f6fb0", "#9cc3e6"]


def main():
    lines = pathlib.Path(__file__).with_name("race.csv").read_text().splitlines()
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    height = TOP + ROW * len(rows) + 34
    width = LABEL + SCALE + 60
    bottom = TOP + ROW * len(rows)
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>",
        "<title>Time relative to the best other runtime</title>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
    ]
    for i, name in enumerate(header[1:]):
        x = LABEL + i * 110
        out.append(f"<rect x='{x}' y='14' width='12' height='12' fill='{COLORS[i]}'/>")
        out.append(f"<text x='{x + 18}' y='24' font-size='12' {FONT} fill='#1d2733'>{name}</text>")
    for tick in range(0, 6):
        x = LABEL + SCALE * tick / 5
        stroke = "#b03a2f" if tick == 5 else "#d9dee5"
        out.append(f"<line x1='{x}' y1='{TOP - 6}' x2='{x}' y2='{bottom}' stroke='{stroke}'/>")
        out.append(f"<text x='{x}' y='{bottom + 16}' font-size='11' text-anchor='middle' {FONT} fill='#49566b'>{tick / 5:.1f}</text>")
    out.append(f"<text x='{LABEL + SCALE}' y='{TOP - 12}' font-size='11' text-anchor='middle' {FONT} fill='#b03a2f'>best other runtime</text>")
    for i, (name, *values) in enumerate(rows):
        y = TOP + i * ROW
        out.append(f"<text x='{LABEL - 10}' y='{y + 17}' font-size='12' text-anchor='end' {FONT} fill='#1d2733'>{name}</text>")
        for j, value in enumerate(map(float, values)):
            top = y + 2 + j * 12
            out.append(f"<rect x='{LABEL}' y='{top}' width='{SCALE * value:.1f}' height='11' fill='{COLORS[j]}'/>")
            out.append(f"<text x='{LABEL + SCALE * value + 4:.1f}' y='{top + 9.5}' font-size='9' {FONT} fill='#49566b'>{value:.2f}</text>")
    out.append("</svg>")
    print("\n".join(out))


main()
