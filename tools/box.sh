#!/bin/sh
# Sees to it that a board can be emulated (make box); says what to install where it may not.
set -eu
missing=""
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need mmdebstrap mmdebstrap
need arch-test arch-test
need qemu-aarch64-static qemu-user-static
need qemu-system-aarch64 qemu-system-arm
need dtc device-tree-compiler
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
need aarch64-linux-gnu-gcc-12 gcc-12-aarch64-linux-gnu # the compiler that Debian 12's kernel was built with
need make make
need cpio cpio
need xz xz-utils
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing$missing to emulate a board"
        # shellcheck disable=SC2086
        apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
    else
        echo "error: a board cannot be emulated; as root: apt-get install$missing" >&2
        exit 2
    fi
fi
if [ "$(id -u)" != 0 ]; then
    echo "error: an emulated root file system is made as root: sudo make box" >&2
    exit 2
fi
# The kernel starts arm64 programs by qemu-aarch64, also below another root (F: the interpreter is opened now).
formats=/proc/sys/fs/binfmt_misc
[ -e $formats/register ] || mount -t binfmt_misc none $formats
if [ ! -e $formats/qemu-aarch64 ]; then
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >$formats/register
fi
