#!/usr/bin/env bash
# Tests a package: unpacks it to a fresh prefix, and uses everything in it. It needs a C compiler, pkg-config and CMake.
#
#     packaging/test.sh PACKAGE.deb|PACKAGE.tar.xz
set -euo pipefail
package=$(realpath "${1:?a package that packaging/deb.sh made}")
clone=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root"
case $package in
    *.deb) dpkg-deb -x "$package" "$work/root" ;;
    *) tar -C "$work/root" -xf "$package" ;;
esac
root=$(echo "$work"/root/*)
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

# C programs, built with pkg-config and with CMake, and linked with each of the libraries.
library=$(dirname "$(find "$root" -name libhammock.a)")
export PKG_CONFIG_PATH=$library/pkgconfig
source=("-DDIGITS_FILE=\"digits.so\"" -I. "$digits/digits.c")
read -ra private <<< "$(sed -n 's/^Libs.private: //p' "$library/pkgconfig/hammock.pc")"
read -ra headers <<< "$(pkg-config --cflags hammock)"
cc "${headers[@]}" "${source[@]}" "$library/libhammock.a" "${private[@]}" -o static
programs=(static cmake/static)
if [ -e "$library/libhammock.so" ]; then
    read -ra shared <<< "$(pkg-config --libs hammock)"
    cc "${headers[@]}" "${source[@]}" "${shared[@]}" -Wl,-rpath,"$library" -o shared
    readelf -d shared | grep -q 'NEEDED.*libhammock\.so'
    programs+=(shared cmake/shared)
fi
mkdir cmake
cat > cmake/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.18)
project(digits C)
find_package(hammock REQUIRED)
foreach(library static shared)
  if(library STREQUAL static)
    set(target hammock::static)
  else()
    set(target hammock::hammock)
  endif()
  if(TARGET \${target})
    add_executable(\${library} "$digits/digits.c")
    target_compile_definitions(\${library} PRIVATE "DIGITS_FILE=\"digits.so\"")
    target_include_directories(\${library} PRIVATE "$work")
    target_link_libraries(\${library} PRIVATE \${target})
  endif()
endforeach()
EOF
cmake -S cmake -B cmake -Dhammock_DIR="$library/cmake/hammock" >/dev/null
cmake --build cmake >/dev/null
for program in "${programs[@]}"; do
    "./$program" | grep -qx '2 images, the second is a 1'
done

for page in hammock hammock-compile hammock-run; do
    zcat "$root/share/man/man1/$page.1.gz" | grep -q '^\.SH NAME'
done
bash -n "$root/share/bash-completion/completions/hammock"
if [ -e "$library/libhammock.so" ]; then
    "$clone/packaging/glibc_floor.sh" "$root/bin/hammock" "$root/bin/hammock-run" "$library/libhammock.so"
    exit
fi

# The programs of the tarball run in a root that has no other file, not even a C library.
"$clone/packaging/glibc_floor.sh" "$root/bin/hammock" "$root/bin/hammock-run" | tee floors
test "$(grep -c 'no glibc' floors)" = 2
alone=$work/alone
mkdir -p "$alone/tmp"
cp -r "$root/bin" "$root/lib" "$digits/model.py" "$digits/weights.safetensors" "$digits/test.npz" "$alone"
if [ "$(id -u)" = 0 ]; then enter=(chroot); else enter=(unshare -r chroot); fi
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HAMMOCK_CACHE=/tmp/cache "${enter[@]}" "$alone" "$@"; }
inside /bin/hammock compile /model.py --params /weights.safetensors -o /digits.so
# Without /proc, a program cannot know where it is, so the runner next to it is named.
inside /bin/hammock compile /model.py --params /weights.safetensors -o /digits --emit exe --runner /lib/hammock/hammock-runner
for program in "/bin/hammock-run run /digits.so" "/bin/hammock run /digits.so" /digits; do
    # shellcheck disable=SC2086
    inside $program --func accuracy --arg @/test.npz#images --arg @/test.npz#labels | grep -qx '0.9777778 (float32)'
done
