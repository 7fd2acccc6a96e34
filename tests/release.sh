#!/bin/sh
# Tests the refusals and the output of tools/release.sh in a clone of a small project: the files that have a version are
# this project's, and `run` is replaced as each case needs. Prints TAP.
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
for tool in git meson xz; do
    command -v $tool >/dev/null && continue
    echo "ok 1 - releases # SKIP no $tool here"
    echo 1..1
    exit 0
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
HOME=$work
GIT_CONFIG_NOSYSTEM=1
GIT_CEILING_DIRECTORIES=$work
export HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES
n=0
ok() { # CODE NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$work/said"
    fi
}
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
mkdir "$work/project"
cd "$work/project" || exit 2
(cd "$root" && tar -cf - include/evenkeel/version.h CITATION.cff CHANGELOG.md debian/changelog packaging tools/release.sh) | tar -xf -
printf "project('evenkeel',\n  version: '%s',\n)\n" "$version" >meson.build
# shellcheck disable=SC2016 # its own words
printf '#!/bin/sh\necho "5 passed, ${FAILED:-0} failed"\n[ "${FAILED:-0}" = 0 ]\n' >run
chmod +x run
printf '/build-*/\n/output/\n' >.gitignore
sed -i "s/^## $version .*/## $version (2030-01-31)/" CHANGELOG.md
commit() { git add -A && git -c user.name=a -c user.email=a@example.org commit -qm "$1"; }
refused() { # WORDS [VERSION]: with status 1, one line that has the words, and nothing made
    rm -rf output build-release
    sh tools/release.sh "${2:-$version}" >"$work/said" 2>&1
    [ $? = 1 ] && [ "$(grep -c '^release: ' "$work/said")" -ge 1 ] && tail -n 1 "$work/said" | grep -q "^release: .*$1" &&
        [ -z "$(find . -name 'evenkeel-*.tar.xz')" ]
}
changed() { # FILE SED-COMMAND WORDS NAME: refused with this change, which is taken back
    sed -i "$2" "$1"
    commit change
    refused "$3"
    ok $? "$4"
    git reset -q --hard HEAD^
}

refused 'no clone with commits'
ok $? 'a folder that is no clone is refused'
git init -q . && commit first
echo >new.txt
refused "not committed, the first is 'new.txt'"
ok $? 'a file that is not committed is refused'
rm new.txt
refused "meson.build has version $version, not 77.0.0" 77.0.0
ok $? 'a version that the files do not have is refused'
for file in include/evenkeel/version.h CITATION.cff debian/changelog packaging/evenkeel.spec packaging/conda/meta.yaml \
    packaging/spack/package.py; do
    changed $file "s/$version/66.0.0/" "$file has version 66.0.0, not $version" "another version in $file is refused"
done
changed include/evenkeel/version.h 's/EK_VERSION_PATCH .*/EK_VERSION_PATCH 66/' 'include/evenkeel/version.h has version .*66, not' \
    'other numbers in the header are refused'
changed CHANGELOG.md 's/(2030-01-31)/(not released)/' "its heading must be '## $version (YEAR-MONTH-DAY)'" \
    'a version without a day is refused'
changed debian/changelog '1s/) [a-z]*;/) UNRELEASED;/' 'debian/changelog says UNRELEASED' 'packages for no distribution are refused'
git tag "v$version"
refused "there is a tag v$version already"
ok $? 'a version with a tag is refused'
git tag -d "v$version" >/dev/null
FAILED=1
export FAILED
refused "tests fail for $version; output/release/$version/test.log" && grep -qx '5 passed, 1 failed' "output/release/$version/test.log"
ok $? 'failing tests are refused, with their log'
unset FAILED
# shellcheck disable=SC2016 # of sed
changed meson.build '$s/$/\nerror(1)/' 'no archive .* that builds; output/release/.*/dist.log' 'an archive that does not build is refused'

mkdir -p src tests/abi
echo "  version: meson.project_version(), soversion: '0', install: true)" >src/meson.build
printf '%s\n' 'echo "$1 $2" >>../asked' 'echo "not ok 1 - it runs"' 'echo 1..1' >tests/abi/before.sh
commit 'a version before'
git tag v0.0.1
refused 'programs built against v0.0.1 do not run .*before.log' && grep -qx 'v0.0.1 build-release/src/libevenkeel.so.0' ../asked
ok $? 'programs of the version before that do not run are refused'
echo true >tests/abi/before.sh
commit 'nothing said'
refused 'programs built against v0.0.1 do not run'
ok $? 'and a check that says nothing'
printf '%s\n' 'echo "ok 1 - it runs"' 'echo 1..1' >tests/abi/before.sh
commit 'they run'

sh tools/release.sh "$version" >"$work/said" 2>&1 && grep -q "git tag -s v$version" "$work/said" &&
    (cd "output/release/$version" && sha256sum -c SHA256SUMS && tar -tf "evenkeel-$version.tar.xz") >"$work/files" 2>&1 &&
    grep -qx "evenkeel-$version/packaging/evenkeel.spec" "$work/files" && [ -z "$(git status --porcelain)" ]
ok $? 'what has all of this becomes an archive with a checksum, and the steps that remain'
echo "1..$n"
