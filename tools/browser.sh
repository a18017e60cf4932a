#!/bin/sh
# Sees to it that the browser tests have a browser; says what to install where it may not.
set -eu
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium for the browser tests"
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium >/dev/null
else
    echo "note: the browser tests will be skipped; for them: sudo apt-get install chromium"
fi
