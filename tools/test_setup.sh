#!/bin/sh
# Sees to everything that `make test` needs, and says first what is missing, how large it is and how long it takes: sh tools/test_setup.sh VENV
set -eu
venv=$1
home=${SUITE_HOME:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}/edge-training-suite}
case $home in
/edge-training-suite) echo "error: HOME is not set, so that there is no place for the environments; set it, or SUITE_HOME" >&2 && exit 2 ;;
esac
version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
pins() { sed -n 's/ --hash.*//p' "$1"; }
# Whether there is a framework's environment: an adopted interpreter, or what pip made of one of these locks.
is_made() {
    for environment in "$home/envs/$1"-*/; do
        [ -e "${environment}environment.json" ] || continue
        [ -e "${environment}installed/hashed.txt" ] || return 0
        for lock in "reference_impls/locks/$1/linux-$(uname -m)"*"-py$version.txt"; do
            [ "$(pins "${environment}installed/hashed.txt")" != "$(pins "$lock")" ] || return 0
        done
    done
    return 1
}
gpu=
for file in /proc/driver/nvidia/version /dev/nvidiactl /dev/nvhost-gpu /dev/nvgpu /usr/lib/wsl/lib/libcuda.so.1; do
    [ ! -e "$file" ] || gpu=-cuda
done
for locks in reference_impls/locks/*/; do
    name=$(basename "$locks") lock="${locks}linux-$(uname -m)$gpu-py$version.txt"
    [ -e "$lock" ] || lock="${locks}linux-$(uname -m)-py$version.txt" # with a GPU it is another one only where it has other packages
    is_made "$name" || {
        sizes=$(sed -n 's/^# \(download\|disk\)_bytes = \(.*\)/\2/p' "$lock" 2>/dev/null | awk 'NR == 1 { printf "%d MB to download", $1 / 1e6 } NR == 2 { printf ", %d MB on disk", $1 / 1e6 }')
        echo "needed: the environment of $name in $home/envs: ${sizes:-of unknown size: there is no lock for this platform}; about a minute"
    }
done
[ -e "$venv/tested" ] || echo "needed: packages of the suite and its tests in $venv: $(EXTRAS=test sh tools/bootstrap.sh)"
sh tools/packages.sh "for the tests" chromium=chromium /usr/share/fonts/truetype/liberation=fonts-liberation ip=iproute2 cc=gcc /usr/include/math.h=libc6-dev || {
    [ $? = 3 ] && echo "note: tests that need them are skipped"
}
