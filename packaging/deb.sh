#!/usr/bin/env bash
# Packages what packaging/build.sh built for Debian, and prints the package's path.
#
#     packaging/deb.sh FOLDER OUTPUT_FOLDER
#
# DPKG_DEB_FLAGS are further flags of dpkg-deb, such as those of the compression.
set -euo pipefail
built=$(realpath "${1:?the folder of packaging/build.sh}")
output=$(realpath "${2:?a folder for the package}")
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
triple=$(gcc -print-multiarch 2>/dev/null || true)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
DESTDIR=$stage packaging/stage.sh "$built" /usr "lib/${triple:-$(uname -m)-linux-gnu}"

# The packages of the shared libraries that the programs are linked with.
owner() { dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}" 2>/dev/null || dpkg -S "/usr$1" 2>/dev/null || true; }
needed=$(for file in "$built"/hammock "$built"/hammock-run "$built"/libhammock.so; do
    objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | while read -r name; do
        ldd "$file" | awk -v name="$name" '$1 == name && $3 ~ /^\// { print $3 }'
    done
done | sort -u | xargs realpath | while read -r library; do
    owner "$library" | head -n 1 | cut -d: -f1
done | sort -u | paste -sd, | sed 's/,/, /g')

mkdir -p "$stage/DEBIAN"
cat > "$stage/DEBIAN/control" <<EOF
Package: hammock
Version: $version
Architecture: $architecture
Maintainer: The Hammock developers <hammock@localhost>
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Depends: $needed
Section: devel
Priority: optional
Description: compiler and runtime for machine-learning models
 Hammock compiles ONNX models and TVMScript to small, self-contained shared
 libraries and programs.
EOF
package=$output/hammock_${version}_$architecture.deb
# shellcheck disable=SC2086
dpkg-deb ${DPKG_DEB_FLAGS:-} --root-owner-group --build "$stage" "$package" >/dev/null
echo "$package"
