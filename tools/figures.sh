#!/bin/sh
# Sees to it that the tests of figures for papers can read PDF and SVG with other programs; says what to install where it may not.
set -eu
if command -v pdftoppm >/dev/null && command -v rsvg-convert >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing poppler-utils and librsvg2-bin for the tests of figures"
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y poppler-utils librsvg2-bin >/dev/null
else
    echo "note: some tests of figures will be skipped; for them: sudo apt-get install poppler-utils librsvg2-bin"
fi
