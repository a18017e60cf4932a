#!/bin/sh
# Sees to it that a board can be emulated (make prove box); says what to install where it may not.
set -eu
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "error: a board is emulated on Debian or Ubuntu: the emulated Debian and its kernel are made by apt-get and dpkg, which this system lacks" >&2
    exit 2
fi
missing=""
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need mmdebstrap mmdebstrap
need arch-test arch-test
need unshare util-linux
need qemu-aarch64-static qemu-user-static
need qemu-system-aarch64 qemu-system-arm
need dtc device-tree-compiler
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
need aarch64-linux-gnu-gcc-12 gcc-12-aarch64-linux-gnu # the compiler that Debian 12's kernel was built with
need make make
need cpio cpio
need xz xz-utils
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ]; then
    echo "installing$missing to emulate a board"
    # shellcheck disable=SC2086
    if ! { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null; }; then
        echo "error: a board cannot be emulated; install these packages, then run make prove box again: apt-get install$missing" >&2
        exit 2
    fi
elif [ -n "$missing" ]; then
    echo "error: a board is emulated as root; install these packages first: sudo apt-get install$missing; then: sudo make prove box" >&2
    exit 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "error: an emulated root file system is made as root: sudo make prove box" >&2
    exit 2
fi
free_kb=$(df -Pk "${SUITE_HOME:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}}" 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free_kb:-9999999}" -lt 3000000 ]; then
    echo "note: the box takes 1.4 GB, and 3 GB while it is made; ${free_kb} kB are free" >&2
fi
# The kernel starts arm64 programs by qemu-aarch64, also below another root (F: the interpreter is opened now).
formats=/proc/sys/fs/binfmt_misc
[ -e $formats/register ] || mount -t binfmt_misc none $formats
if [ ! -e $formats/qemu-aarch64 ]; then
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >$formats/register
fi
