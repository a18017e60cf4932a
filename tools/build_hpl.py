"""Builds hpcc with HPL and STREAM alone, for `suite linpack`: ``python -m tools.build_hpl
[SOURCE.tar.gz]``.

Debian's hpcc runs its whole suite, several times as long as HPL, and has no option against it. The
source is Debian's (`apt-get source --download-only hpcc`, which needs a deb-src line) or the given
one. Needs gcc, make, and MPI's and OpenBLAS's development files: ``sudo apt-get install
build-essential libopenmpi-dev libopenblas-dev``. The program is placed where `suite linpack` looks
for it first.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from suite.experiments.linpack_run import OWN_HPCC
from suite.files.paths import suite_home

ALL_TESTS = re.compile(
    r"params->RunHPL = params->RunStarDGEMM.*?params->RunLatencyBandwidth = 1;", re.DOTALL
)
CHOSEN_TESTS = "params->RunHPL = params->RunStarStream = params->RunSingleStream = 1;"
RENAMED = {"MPI_Address": "MPI_Get_address", "MPI_Type_struct": "MPI_Type_create_struct"}
"""Functions that MPI 3 no longer has, and those that took their place with the same arguments."""

MAKE = """\
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = suite
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(BLAS) -lm
HPL_DEFS = -DAdd_ -DF77_INTEGER=int -DStringSunStyle $(HPL_INCLUDES)
CC = mpicc
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O3 -fomit-frame-pointer -w
LINKER = mpicc
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
"""


def main() -> int:
    """Build the program; the exit code is make's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "source", nargs="?", type=Path, help="hpcc's source as .tar.gz (default: Debian's)"
    )
    parser.add_argument("--blas", default="-lopenblas", help="what is linked as BLAS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = options.source.absolute() if options.source else _downloaded(Path(folder))
        tree = _prepared(source, Path(folder))
        made = subprocess.run(["make", "arch=suite", f"BLAS={options.blas}"], cwd=tree)
        if made.returncode == 0:
            target = suite_home() / OWN_HPCC
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / "hpcc", target)
            sys.stdout.write(f"{target}: `suite linpack` uses it from now on\n")
    return made.returncode


def _downloaded(folder: Path) -> Path:
    """Debian's source archive."""
    fetched = subprocess.run(
        ["apt-get", "source", "--download-only", "--tar-only", "hpcc"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if fetched.returncode:
        said = (fetched.stderr.strip().splitlines() or ["apt-get said nothing"])[-1]
        sys.exit(
            f"Debian's source of hpcc could not be fetched ({said}); add a deb-src line and run"
            " apt-get update, or name hpcc's .tar.gz"
        )
    return next(folder.glob("hpcc_*.orig.tar.gz"))


def _prepared(source: Path, folder: Path) -> Path:
    """The unpacked source with HPL and STREAM alone switched on."""
    # Debian 12's Python has no filters against paths outside of the folder
    subprocess.run(["tar", "--extract", "--file", source, "--directory", folder], check=True)
    tree = next(path.parent for path in folder.glob("hpcc-*/hpl"))
    tests = tree / "src" / "io.c"
    text, found = ALL_TESTS.subn(
        CHOSEN_TESTS, tests.read_text(encoding="utf-8", errors="surrogateescape")
    )
    if found != 1:
        sys.exit(f"{source} is another version of hpcc than 1.5: its list of tests was not found")
    tests.write_text(text, encoding="utf-8", errors="surrogateescape")
    for path in tree.rglob("*.c"):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        for old, new in RENAMED.items():
            text = re.sub(rf"\b{old}\b", new, text)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    (tree / "hpl" / "Make.suite").write_text(MAKE, encoding="ascii")
    return tree


if __name__ == "__main__":
    sys.exit(main())
