#!/usr/bin/env bash
# Builds libhammock.so and libhammock.a as small as they get, and fails if the shared library is above 600 KB.
#
# Modules and reflection (the feature `objects`, 65 KB) are left out: programs that use them do not link.
#
# The standard library is compiled along (its source: `rustup component add rust-src`), without the code that prints
# backtraces of panics, and a panic ends the process: unlike in other builds it cannot become an error of the call. The
# compiler in use has to be asked for that with RUSTC_BOOTSTRAP. The library needs glibc 2.36 for its compact relocations.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 CARGO_PROFILE_SMALL_PANIC=abort
export RUSTFLAGS="-Cforce-unwind-tables=no -Clink-arg=-Wl,-z,pack-relative-relocs"
cargo rustc -p hammock-capi --no-default-features --profile small --crate-type cdylib,staticlib --target "$target" \
    -Zbuild-std=std,panic_abort -Zbuild-std-features=optimize_for_size

library=${CARGO_TARGET_DIR:-target}/$target/small/libhammock.so
ls -l "$library" "${library%.so}.a"
test "$(stat -c %s "$library")" -lt 600000
