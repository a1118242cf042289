#!/usr/bin/env bash
# Builds everything that is linked statically, LLVM and the C library included, packages it for any Linux on x86-64, and prints
# the package's path. The programs have no version of glibc that they need; GPUs need the other packages.
#
#     packaging/tarball.sh OUTPUT_FOLDER
#
# PROFILE is the profile of the programs and the library, `release` by default. On Debian it needs llvm-22-dev,
# libpolly-22-dev, libffi-dev, libzstd-dev and zlib1g-dev.
set -euo pipefail
output=$(realpath "${1:?a folder for the package}")
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu
profile=${PROFILE:-release}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
files=${profile/#dev/debug}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=hammock-$version-x86_64-linux
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# The linker prefers shared libraries for what LLVM needs: it searches this folder first, which has none. LLVM's list also has
# two libraries that nothing which Hammock uses of LLVM calls.
archives=$built/static/archives
mkdir -p "$archives"
for library in stdc++ z zstd ffi; do ln -sf "$(realpath "$(g++ -print-file-name=lib$library.a)")" "$archives/lib$library.a"; done
for unused in z3 xml2; do ar rc "$archives/lib$unused.a"; done

# Nothing resolves weak symbols when such a program starts, so those that nothing defines must be null as it is linked.
flags="-Ctarget-feature=+crt-static -Lnative=$archives -Clink-arg=-Wl,-z,nodynamic-undefined-weak"
RUSTFLAGS=$flags cargo build --locked --profile "$profile" --target $target --target-dir "$built/static" \
    -p hammock -p hammock-tools --no-default-features --features hammock/cranelift,hammock/llvm-static
cargo rustc --locked --profile "$profile" -p hammock-capi --features cuda --crate-type staticlib
mkdir "$stage/built"
for file in hammock hammock-run; do strip -o "$stage/built/$file" "$built/static/$target/$files/$file"; done
strip --strip-debug -o "$stage/built/libhammock.a" "$built/$files/libhammock.a"
runtime/runner/build.sh "$stage/built" >&2

packaging/stage.sh "$stage/built" "$stage/$name"
tar -C "$stage" --owner=0 --group=0 --sort=name -cJf "$output/$name.tar.xz" "$name"
echo "$output/$name.tar.xz"
