#!/bin/sh
# Makes a folder with Debian's libraries for another machine and Meson's cross file beside them. Neither needs root or
# changes the system: the packages come through an apt with a separate state, which takes the system's sources, and are
# unpacked only.
#
#   tests/cross/sysroot.sh DIR MACHINE PACKAGE...
#
# MACHINE is aarch64 or s390x. DIR/root has the packages and their dependencies, DIR/run starts a program of that
# machine, DIR/cross.txt is the cross file. Where DIR has the same packages already, nothing is downloaded. Needs
# MACHINE-linux-gnu-gcc and qemu-MACHINE-static (or qemu-MACHINE).
set -eu
[ $# -gt 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; }
fail() {
    printf 'sysroot.sh: %s\n' "$*" >&2
    exit 2
}
case $2 in
aarch64) architecture=arm64 endian=little ;;
s390x) architecture=s390x endian=big ;;
*) fail "the machine is aarch64 or s390x, not '$2'" ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
machine=$2
shift 2
command -v "$machine-linux-gnu-gcc" >/dev/null || fail "there is no $machine-linux-gnu-gcc; install gcc-$machine-linux-gnu"
qemu=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") ||
    fail "there is no qemu-$machine; install qemu-user-static"
made="$(cksum <"$0") $machine $*" # by this version of the script
[ "$(cat "$dir/made" 2>/dev/null)" != "$made" ] || exit 0

rm -rf "$dir/root" "$dir/apt" "$dir/made"
mkdir -p "$dir/root" "$dir/apt/lists/partial" "$dir/apt/archives/partial"
: >"$dir/apt/status" # nothing is installed: all that a package depends on is wanted
cat >"$dir/apt/conf" <<CONF
APT::Architecture "$architecture";
APT::Architectures "$architecture";
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$dir/apt";
Dir::State::lists "$dir/apt/lists";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt";
Dir::Cache::archives "$dir/apt/archives";
CONF
APT_CONFIG=$dir/apt/conf
export APT_CONFIG
log=$dir/apt/log
{
    apt-get update && apt-get -y --no-install-recommends --download-only install "$@"
} >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    fail "could not get the packages of $architecture"
}
for package in "$dir"/apt/archives/*.deb; do dpkg-deb -x "$package" "$dir/root"; done
rm -rf "$dir/apt"

# Done by the packages' scripts in an installation: one of several BLAS and LAPACK is chosen.
libraries=usr/lib/$machine-linux-gnu
for name in blas lapack; do
    (cd "$dir/root/$libraries" && ln -sf $name/lib$name.* . && cd pkgconfig && ln -sf $name-netlib.pc $name.pc)
done
ln -sf cblas-netlib.h "$dir/root/usr/include/$machine-linux-gnu/cblas.h"
# Links of the whole system's paths are links to this system's files.
find "$dir/root" -type l -lname '/*' | while IFS= read -r link; do
    ln -sf "$dir/root$(readlink "$link")" "$link"
done

cat >"$dir/run" <<RUN
#!/bin/sh
exec $qemu -L '$dir/root' "\$@"
RUN
chmod +x "$dir/run"

cache=
command -v ccache >/dev/null && cache="'ccache', "
cat >"$dir/cross.txt" <<CROSS
[binaries]
c = [$cache'$machine-linux-gnu-gcc', '--sysroot=$dir/root']
cpp = [$cache'$machine-linux-gnu-g++', '--sysroot=$dir/root']
ar = '$machine-linux-gnu-ar'
strip = '$machine-linux-gnu-strip'
objdump = '$machine-linux-gnu-objdump'
pkgconfig = 'pkg-config'
exe_wrapper = '$dir/run'

[properties]
sys_root = '$dir/root'
pkg_config_libdir = '$dir/root/$libraries/pkgconfig:$dir/root/usr/share/pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '$machine'
cpu = '$machine'
endian = '$endian'
CROSS
printf '%s\n' "$made" >"$dir/made"
