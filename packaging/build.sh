#!/usr/bin/env bash
# Builds everything that packages contain, and puts it into a folder: the programs, the runner of stand-alone programs, and
# the libraries for C.
#
#     packaging/build.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?a folder for the files}
built=${CARGO_TARGET_DIR:-target}/release

cargo build --locked --release -p hammock -p hammock-tools
cargo rustc --locked --release -p hammock-capi --features cuda --crate-type cdylib,staticlib -- -Clink-arg=-Wl,-soname,libhammock.so.0
mkdir -p "$folder"
for file in hammock hammock-run libhammock.so; do
    strip -o "$folder/$file" "$built/$file"
done
strip --strip-debug -o "$folder/libhammock.a" "$built/libhammock.a"
runtime/runner/build.sh "$folder"
