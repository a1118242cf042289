#!/usr/bin/env bash
# Builds hammock-runner, which `hammock compile --emit exe` appends models to, small and linked statically, and puts it
# next to the release build of `hammock`. Fails if it has grown beyond its limit.
#
# It needs Rust's target for static programs, `rustup target add x86_64-unknown-linux-musl`, and no C compiler. A panic
# ends the program without a backtrace, so the tables for unwinding are left out, as is the unwinder (src/no_unwinder.rs).
set -euo pipefail
cd "$(dirname "$0")/../.."

limit=1240000
target=x86_64-unknown-linux-musl
built=${CARGO_TARGET_DIR:-target}
folder=${1:-$built/release}

export RUSTFLAGS="-Cforce-unwind-tables=no -Clinker=rust-lld -Clinker-flavor=ld.lld -Clink-arg=--pack-dyn-relocs=relr \
    -Clink-arg=--no-eh-frame-hdr -Clink-arg=-T -Clink-arg=$PWD/runtime/runner/no_unwind_tables.ld"
cargo build --locked -q --profile runner -p hammock-runner --target $target

mkdir -p "$folder"
install -m 755 "$built/$target/runner/hammock-runner" "$folder/hammock-runner"
size=$(stat -c %s "$folder/hammock-runner")
echo "$folder/hammock-runner: $size bytes (limit $limit)"
test "$size" -le $limit
