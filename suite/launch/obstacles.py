"""What keeps pip from making an environment that works, said before anything is downloaded."""

import re
import shutil
import tempfile
from pathlib import Path

from suite.catalog.frameworks import Framework
from suite.errors import SuiteError

ELF_32_BIT = b"\x7fELF\x01"
JETSON_RELEASE = "etc/nv_tegra_release"
FIRST_WITH_PIP = 38
"""The release of Jetson Linux (JetPack 7) from which on PyPI's builds for CUDA 13 use the GPU."""


def refuse_obstacles(
    framework: Framework, python: Path, download_bytes: int | None, root: Path = Path("/")
) -> None:
    """Raise SuiteError for a 32-bit interpreter, a Jetson whose GPU pip's packages cannot use, and
    too small a folder for temporary files; each with what to do."""
    title, name = framework.title, framework.argument
    with Path(shutil.which(str(python)) or python).resolve().open("rb") as program:
        if program.read(len(ELF_32_BIT)) == ELF_32_BIT:
            raise SuiteError(
                f"{title} has no packages for the 32-bit Python {python}; install the 64-bit image"
                " of the board's system (a 64-bit kernel alone is not enough)."
            )
    release = _jetson_release(root)
    has_cuda = bool(framework.without_gpu)  # in PyPI's packages
    if has_cuda and release is not None and release < FIRST_WITH_PIP:
        raise SuiteError(
            f"pip's {title} cannot use the GPU of this Jetson (Jetson Linux {release}); use"
            f" NVIDIA's build: `suite env create {name} --interpreter /usr/bin/python3`"
            " (docs/jetpack.md says how to install it there)."
        )
    temporary = Path(tempfile.gettempdir())
    free = shutil.disk_usage(temporary).free
    if download_bytes is not None and free < download_bytes:
        raise SuiteError(
            f"pip unpacks {download_bytes / 1e6:.0f} MB in {temporary}, which has"
            f" {free / 1e6:.0f} MB left (it may be in memory): set TMPDIR to a folder on a disk."
        )


def _jetson_release(root: Path) -> int | None:
    try:
        found = re.match(r"# R(\d+) ", (root / JETSON_RELEASE).read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else int(found[1])
