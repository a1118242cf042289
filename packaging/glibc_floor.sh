#!/usr/bin/env bash
# Prints the version of glibc that programs and libraries need; those that are linked statically need none.
#
#     packaging/glibc_floor.sh FILE...
set -euo pipefail
for file in "$@"; do
    floor=$(objdump -T "$file" 2>/dev/null | { grep -o 'GLIBC_[0-9.]*' || true; } | sort -uV | tail -n 1)
    echo "$(basename "$file"): ${floor:-no glibc}"
done
