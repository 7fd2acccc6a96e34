#!/bin/sh
# Makes the archive of a release from the committed files, after checking the conditions of a release: a clean work
# tree, the version in every file that has one, its section of the list of changes with a date, tests that pass. Changes
# nothing in the work tree but build-release/ and output/release/, and pushes nothing: it prints the steps that remain.
#
#   tools/release.sh VERSION       as 0.2.0
#   tools/release.sh --versions    every file that has the version, with the one that it has
set -eu
unset CDPATH
cd "$(dirname "$0")/.."

refuse() {
    printf 'release: %s\n' "$*" >&2
    exit 1
}

# FILE VERSION, a line each; nothing after the name where there is none.
versions() {
    while read -r file pattern; do
        printf '%s %s\n' "$file" "$(sed -n "s/$pattern/\\1/p" "$file" | sed 1q)"
    done <<'PATTERNS'
meson.build ^  version: '\(.*\)',$
include/evenkeel/version.h ^#define EK_VERSION  *"\(.*\)"$
CITATION.cff ^version: \(.*\)$
CHANGELOG.md ^## \([0-9.]*\) .*$
debian/changelog ^evenkeel (\([0-9.]*\)) .*$
packaging/evenkeel.spec ^Version:  *\(.*\)$
packaging/conda/meta.yaml ^{% set version = "\(.*\)" %}$
packaging/spack/package.py ^    version("\([0-9.]*\)".*$
PATTERNS
    # The header has it as numbers, too.
    awk '/^#define EK_VERSION_(MAJOR|MINOR|PATCH) / { parts = parts (parts == "" ? "" : ".") $3 }
        END { print "include/evenkeel/version.h", parts }' include/evenkeel/version.h
}

case ${1:-} in
--versions)
    versions
    exit
    ;;
[0-9]*.[0-9]*.[0-9]*) version=$1 ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
[ $# = 1 ] || refuse "one version, not $# words"

git rev-parse -q --verify HEAD >/dev/null 2>&1 || refuse 'this is no clone with commits, and a release is made from commits'
[ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ] || refuse 'this folder is not the root of its clone'
changed=$(git status --porcelain | sed 1q)
[ -z "$changed" ] || refuse "the work tree has changes that are not committed, the first is '${changed#???}'; commit or remove them"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
    refuse "there is a tag v$version already, at $(git rev-parse --short "v$version"); a release is made once"
versions | while read -r file has; do
    [ "$has" = "$version" ] || refuse "$file has version ${has:-that cannot be found}, not $version; set it there and commit"
done || exit 1
dated=$(sed -n "s/^## $version (\([0-9]*-[0-9]*-[0-9]*\))\$/\1/p" CHANGELOG.md)
[ -n "$dated" ] || refuse "CHANGELOG.md has no day for $version: its heading must be '## $version (YEAR-MONTH-DAY)'"
if sed 1q debian/changelog | grep -q UNRELEASED; then
    refuse "debian/changelog says UNRELEASED for $version; name the distribution it is for"
fi

out=output/release/$version
rm -rf "$out"
mkdir -p "$out"
echo "release: testing $version"
./run test >"$out/test.log" 2>&1 || refuse "tests fail for $version; $out/test.log has what they say"
tail -n 1 "$out/test.log"
[ -z "$(git status --porcelain)" ] || refuse "the tests left changes in the work tree; 'git status' shows them"

# The committed files, unpacked and built again from only the archive.
echo 'release: making and building the archive'
rm -rf build-release
{ meson setup build-release --buildtype=release && meson dist -C build-release --formats xztar; } >"$out/dist.log" 2>&1 </dev/null ||
    refuse "there is no archive of $version that builds; $out/dist.log has the reason"
archive=evenkeel-$version.tar.xz
mv "build-release/meson-dist/$archive" "$out/"
(cd "$out" && sha256sum "$archive" >SHA256SUMS)
sum=$(cut -d ' ' -f 1 "$out/SHA256SUMS")

# As long as the soname is the same, programs built against the previous version must run.
soname() { sed -n "s/.*soversion: '\([0-9]*\)'.*/\1/p" | sed 1q; }
before=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || :)
if [ -n "$before" ] && [ "$(git show "$before:src/meson.build" | soname)" = "$(soname <src/meson.build)" ]; then
    echo "release: running programs that are built against $before"
    sh tests/abi/before.sh "$before" build-release/src/libevenkeel.so.0 >"$out/before.log" 2>&1 || :
    if ! grep -q '^1\.\.[1-9]' "$out/before.log" || grep -q '^not ok' "$out/before.log"; then
        rm -f "$out/$archive" "$out/SHA256SUMS"
        refuse "programs built against $before do not run as they did; $out/before.log has which"
    fi
fi

cat <<TEXT
release: $out/$archive
         sha256 $sum
What remains, by hand:
  1. git tag -s v$version -m 'evenkeel $version' && git push origin v$version
  2. gpg --detach-sign --armor $out/SHA256SUMS
  3. publish the archive, SHA256SUMS and its signature beside the tag, with the section of CHANGELOG.md
  4. ./run packages, then dput what a \`dpkg-buildpackage\` of the tag with your own address makes
  5. the checksum and the address of the archive into packaging/conda/meta.yaml and packaging/spack/package.py,
     for their collections of recipes; the address into packaging/evenkeel.spec
  6. docker buildx build --platform linux/amd64,linux/arm64 -f packaging/Dockerfile -t evenkeel:$version --push .
  7. the next version into all files of \`tools/release.sh --versions\`, '(not released)' in CHANGELOG.md
TEXT
