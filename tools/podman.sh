#!/bin/sh
# Sees to it that containers can be built and started on this machine (tools/container.sh); says what to install where it may not.
# No service is needed: podman starts containers as processes of its own. runc, because crun refuses a machine with both versions of cgroups.
set -eu
missing=""
command -v podman >/dev/null || missing="$missing podman"
command -v runc >/dev/null || missing="$missing runc"
command -v mmdebstrap >/dev/null || missing="$missing mmdebstrap"
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: containers need, as root: apt-get install --no-install-recommends$missing" >&2
    exit 2
fi
echo "installing$missing for runs in containers"
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
fi
# shellcheck disable=SC2086
apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
