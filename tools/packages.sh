#!/bin/sh
# Installs the Debian packages of programs that are missing: sh tools/packages.sh PURPOSE PROGRAM=PACKAGE…
# Says what, how much and for what before it does. Only root installs; anybody else reads what to type. No service is started or enabled.
# Exit code 3: something is missing that it may not or cannot install.
set -eu
purpose=$1
shift
missing=""
for need; do
    program=${need%%=*}
    case $program in
    /*) [ -e "$program" ] ;;
    *) command -v "$program" >/dev/null ;;
    esac || missing="$missing ${need#*=}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing $purpose:$missing; install them first: sudo apt-get install$missing" >&2
    exit 3
fi
trap 'echo "Interrupted before the packages$missing were installed; type the same command to continue." >&2; exit 130' INT TERM HUP
apt-get -qq update
for package in $missing; do
    apt-cache show "$package" >/dev/null 2>&1 || {
        echo "missing $purpose: $package, a package that the sources of this system (/etc/apt) do not have" >&2
        exit 3
    }
done
# shellcheck disable=SC2086
sizes=$(LC_ALL=C apt-get install --assume-no $missing 2>/dev/null |
    sed -n 's/^Need to get \(.*\) of archives.*/\1 to download/p; s/^After this operation, \(.*\) of additional.*/\1 on disk/p' | paste -sd, - | sed 's/,/, /') || true
echo "installing$missing $purpose: ${sizes:-a small upgrade}; about a minute"
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
fi
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $missing >/dev/null
for package in $missing; do
    case $package in openssh-server) package=ssh ;; esac
    systemctl disable "$package.service" "$package.socket" >/dev/null 2>&1 || true
done
