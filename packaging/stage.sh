#!/usr/bin/env bash
# Installs what packaging/build.sh built below a prefix: programs, libraries, headers, files for pkg-config and CMake, manual
# pages and completions. With DESTDIR, the files are below that folder, for a package.
#
#     [DESTDIR=STAGE] packaging/stage.sh FOLDER PREFIX [LIBRARY_FOLDER]
#
# LIBRARY_FOLDER is relative to the prefix: `lib` by default, `lib/x86_64-linux-gnu` in packages of Debian.
set -euo pipefail
built=$(realpath "${1:?the folder of packaging/build.sh}")
prefix=${2:?a prefix such as /usr/local}
libraries=${3:-lib}
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
to=${DESTDIR:-}$prefix
if ! mkdir -p "$to" 2>/dev/null || [ ! -w "$to" ]; then
    echo "error: $to cannot be written; name another prefix, or run this as its owner" >&2
    exit 1
fi

install -D -t "$to/bin" "$built/hammock" "$built/hammock-run"
install -D -t "$to/lib/hammock" "$built/hammock-runner"
if [ -f "$built/libhammock.so" ]; then # The tarball has only the static library.
    install -D -m 644 "$built/libhammock.so" "$to/$libraries/libhammock.so.0"
    ln -sf libhammock.so.0 "$to/$libraries/libhammock.so"
fi
install -D -m 644 -t "$to/$libraries" "$built/libhammock.a"
install -D -m 644 -t "$to/include" runtime/include/hammock.h runtime/include/hammock.hpp
install -D -m 644 -t "$to/share/doc/hammock" README.md LICENSE

# From the folder of hammock.pc to the prefix, so that the whole can be moved.
up=$(realpath -ms --relative-to="/$libraries/pkgconfig" /)
for file in pkgconfig/hammock.pc cmake/hammock/hammock-config.cmake; do
    mkdir -p "$to/$libraries/$(dirname "$file")"
    sed -e "s|@TO_PREFIX@|$up|; s|@LIBRARIES@|$libraries|; s|@VERSION@|$version|" "packaging/$(basename "$file").in" \
        > "$to/$libraries/$file"
done

"$built/hammock" man-pages "$to/share/man/man1"
gzip -9nf "$to"/share/man/man1/hammock*.1
for program in hammock hammock-run; do
    completions() { "$built/hammock" completions "$1" --of "$program"; }
    mkdir -p "$to/share/bash-completion/completions" "$to/share/zsh/site-functions" "$to/share/fish/vendor_completions.d"
    completions bash > "$to/share/bash-completion/completions/$program"
    completions zsh > "$to/share/zsh/site-functions/_$program"
    completions fish > "$to/share/fish/vendor_completions.d/$program.fish"
done
