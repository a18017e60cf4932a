#!/bin/sh
# Sees to it that a Slurm of two nodes can be started on this machine (make slurm); says what to install where it may not.
# Its daemons are started by the test, with files of their own; those of the packages are neither started nor enabled.
set -eu
missing=""
command -v slurmctld >/dev/null || [ -x /usr/sbin/slurmctld ] || missing="$missing slurmctld"
command -v slurmd >/dev/null || [ -x /usr/sbin/slurmd ] || missing="$missing slurmd"
command -v srun >/dev/null || missing="$missing slurm-client"
command -v munged >/dev/null || [ -x /usr/sbin/munged ] || missing="$missing munge"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: a Slurm to test with needs, as root: apt-get install --no-install-recommends$missing" >&2
    exit 2
fi
echo "installing$missing for the runs under Slurm"
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
fi
# shellcheck disable=SC2086
apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
for service in munge slurmctld slurmd; do
    systemctl disable "$service.service" >/dev/null 2>&1 || true
done
