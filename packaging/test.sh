#!/usr/bin/env bash
# Tests a package: unpacks it to a fresh prefix, and uses everything in it.
#
#     packaging/test.sh PACKAGE
set -euo pipefail
package=$(realpath "${1:?a package that packaging/deb.sh made}")
clone=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root/usr
mkdir -p "$work/root"
dpkg-deb -x "$package" "$work/root"
cd "$work"
digits=$clone/ir-examples/digits
export PATH=$root/bin:$PATH

hammock --version
model=("$digits/model.py" --params "$digits/weights.safetensors")
images=(--arg "@$digits/test.npz#images")
hammock compile "${model[@]}" -o digits.so
hammock-run run digits.so "${images[@]}" >/dev/null
hammock compile "${model[@]}" -o digits --emit exe
./digits "${images[@]}" >/dev/null
ldd digits | grep -q "statically linked"
hammock compile "${model[@]}" -o digits.h --emit c-header

library=$(dirname "$(find "$root" -name libhammock.so)")
pc=$library/pkgconfig/hammock.pc
sed -i "s|^prefix=.*|prefix=$root|" "$pc"
flags() { sed -n "s|^$1: ||p" "$pc" | sed "s|\${libdir}|$library|g; s|\${includedir}|$root/include|g"; }
# shellcheck disable=SC2046
cc -DDIGITS_FILE='"digits.so"' -I. $(flags Cflags) "$digits/digits.c" $(flags Libs) -Wl,-rpath,"$library" -o shared
# shellcheck disable=SC2046
cc -DDIGITS_FILE='"digits.so"' -I. $(flags Cflags) "$digits/digits.c" "$library/libhammock.a" $(flags Libs.private) -o static
for program in shared static; do
    "./$program" | grep -qx '2 images, the second is a 1'
done
readelf -d shared | grep -q 'NEEDED.*libhammock\.so'
for page in hammock hammock-compile hammock-run; do
    zcat "$root/share/man/man1/$page.1.gz" | grep -q '^\.SH NAME'
done
bash -n "$root/share/bash-completion/completions/hammock"
"$clone/packaging/glibc_floor.sh" "$root/bin/hammock" "$root/bin/hammock-run" "$library/libhammock.so"
