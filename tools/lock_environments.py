"""Resolves every framework's environment for every platform and writes the locks: ``python -m
tools.lock_environments``.

uv resolves, because pip judges a package's conditions by the machine that it runs on. A hash is
written where PyPI has the file. ``UV_FIND_LINKS`` may name a folder with wheels of the indexes
beside PyPI, where those cannot be reached.
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from suite.catalog.frameworks import Framework, load_frameworks
from suite.launch.recipe import EnvironmentRecipe, Platform, lock_path, package_name, recipe

PYTHONS = ((3, 10), (3, 11), (3, 12), (3, 13), (3, 14))
MACHINES = ("x86_64", "aarch64")
GLIBC = 28
"""The wheels of PyTorch and TensorFlow need glibc 2.28; Debian 12 has 2.36."""
PYPI = "https://pypi.org/simple"
TIMEOUT_S = 60
VENV_BYTES = 25 * 2**20
"""A virtual environment with nothing but pip and setuptools."""


@dataclass(frozen=True)
class PackageFile:
    """A file of a package: where it is, its hash (None where it is not PyPI's), and its sizes
    packed and unpacked."""

    url: str
    sha256: str | None
    download_bytes: int
    disk_bytes: int


class Unresolved(Exception):
    """There is no set of packages for a platform; the message is uv's."""


def platforms(framework: Framework) -> Iterator[Platform]:
    """Every platform that the framework may have a lock for."""
    highest = (
        tuple(map(int, framework.highest_python.split(".")))
        if framework.highest_python
        else PYTHONS[-1]
    )
    for machine in MACHINES:
        has_choice = any(each.machine == machine for each in framework.without_gpu)
        for python in (python for python in PYTHONS if python <= highest):
            yield from (
                Platform(machine, python, has_gpu)
                for has_gpu in ((False, True) if has_choice else (False,))
            )


def resolve(chosen: EnvironmentRecipe) -> list[str]:
    """``name==version`` of every package, sorted by name. Raises Unresolved."""
    framework, place = chosen.framework, chosen.platform
    with tempfile.TemporaryDirectory(prefix="lock-") as folder:
        constraints = Path(folder) / "build.txt"
        constraints.write_text(
            "".join(f"{line}\n" for line in framework.install.first), encoding="utf-8"
        )
        requirements = chosen.requirements + constraints.read_text(encoding="utf-8")
        command = [
            "uv",
            "pip",
            "compile",
            "-",
            "--no-header",
            "--no-annotate",
            "--quiet",
            "--build-constraints",
            str(constraints),
            "--python-version",
            ".".join(map(str, place.python)),
            "--python-platform",
            f"{place.machine}-manylinux_2_{GLIBC}",
        ]
        if chosen.index is not None and _is_reachable(chosen.index):
            command += ["--index", chosen.index, "--index-strategy", "unsafe-best-match"]
        variables = {
            name: value
            for name, value in os.environ.items()
            if chosen.index is not None or name != "UV_FIND_LINKS"
        }
        done = subprocess.run(
            command, input=requirements, env=variables, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise Unresolved(" ".join(done.stderr.split()))
    return [line.split(";")[0].strip() for line in done.stdout.splitlines() if "==" in line]


def lock(chosen: EnvironmentRecipe, pins: list[str]) -> str:
    """The text of the lock."""
    files = [find_file(pin, chosen) for pin in pins]
    gpu = "with" if chosen.platform.has_gpu else "without"
    python = ".".join(map(str, chosen.platform.python))
    disk_bytes = sum(file.disk_bytes for file in files) + VENV_BYTES
    return "\n".join(
        [
            (
                f"# {chosen.framework.title} for Python {python} on {chosen.platform.machine} {gpu}"
                " an NVIDIA GPU. Made by `python -m tools.lock_environments`; do not edit."
            ),
            f"# download_bytes = {sum(file.download_bytes for file in files)}",
            f"# disk_bytes = {disk_bytes}",
            *(
                f"{pin} --hash=sha256:{file.sha256}" if file.sha256 else pin
                for pin, file in zip(pins, files, strict=True)
            ),
            "",
        ]
    )


def find_file(pin: str, chosen: EnvironmentRecipe) -> PackageFile:
    """The file of a pinned package that pip would choose on the platform: the best wheel, else the
    source. Raises Unresolved."""
    name, version = package_name(pin), pin.partition("==")[2]
    wheels = tags_of(chosen.platform)
    of_version = [file for file in _at_pypi(name) if _version_of(file["filename"], name) == version]
    best = min(of_version, key=lambda file: _rank(file["filename"], wheels), default=None)
    if best is not None and _rank(best["filename"], wheels) <= len(wheels):
        return PackageFile(
            best["url"], best["hashes"]["sha256"], best["size"], unpacked_bytes(best["url"])
        )
    for url in _elsewhere(name, chosen.index):
        file_name = urllib.parse.unquote(url.rpartition("/")[2])
        if _version_of(file_name, name) == version and _rank(file_name, wheels) < len(wheels):
            with _opened(url) as response:
                return PackageFile(
                    url, None, int(response.headers["Content-Length"]), unpacked_bytes(url)
                )
    raise Unresolved(f"no file of {pin} fits")


def tags_of(place: Platform) -> dict[Tag, int]:
    """The tags of wheels that fit the platform, with their rank: 0 is what pip prefers."""
    names = [f"manylinux_2_{minor}_{place.machine}" for minor in range(GLIBC, 4, -1)]
    platform_names = [
        *names,
        f"manylinux2014_{place.machine}",
        f"manylinux2010_{place.machine}",
        f"manylinux1_{place.machine}",
        f"linux_{place.machine}",
    ]
    interpreter = f"cp{place.python[0]}{place.python[1]}"
    tags = [
        *cpython_tags(place.python, platforms=platform_names),
        *compatible_tags(place.python, interpreter, platform_names),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(tags)))}


def _rank(file_name: str, tags: dict[Tag, int]) -> int:
    """Rank of a file; that of the source comes after every wheel that fits, and wheels that do not
    fit last."""
    try:
        found = parse_wheel_filename(file_name)[3]
    except InvalidWheelFilename:
        return len(tags) if file_name.endswith((".tar.gz", ".zip")) else len(tags) + 1
    return min((tags[tag] for tag in found if tag in tags), default=len(tags) + 1)


def _version_of(file_name: str, name: str) -> str | None:
    if file_name.endswith(".whl"):
        return file_name.split("-")[1] if package_name(file_name.split("-")[0]) == name else None
    stem = re.sub(r"\.(tar\.gz|zip)$", "", file_name)
    return stem.rpartition("-")[2] if stem != file_name else None


@cache
def _at_pypi(name: str) -> tuple[dict[str, Any], ...]:
    request = urllib.request.Request(
        f"{PYPI}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return tuple(json.load(response)["files"])


def _elsewhere(name: str, index: str | None) -> list[str]:
    """Addresses of a package's files in the folder of wheels, and in the index beside pip's own."""
    folder = os.environ.get("UV_FIND_LINKS")
    found = (
        [path.absolute().as_uri() for path in sorted(Path(folder).glob("*.whl"))] if folder else []
    )
    if index is not None and _is_reachable(index):
        with _opened(f"{index}/{name}/") as page:
            links = re.findall(r'href="([^"#]+)', page.read().decode())
        found += [urllib.parse.urljoin(f"{index}/{name}/", link) for link in links]
    return found


@cache
def _is_reachable(index: str) -> bool:
    try:
        _opened(f"{index}/").close()
    except OSError as error:
        sys.stderr.write(f"note: {index} cannot be reached ({error})\n")
        return False
    return True


def _opened(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S)


@cache
def unpacked_bytes(url: str) -> int:
    """A package on disk: its files, and the bytecode of its modules, which is about as large as
    they are. Of a wheel only the list is read."""
    if url.endswith(".whl"):
        source: Any = (
            Path(urllib.request.url2pathname(urllib.parse.urlparse(url).path))
            if url.startswith("file:")
            else _RangedFile(url)
        )
        with zipfile.ZipFile(source) as archive:
            return _with_bytecode(
                (member.filename, member.file_size) for member in archive.infolist()
            )
    with _opened(url) as response, tarfile.open(fileobj=io.BytesIO(response.read())) as source:
        return _with_bytecode((member.name, member.size) for member in source)


def _with_bytecode(files: Iterable[tuple[str, int]]) -> int:
    return sum(size * (2 if name.endswith(".py") else 1) for name, size in files)


class _RangedFile(io.RawIOBase):
    """A file on a web server, read by ranges."""

    def __init__(self, url: str) -> None:
        self._url, self._position = url, 0
        with _opened(url, Range="bytes=0-0") as response:
            self._size = int(response.headers["Content-Range"].rpartition("/")[2])

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As a file's."""
        self._position = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        )
        return self._position

    def read(self, size: int = -1) -> bytes:
        """As a file's."""
        stop = self._size if size < 0 else min(self._size, self._position + size)
        if stop <= self._position:
            return b""
        with _opened(self._url, Range=f"bytes={self._position}-{stop - 1}") as response:
            content: bytes = response.read()
        self._position += len(content)
        return content


def main() -> int:
    """Write every lock that can be resolved, and print a line for each platform. Returns 1 if one
    could not be; its old lock is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", help="only this framework")
    arguments = parser.parse_args()
    failed = False
    for framework in load_frameworks():
        if (
            not framework.needs_environment
            or framework.environment_of
            or arguments.framework not in (None, framework.name)
        ):
            continue
        for place in platforms(framework):
            chosen, path = recipe(framework, place), lock_path(framework, place)
            try:
                text = lock(chosen, resolve(chosen))
            except Unresolved as error:
                sys.stdout.write(
                    f"no new lock for {framework.title}, {path.stem}: {str(error)[:300]}\n"
                )
                failed = True
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{recipe(framework, place).statement}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
