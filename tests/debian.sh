#!/bin/sh
# Builds the Debian packages as usual, and tests them in a bare Debian of the same release with only their dependencies
# installed, and again after their removal, when none of their files may be left.
#
#   tests/debian.sh [-- OPTION...]      OPTIONs of tests/fresh_root.sh, which makes the bare Debian; as root
#   tests/debian.sh --inside            this, in the bare Debian itself, which is changed
set -eu
unset CDPATH
here=$(cd "$(dirname "$0")/.." && pwd)
case ${1:-} in
--inside) ;;
-h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
*)
    [ "${1:-}" != -- ] || shift
    exec "$here/tests/fresh_root.sh" "$@" 'tests/debian.sh --inside'
    ;;
esac

fail() {
    printf 'packages: %s\n' "$*" >&2
    exit 1
}
say() { printf 'packages: %s\n' "$*"; }
quietly() { # COMMAND...: its output only where it fails
    "$@" >/tmp/packages.log 2>&1 </dev/null || {
        tail -n 60 /tmp/packages.log >&2
        fail "failed: $*"
    }
}
export DEBIAN_FRONTEND=noninteractive
installed() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort; }
# Autoremove would keep packages that an installed package suggests.
back_to() { # FILE: a list by installed()
    # shellcheck disable=SC2046 # words
    quietly apt-get -y purge $(installed | comm -13 "$1" -)
    installed | diff "$1" - || fail 'these packages are not as before'
}
# Names of all files but those of the package manager, of processes and of this run.
all_files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /home -o \
        -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache/apt -o -path /var/cache/debconf -o \
        -path /var/log \) -prune -o -print | sort
}

cd "$here"
quietly apt-get update
installed >/tmp/bare
say 'installing what the build depends on'
quietly apt-get -y install --no-install-recommends -o APT::Get::AutomaticRemove=false build-essential lintian fakeroot
quietly apt-get -y -o APT::Get::Build-Dep-Automatic=true --no-install-recommends build-dep "$here"
# Not as root where possible. The copy has no space in its name, since debhelper does not support one.
rm -rf /tmp/build
mkdir -p /tmp/build/evenkeel
tar --exclude=./.git --exclude='./build*' -cf - . | tar -C /tmp/build/evenkeel -xf -
useradd -M builder 2>/dev/null || :
chown -R builder: /tmp/build
say 'dpkg-buildpackage'
start=$(date +%s)
quietly su builder -c 'cd /tmp/build/evenkeel && dpkg-buildpackage -us -uc'
say "built in $(($(date +%s) - start)) s"
ls /tmp/build
say 'lintian'
su builder -c 'cd /tmp/build && lintian --fail-on error,warning *.changes' || fail 'lintian finds something'

say 'back to the bare system'
userdel builder
back_to /tmp/bare

packages='evenkeel evenkeel-doc evenkeel-mpi libevenkeel-dev libevenkeel0 python3-evenkeel'
files=
for package in $packages; do files="$files $(echo /tmp/build/"$package"_*.deb)"; done
# shellcheck disable=SC2086 # words
needed=$(apt-get -s --no-install-recommends install $files | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
    grep -vxF "$(printf '%s\n' $packages)" | tr '\n' ' ')
say "installing what the packages depend on: $needed"
# shellcheck disable=SC2086
quietly apt-get -y --no-install-recommends install $needed
all_files >/tmp/before
say 'installing the packages'
# shellcheck disable=SC2086
quietly dpkg -i $files
all_files | comm -13 /tmp/before - | grep -vE '^/usr/(bin|include|lib|share)/' && fail 'files in unusual places'
installed >/tmp/with
quietly apt-get -y --no-install-recommends install gcc libc6-dev pkgconf
debian/tests/installed
back_to /tmp/with
say 'purging the packages'
# shellcheck disable=SC2086
quietly dpkg --purge $packages
all_files >/tmp/after
if ! comm -13 /tmp/before /tmp/after >/tmp/left || [ -s /tmp/left ]; then
    cat /tmp/left
    fail 'the purge leaves these files'
fi
say 'the purge leaves nothing'
