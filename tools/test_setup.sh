#!/bin/sh
# Sees to everything that `make test` needs, and says first what is missing, how large it is and how long it takes: sh tools/test_setup.sh VENV
set -eu
venv=$1
envs=${SUITE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/edge-training-suite}/envs
version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for locks in reference_impls/locks/*/; do
    name=$(basename "$locks") lock="${locks}linux-$(uname -m)-py$version.txt"
    ls -d "$envs/$name"-*/ >/dev/null 2>&1 || {
        sizes=$(sed -n 's/^# \(download\|disk\)_bytes = \(.*\)/\2/p' "$lock" 2>/dev/null | awk 'NR == 1 { printf "%d MB to download", $1 / 1e6 } NR == 2 { printf ", %d MB on disk", $1 / 1e6 }')
        echo "needed: the environment of $name in $envs: ${sizes:-of unknown size: there is no lock for this platform}; about a minute"
    }
done
[ -e "$venv/tested" ] || echo "needed: packages of the suite and its tests in $venv: about 900 MB on disk; about two minutes"
sh tools/packages.sh "for the tests" chromium=chromium /usr/share/fonts/truetype/liberation=fonts-liberation ip=iproute2 cc=gcc /usr/include/math.h=libc6-dev
