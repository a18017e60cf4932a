#!/bin/sh
# Sees to it that LINPACK can be tested with the real hpcc; says what to install where it may not.
set -eu
command -v hpcc >/dev/null && command -v mpirun >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing hpcc and OpenBLAS for LINPACK"
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y hpcc libopenblas0-pthread >/dev/null
else
    echo "note: LINPACK's tests will be skipped; for them: sudo apt-get install hpcc libopenblas0-pthread"
fi
