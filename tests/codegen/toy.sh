#!/bin/sh
# A code generator: reads a module, and prints an object in which each function adds `factor` times its first argument to
# its second. The argument is `{"factor": 3}`; the default is 2.
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
