#!/bin/sh
# Makes the harness's virtual environment; says what to install where the system lacks the means.
# usage: PYTHON=python3 EXTRAS=report,digits bootstrap.sh VENV
set -eu
venv=$1
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "error: the suite needs Python 3.10 or later and '$python' is not; name another one: make PYTHON=python3.11 …" >&2
    exit 2
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing python3-venv (Debian's Python comes without it)"
        apt-get -qq update && apt-get -qq install -y python3-venv
    else
        echo "error: this Python cannot make virtual environments; install them first: sudo apt-get install python3-venv" >&2
        exit 2
    fi
fi
echo "setting up the suite in $venv (packages come from the network, or pip's cache; a minute or so)"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable ".[${EXTRAS:-report,digits}]"
