"""What keeps a framework from running on this machine, said before anything is downloaded."""

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from suite.catalog.frameworks import Framework
from suite.errors import SuiteError

ELF_32_BIT = b"\x7fELF\x01"
JETSON_RELEASE = "etc/nv_tegra_release"
FIRST_WITH_PIP = 38
"""The release of Jetson Linux (JetPack 7) from which on PyPI's builds for CUDA 13 use the GPU."""
SYSTEM_PYTHON = "usr/bin/python3"
WHERE_OLD_PYTHONS_ARE = (
    "Debian 12 and Raspberry Pi OS 12 have Python 3.11; elsewhere run `pip install uv`"
    " and `uv python install {version}`, and give as PATH what `uv python find {version}`"
    " prints"
)


def refuse_obstacles(
    framework: Framework, python: Path, download_bytes: int | None, root: Path = Path("/")
) -> None:
    """Raise SuiteError for a 32-bit interpreter, a Jetson whose GPU pip's packages cannot use, and
    too small a folder for temporary files; each with what to do."""
    title = framework.title
    with Path(shutil.which(str(python)) or python).resolve().open("rb") as program:
        if program.read(len(ELF_32_BIT)) == ELF_32_BIT:
            raise SuiteError(
                f"{title} has no packages for the 32-bit Python {python}; install the 64-bit image"
                " of the board's system (a 64-bit kernel alone is not enough)."
            )
    refuse_jetson(framework, jetson_release(root))
    temporary = Path(tempfile.gettempdir())
    free = shutil.disk_usage(temporary).free
    if download_bytes is not None and free < download_bytes:
        raise SuiteError(
            f"pip unpacks {download_bytes / 1e6:.0f} MB in {temporary}, which has"
            f" {free / 1e6:.0f} MB left (this folder may be in memory): set TMPDIR to a folder on"
            " a disk."
        )


def jetson_release(root: Path) -> int | None:
    """The release of Jetson Linux; None on other machines."""
    try:
        found = re.match(r"# R(\d+) ", (root / JETSON_RELEASE).read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else int(found[1])


def refuse_jetson(framework: Framework, release: int | None) -> None:
    """Raise SuiteError where pip would install a build for GPUs that this Jetson's cannot use."""
    has_cuda = bool(framework.without_gpu)  # in PyPI's packages
    if has_cuda and release is not None and release < FIRST_WITH_PIP:
        raise SuiteError(
            f"pip's {framework.title} cannot use the GPU of this Jetson (Jetson Linux {release}),"
            f" and /{SYSTEM_PYTHON} has no build that can. Install NVIDIA's build for"
            f" /{SYSTEM_PYTHON} (docs/environments.md) and type the same command again, or name an"
            " interpreter that has such a build:"
            f" `suite env create {framework.argument} --interpreter PATH`."
        )


def python_of_vendor(root: Path = Path("/")) -> Path | None:
    """The interpreter for which NVIDIA builds frameworks: the system's, on a Jetson."""
    python = root / SYSTEM_PYTHON
    return python if jetson_release(root) is not None and python.exists() else None


def refuse_python(framework: Framework, version: tuple[int, int], python: Path | str) -> None:
    """Raise SuiteError, naming the option to use, for a Python that the framework has no packages
    for."""
    highest = framework.highest_python
    if highest is not None and version > tuple(map(int, highest.split("."))):
        raise SuiteError(
            f"{framework.title} has no packages for Python {version[0]}.{version[1]} ({python});"
            f" use Python {highest} or an earlier one: `suite env create {framework.argument}"
            f" --python PATH`. {WHERE_OLD_PYTHONS_ARE.format(version=highest)}."
        )


def refuse_crash(framework: Framework, versions: Mapping[str, str], root: Path = Path("/")) -> None:
    """Raise SuiteError for a version that crashes on this processor. ``versions``: of packages, by
    name; a build's label (+cpu) is no other version."""
    try:
        cpu = (root / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    features = re.search(r"^Features\s*:(.*)$", cpu, re.MULTILINE)  # ARM's; x86 has flags
    found = {versions[name].partition("+")[0] for name in framework.packages if name in versions}
    for crash in framework.crashes:
        for version in found & set(crash.versions):
            if features and crash.without not in features[1].split():
                raise SuiteError(
                    f"{framework.title} {version} crashes on processors without {crash.without!r}:"
                    f" {crash.cores}, {crash.source}; use {crash.works}: `suite env create"
                    f" {framework.name}=={crash.works}`."
                )
