#!/bin/sh
# Sees to it that the meters can be compared with the tools that everybody trusts; says what to install where it may not.
set -eu
missing=""
command -v vmtouch >/dev/null || missing="$missing vmtouch"
command -v iostat >/dev/null || missing="$missing sysstat"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing to compare the meters with"
    # shellcheck disable=SC2086
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $missing >/dev/null
else
    echo "note: comparisons with vmtouch and iostat will be skipped; for them: sudo apt-get install$missing"
fi
