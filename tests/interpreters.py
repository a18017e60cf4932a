"""Interpreters that say that they have another version, and other packages."""

import json
import sys
from pathlib import Path


def make_interpreter(path: Path, version: str = "3.8.10", **packages: str) -> Path:
    """What answers as a Python of this version with these packages does, and for the rest is this
    one."""
    listing = json.dumps([{"name": name, "version": each} for name, each in packages.items()])
    path.write_text(
        f'#!/bin/sh\ncase "$*" in\n*python_version*) echo {version} ;;\n'
        f"*' pip list '*) echo '{listing}' ;;\n*) exec {sys.executable} \"$@\" ;;\nesac\n"
    )
    path.chmod(0o755)
    return path
