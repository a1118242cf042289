#!/usr/bin/env bash
# Builds libhammock.so and libhammock.a small, with some features: without profiles, reflection, modules, KV caches,
# strings, ... (see Cargo.toml) unless they are named, or `full` is.
#
#     runtime/capi/build-small.sh [FEATURE...]
#
# It needs nothing but stable Rust. A panic becomes an InternalError, as in other builds. Frame pointers make the tables for
# unwinding smaller by a third; equal functions share their code.
set -euo pipefail
cd "$(dirname "$0")/../.."

export RUSTFLAGS="-Cforce-frame-pointers=yes -Csymbol-mangling-version=v0 -Clink-arg=-Wl,--icf=all"
target=$(rustc -vV | sed -n 's/^host: //p')
cargo rustc --locked -q -p hammock-capi --profile small --target "$target" --no-default-features --features "$*" \
    --crate-type cdylib,staticlib

library=${CARGO_TARGET_DIR:-target}/$target/small/libhammock.so
ls -l "$library" "${library%.so}.a"
