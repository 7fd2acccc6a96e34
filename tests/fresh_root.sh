#!/bin/sh
# Tests the project in a new user's system: a minimal Debian in a folder, a plain clone in it, and nothing else
# installed.
#
#   tests/fresh_root.sh [-m MIRROR] [-r RELEASE] [-u] [-k] [COMMAND...]
#
# COMMANDs run one after the other in the clone (default: './run demo' './run test'). -u runs them as an ordinary user
# who has sudo, -k keeps the folder. Mirror and release default to those of this machine's apt. The bare Debian is
# packed into build-fresh/ the first time and unpacked from there afterwards. Needs root, for chroot.
# shellcheck disable=SC2016 # the $(NAMES) are apt-get's
set -eu
unset CDPATH
here=$(cd "$(dirname "$0")/.." && pwd)
mirror='' release='' keep=no user=root
while getopts m:r:ukh opt; do
    case $opt in
    m) mirror=$OPTARG ;;
    r) release=$OPTARG ;;
    u) user=tester ;;
    k) keep=yes ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- './run demo' './run test'

fail() {
    printf 'fresh: %s\n' "$*" >&2
    exit 2
}
[ "$(id -u)" = 0 ] || fail 'must be root, for chroot: sudo ./run fresh'
command -v debootstrap >/dev/null || fail 'needs debootstrap: apt-get install debootstrap'

# shellcheck disable=SC1091
[ -n "$release" ] || release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$release" ] || fail 'cannot tell the Debian release of this machine; give one with -r'
if [ -z "$mirror" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        "Codename: $release" | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no source of $release; give one with -m"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/evenkeel-fresh.XXXXXX")
root=$work/root
if [ $keep = yes ]; then trap 'echo "fresh: kept $root"' EXIT; else trap 'rm -rf "$work"' EXIT; fi
trap 'exit 130' INT TERM

base=$here/build-fresh/$release.tar
if [ ! -f "$base" ]; then
    echo "fresh: bare $release, once"
    mkdir -p "$here/build-fresh"
    debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; fail 'debootstrap failed'; }
    # As an image without package lists: the project must fetch them itself.
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb
    tar -C "$root" -cf "$base.part" . && mv "$base.part" "$base"
    rm -rf "$root"
fi
mkdir -p "$root"
tar -C "$root" -xf "$base"

# The way this machine reaches its mirror: sources, network settings of apt, certificates, names.
rm -f "$root/etc/apt/sources.list"
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u >"$root/etc/apt/sources.list"
[ -s "$root/etc/apt/sources.list" ] || echo "deb $mirror $release main" >"$root/etc/apt/sources.list"
apt-config dump --no-empty --format '%F "%v";%n' Acquire | grep -v '^Acquire::IndexTargets' \
    >"$root/etc/apt/apt.conf.d/90machine" || :
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"

# A space in the path, on purpose. The committed files, or the work tree while there are uncommitted changes.
home=/root
[ $user = root ] || home=/home/$user
clone="$home/even keel"
mkdir -p "$root$clone"
if git -C "$here" rev-parse -q --verify HEAD >/dev/null && [ -z "$(git -C "$here" status --porcelain)" ]; then
    echo "fresh: clone of $(git -C "$here" rev-parse --short HEAD)"
    git clone -q "$here" "$root$clone"
else
    echo 'fresh: copy of the work tree, which holds uncommitted changes'
    (cd "$here" && git ls-files -co --exclude-standard -z | tar --null -T - --ignore-failed-read -cf -) |
        tar -C "$root$clone" -xf -
fi

cat >"$root/fresh.sh" <<'SCRIPT'
set -eu
mount -t proc proc /proc 2>/dev/null || :
if [ "$1" != root ]; then
    apt-get -qq update >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install sudo >/dev/null 2>&1
    useradd -m "$1" 2>/dev/null || :
    echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"
    chown -R "$1:" "$2"
    cd "$2"
    exec su "$1" -c "$3"
fi
cd "$2"
exec sh -c "$3"
SCRIPT

status=0
for command; do
    printf 'fresh: %s$ %s\n' "$user" "$command"
    start=$(date +%s)
    # Own mounts and processes, gone with the command; nothing of this environment but the proxies.
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LC_ALL=C \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} \
        unshare --mount --pid --fork chroot "$root" sh /fresh.sh "$user" "$clone" "$command" </dev/null || status=$?
    printf 'fresh: exit %s after %s s\n' $status $(($(date +%s) - start))
    [ $status = 0 ] || break
done
exit $status
