#!/bin/sh
# Builds what is released, under dist/: static binaries for amd64 and arm64,
# .deb and .rpm packages, bills of materials, checksums. The same commit gives
# the same octets. Run it as "make packages".
set -eu
cd "$(dirname "$0")/../.."

NFPM=${NFPM:-go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0}
ARCHES=${ARCHES:-amd64 arm64}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# A tag v1.2.3 is version 1.2.3; without one, versions sort by time.
TAG=$(git describe --tags --exact-match 2>/dev/null || true)
VERSION=${VERSION:-${TAG:-v0.0.0-dev.$SOURCE_DATE_EPOCH}}
export SOURCE_DATE_EPOCH
export TZ=UTC

rm -rf dist
mkdir -p dist/stage/completions
for arch in $ARCHES; do
    CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -buildvcs=false \
        -ldflags "-s -w -X main.version=$VERSION" -o "dist/robotswatch-linux-$arch" ./cmd/robotswatch
done

# Manual pages and completions come from the commands themselves.
run="go run -buildvcs=false -ldflags=-X=main.version=$VERSION ./cmd/robotswatch"
[ "$(go env GOARCH)" = "${ARCHES%% *}" ] && run="dist/robotswatch-linux-${ARCHES%% *}"
$run man dist/stage/man
gzip -9n dist/stage/man/*.1
$run completion bash >dist/stage/completions/robotswatch.bash
$run completion zsh >dist/stage/completions/_robotswatch
$run completion fish >dist/stage/completions/robotswatch.fish

for arch in $ARCHES; do
    cp "dist/robotswatch-linux-$arch" dist/stage/robotswatch
    $run sbom "dist/robotswatch-linux-$arch" >"dist/robotswatch-linux-$arch.cdx.json"
    for format in deb rpm; do
        ARCH=$arch VERSION=$VERSION $NFPM package --config deploy/package/nfpm.yaml --packager $format --target dist/
    done
done
rm -r dist/stage
(cd dist && sha256sum -- * >SHA256SUMS)
