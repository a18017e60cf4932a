#!/bin/sh
# Sees to it that runs of several nodes can be tested on hosts of their own; says what to install where it may not.
# The SSH server that the tests start has keys and networks of its own; the machine's is neither started nor enabled.
set -eu
missing=""
command -v ip >/dev/null && command -v tc >/dev/null || missing="$missing iproute2"
command -v ssh >/dev/null || missing="$missing openssh-client"
[ -x /usr/sbin/sshd ] || missing="$missing openssh-server"
command -v iptables >/dev/null || missing="$missing iptables"
command -v mpirun >/dev/null || missing="$missing openmpi-bin"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests on several hosts"
    policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        trap 'rm -f $policy' EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    # shellcheck disable=SC2086
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
    case $missing in
    *openssh-server*) systemctl disable ssh.service ssh.socket >/dev/null 2>&1 || true ;;
    esac
else
    echo "note: the tests on several hosts will be skipped; for them, as root: apt-get install$missing"
fi
