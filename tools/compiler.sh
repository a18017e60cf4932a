#!/bin/sh
# Sees to it that the example in C can be built; says what to install where it may not.
set -eu
command -v cc >/dev/null && [ -e /usr/include/math.h ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing gcc to build the example in C with"
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y gcc libc6-dev >/dev/null
else
    echo "note: the example in C will not be tested; for it: sudo apt-get install gcc libc6-dev"
fi
