#!/usr/bin/env bash
# Builds the archives of a release, with their checksums. The same commit, version
# and Go yield the same bytes, on any machine.
#
#   scripts/release.sh VERSION [OUTDIR]      VERSION: v1.2.3 or v1.2.3-rc.1; OUTDIR: dist
#
# RELEASE_PLATFORMS chooses the platforms. A version without a suffix is built from a
# tree without changes only. Nothing is tagged or uploaded: RELEASING.md has the steps.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "release: $*" >&2; exit 1; }

[[ $# -ge 1 && $# -le 2 ]] || { sed -n '5s/^# *//p' scripts/release.sh >&2; exit 2; }
version=$1
out=${2:-dist}
platforms=${RELEASE_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}

[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ ]] || fail "$version is not a version; take vX.Y.Z"
[[ -n ${BASH_REMATCH[4]} || -z $(git status --porcelain) ]] || fail "$version is to be built from a commit, and this tree has changes"
tar --version 2>/dev/null | grep -q 'GNU tar' || fail "GNU tar is needed, to write the same archive each time"

# The causes of differences between builds: the time, the umask, the owner and
# order of files, gzip's header, flags of the environment, paths, and git's state.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
unset GOFLAGS GOAMD64 GOARM64 GOEXPERIMENT GZIP TAR_OPTIONS
export CGO_ENABLED=0 GOWORK=off LC_ALL=C
umask 022

work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-release.XXXXXX")
trap 'rm -rf "$work"' EXIT

archives=()
for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/}
	name=cruster-host_${version}_${os}_$arch
	mkdir "$work/$name"
	GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -ldflags "-s -w -X main.release=$version" -o "$work/$name/cruster-host" ./cmd/cruster-host
	cp LICENSE README.md CHANGELOG.md "$work/$name/"
	chmod 644 "$work/$name"/*.md "$work/$name/LICENSE"
	tar -C "$work" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
		gzip -n -9 >"$work/$name.tar.gz"
	archives+=("$name.tar.gz")
	echo "built $name.tar.gz"
done
(cd "$work" && sha256sum "${archives[@]}" >SHA256SUMS)

rm -rf "$out"
mkdir -p "$out"
cp "${archives[@]/#/$work/}" "$work/SHA256SUMS" "$out/"
echo "$version with $(go env GOVERSION) in $out"
