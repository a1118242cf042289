#!/usr/bin/env python3
"""Draws race.svg from race.csv: times relative to the best other runtime, shorter is faster.

    python3 docs/pictures/race.py > docs/pictures/race.svg
"""
import csv
import pathlib

from style import FONT, svg

ROW, LABEL, SCALE, TOP = 30, 200, 560, 44
COLORS = ["c0", "c1"]


def main():
    lines = pathlib.Path(__file__).with_name("race.csv").read_text().splitlines()
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    height = TOP + ROW * len(rows) + 34
    width = LABEL + SCALE + 60
    bottom = TOP + ROW * len(rows)
    out = []
    for i, name in enumerate(header[1:]):
        x = LABEL + i * 110
        out.append(f"<rect x='{x}' y='14' width='12' height='12' class='{COLORS[i]}'/>")
        out.append(f"<text x='{x + 18}' y='24' font-size='12' {FONT}>{name}</text>")
    for tick in range(0, 6):
        x = LABEL + SCALE * tick / 5
        line = "limit" if tick == 5 else "grid"
        out.append(f"<line x1='{x}' y1='{TOP - 6}' x2='{x}' y2='{bottom}' class='{line}'/>")
        out.append(f"<text x='{x}' y='{bottom + 16}' font-size='11' text-anchor='middle' {FONT} class='muted'>{tick / 5:.1f}</text>")
    out.append(f"<text x='{LABEL + SCALE}' y='{TOP - 12}' font-size='11' text-anchor='middle' {FONT}>best other runtime</text>")
    for i, (name, *values) in enumerate(rows):
        y = TOP + i * ROW
        out.append(f"<text x='{LABEL - 10}' y='{y + 17}' font-size='12' text-anchor='end' {FONT}>{name}</text>")
        for j, value in enumerate(map(float, values)):
            top = y + 2 + j * 12
            out.append(f"<rect x='{LABEL}' y='{top}' width='{SCALE * value:.1f}' height='11' class='{COLORS[j]}'/>")
            out.append(f"<text x='{LABEL + SCALE * value + 4:.1f}' y='{top + 9.5}' font-size='9' {FONT} class='muted'>{value:.2f}</text>")
    print(svg(width, height, "Time relative to the best other runtime", out))


main()
