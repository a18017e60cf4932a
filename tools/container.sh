#!/bin/sh
# Builds the suite's image for `suite run --isolation podman`, for this machine's architecture. Its base is made of Debian's packages: no registry is
# needed. The host's certificates are mounted while it is built, for networks with an authority of their own; they do not stay in the image.
# With a folder, the image is also saved there, for `podman load`: sh tools/container.sh [FOLDER]
set -eu
sh tools/podman.sh
image=localhost/edge-training-suite base=localhost/edge-training-base:bookworm
podman="podman --cgroup-manager=cgroupfs"
if command -v runc >/dev/null; then podman="$podman --runtime=runc"; fi
if ! podman image exists "$base"; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,libgomp1,python3 bookworm "$root/root.tar"
    podman import --quiet "$root/root.tar" "$base"
fi
# shellcheck disable=SC2086
$podman build --isolation=chroot --network=host --volume=/etc/ssl/certs:/etc/ssl/certs:ro --build-arg="BASE=$base" --tag="$image" .
if [ $# -gt 0 ]; then
    file=$1/edge-training-suite-linux-$(uname -m).tar
    rm -f "$file" "$file.gz"
    # shellcheck disable=SC2086
    $podman save --quiet --output "$file" "$image"
    gzip "$file"
    echo "$file.gz"
fi
