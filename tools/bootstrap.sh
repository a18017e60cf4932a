#!/bin/sh
# Makes the harness's virtual environment; says what to install where the system lacks the means.
# usage: PYTHON=python3 EXTRAS=report,digits bootstrap.sh VENV; without VENV it says how large the environment is
set -eu
python=${PYTHON:-python3}
extras=${EXTRAS:-report,digits}
case $extras in
*test*) size="about 250 MB to download, 900 MB on disk; about two minutes" ;;
*) size="packages from the network or pip's cache, about 600 MB on disk; a minute or so" ;;
esac
[ $# -gt 0 ] || { echo "$size" && exit; }
venv=$1

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "error: the suite needs Python 3.10 or later and '$python' is not; name another one: make PYTHON=python3.11 …" >&2
    exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.maxsize < 2**32)'; then
    echo "error: the suite has no packages for the 32-bit Python '$python'; install the 64-bit image of the board's system (a 64-bit kernel alone is not enough)" >&2
    exit 2
fi
# Ctrl-C would reach pip, too, which prints a traceback: it gets a session of its own, and is ended here.
child=
interrupted() {
    trap '' INT TERM HUP
    [ -z "$child" ] || kill -- "-$child" "$child" 2>/dev/null || true
    wait
    echo "Interrupted before $venv was complete; type the same command to continue." >&2
    exit 130
}
trap interrupted INT TERM HUP
run() {
    "$python" -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' "$@" &
    child=$!
    wait $child
}
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing python3-venv (Debian's Python comes without it)"
        apt-get -qq update && apt-get -qq install -y python3-venv
    else
        echo "error: this Python cannot make virtual environments; install them first: sudo apt-get install python3-venv" >&2
        exit 2
    fi
fi
echo "setting up the suite in $venv ($size)"
run "$python" -m venv "$venv"
run "$venv/bin/python" -m pip install --quiet --editable ".[$extras]"
