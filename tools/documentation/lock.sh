#!/bin/sh
# Resolves the packages that build the documentation site and writes their lock; needs the network: sh tools/documentation/lock.sh
set -eu
.venv/bin/python -m pip install --quiet uv
.venv/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-find-links \
    --output-file tools/documentation/requirements.txt tools/documentation/requirements.in
