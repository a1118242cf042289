#!/usr/bin/env python3
"""The size of libhammock.so, as build-small.sh builds it, with all features and with none, and of its parts.

    runtime/capi/sizes.py [--update]

Prints the sizes, and which parts grew since sizes.txt was written; --update writes it. Fails if a library exceeds its limit,
or if a function that a feature of it lacks is exported.

A part is a module of the runtime (`vm::run`; generic code of other crates counts for the module that instantiates it), the C
interface (`capi`), another crate (`std`, `gimli`), or a section of the file.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
RECORD = FOLDER / "sizes.txt"
LIMITS = {"full": 1_312_000, "none": 890_500}
SECTIONS = [".rodata", ".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".data.rel.ro", ".rela.dyn"]


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def build(features):
    """Builds the library with its symbols, and returns its path."""
    env = {**os.environ, "CARGO_PROFILE_SMALL_STRIP": "none"}
    listing = output(FOLDER / "build-small.sh", *features, env=env)
    return FOLDER.parent.parent / re.search(r"\S+libhammock\.so", listing)[0]


def part_of(symbol):
    """The part that a function belongs to, by its demangled name."""
    own = re.search(r"\bhammock_runtime((?:::[a-z_0-9]+)*)", symbol)
    if own:
        depth = 3 if own[1].startswith("::vm::builtins") else 2
        return "::".join(own[1].split("::")[1 : depth + 1]) or "lib"
    if re.search(r"^hammock_|\bhammock::", symbol):
        return "capi"
    crate = re.search(r"([a-z_0-9]+)::", symbol)
    return crate[1] if crate else "other"


def measure(library):
    """Bytes of the stripped library (`total`) and of its parts."""
    sizes = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "libhammock.so"
        output("strip", "-o", stripped, library)
        sizes["total"] = stripped.stat().st_size
    for line in output("size", "-A", library).splitlines():
        name, *rest = line.split() or [""]
        if name in SECTIONS:
            sizes["section " + name] = int(rest[0])
    for line in output("nm", "-S", "-C", library).splitlines():
        symbol = re.match(r"[0-9a-f]+ ([0-9a-f]+) [tTwW] (.*)", line)
        if symbol:
            name = re.sub(r"\[[0-9a-f]+\]", "", symbol[2])
            sizes[part_of(name)] += int(symbol[1], 16)
    return sizes


def exported(library):
    return set(re.findall(r" T (hammock_\w+)", output("nm", "-D", library)))


def main():
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    record = {(variant, part): int(size) for variant, size, part in (line.split(" ", 2) for line in lines)}
    found, is_small = {}, True
    for variant, features in [("full", ["full"]), ("none", [])]:
        library = build(features)
        for part, size in measure(library).items():
            found[variant, part] = size
        total, limit = found[variant, "total"], LIMITS[variant]
        print(f"libhammock.so with {variant if features else 'no'} features: {total} bytes (limit {limit})")
        is_small &= total <= limit
        if not features and exported(library) & {"hammock_profiler_new", "hammock_equal", "hammock_module"}:
            sys.exit("functions of features that are left out are exported")
    grown = {key: size - record.get(key, 0) for key, size in found.items() if record and size > record.get(key, 0)}
    for (variant, part), more in sorted(grown.items(), key=lambda entry: -entry[1]):
        print(f"{variant}: {part} grew by {more} bytes to {found[variant, part]}")
    if "--update" in sys.argv[1:]:
        ordered = sorted(found.items(), key=lambda entry: (entry[0][0], -entry[1], entry[0][1]))
        RECORD.write_text("".join(f"{variant} {size} {part}\n" for (variant, part), size in ordered))
    if not is_small:
        sys.exit("a library exceeds its limit")


main()
