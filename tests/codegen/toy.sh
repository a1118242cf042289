#!/bin/sh
# A code generator: reads a module, and prints an object in which each of its functions adds `factor` times its first
# argument to its second. `{"factor": 3}` is its argument; it is 2 without.
set -e
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
factor=$(printf %s "$1" | sed -n 's/.*"factor":\([0-9.]*\).*/\1/p')
{
    cat "$here/toy.h"
    sed -n 's/^    def \([A-Za-z0-9_]*\)(.*/SCALED_ADD(\1)/p'
} > "$folder/toy.c"
grep -q '^SCALED_ADD' "$folder/toy.c" || { echo "there is no function" >&2; exit 1; }
cc -O2 -fPIC -fno-stack-protector -DFACTOR="${factor:-2}" -I "$here/../../runtime/include" -c "$folder/toy.c" -o "$folder/toy.o"
cat "$folder/toy.o"
