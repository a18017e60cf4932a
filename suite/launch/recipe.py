"""What pip is given for a framework's environment: exact versions of the lock where there is one
for this platform, else the requirements' ranges."""

import json
import platform as this_platform
import re
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.frameworks import (
    Framework,
    WithCuda,
    WithoutGpu,
    load_framework,
    locks_folder,
    requirements_file,
)
from suite.errors import SuiteError

GPU_FILES = (
    "proc/driver/nvidia/version",
    "dev/nvidiactl",
    "dev/nvhost-gpu",
    "dev/nvgpu",
    "usr/lib/wsl/lib/libcuda.so.1",
)
CUDA_FILE = "usr/local/cuda/version.json"
"""Where NVIDIA's toolkit has its version, on PCs and on Jetson boards."""
HASH = "--hash="
_SIZES = re.compile(r"^# (download_bytes|disk_bytes) = (\d+)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Platform:
    """Where an environment is made: architecture, Python's version, whether an NVIDIA GPU is there,
    and the CUDA toolkit's major version, if any."""

    machine: str
    python: tuple[int, int]
    has_gpu: bool
    cuda: int | None = None


@dataclass(frozen=True)
class Lock:
    """Exact versions of every package. ``pins`` are lines for pip, with the hash where PyPI has the
    file; sizes are those of the packages."""

    path: Path
    pins: tuple[str, ...]
    download_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class EnvironmentRecipe:
    """How an environment is installed. ``lock`` None: pip chooses versions within ``requirements``;
    ``index`` is read beside pip's own."""

    framework: Framework
    platform: Platform
    requirements: str
    index: str | None
    lock: Lock | None

    @property
    def text(self) -> str:
        """What decides on the packages: pins without their hashes, or requirements."""
        return (
            "".join(f"{pin.split()[0]}\n" for pin in self.lock.pins)
            if self.lock
            else self.requirements
        )

    @property
    def statement(self) -> str:
        """One or two sentences: versions from where, how much to download, how much disk."""
        python = ".".join(map(str, self.platform.python))
        gpu = "with" if self.platform.has_gpu else "without"
        own = owner(self.framework)
        is_unused = not (own.without_gpu or _with_cuda(own, self.platform))
        where = (
            f"{self.framework.title} for Python {python} on {self.platform.machine} {gpu} an"
            f" NVIDIA GPU{', which it does not use' if self.platform.has_gpu and is_unused else ''}"
        )
        if self.lock is not None:
            sizes = (
                f"{_megabytes(self.lock.download_bytes)} to download,"
                f" {_megabytes(self.lock.disk_bytes)} on disk"
            )
            return (
                f"{where}: {len(self.lock.pins)} packages of the lock {self.lock.path.name},"
                f" {sizes}"
            )
        return (
            f"{where}: there is no lock file, so pip chooses versions within the requirements; to"
            f" download: {_of_other_pythons(self.framework, self.platform)}"
        )

    def steps(self, folder: Path) -> list[list[str]]:
        """pip's arguments, one list per call. Requirements are written into ``folder``.

        pip checks either all hashes of a call or none, so packages without one are installed by a
        call of their own.
        """
        install = owner(self.framework).install
        index = ["--extra-index-url", self.index] if self.index else []
        if self.lock is None:
            before = [list(install.first)] if install.first else []
            return [
                *before,
                [
                    *install.options,
                    *index,
                    "-r",
                    _write_requirements(
                        folder / "requirements.txt", self.requirements.splitlines()
                    ),
                ],
            ]
        hashed = [pin for pin in self.lock.pins if HASH in pin]
        bare = [pin for pin in self.lock.pins if HASH not in pin]
        names = {package_name(each) for each in install.first}
        first = [pin for pin in hashed if package_name(pin) in names]
        checked = ["--no-deps", "--require-hashes", "-r"]
        steps = [[*checked, _write_requirements(folder / "first.txt", first)]] if first else []
        steps.append(
            [*install.options, *checked, _write_requirements(folder / "hashed.txt", hashed)]
        )
        return [*steps, *([["--no-deps", *index, *bare]] if bare else [])]


def has_nvidia_gpu(root: Path = Path("/")) -> bool:
    """Whether the kernel has a driver of an NVIDIA GPU loaded: a PC's, a Jetson's or WSL's."""
    return any((root / name).exists() for name in GPU_FILES)


def current_platform(python: tuple[int, int] | None = None) -> Platform:
    """This machine; ``python`` is the version of the base interpreter (None: the harness's)."""
    own = this_platform.python_version_tuple()
    return Platform(
        this_platform.machine(),
        python or (int(own[0]), int(own[1])),
        has_nvidia_gpu(),
        cuda_toolkit(),
    )


def cuda_toolkit(root: Path = Path("/")) -> int | None:
    """The major version of the CUDA toolkit in its usual place; None without one."""
    try:
        values = json.loads((root / CUDA_FILE).read_text(encoding="utf-8"))
        return int(str(values["cuda"]["version"]).partition(".")[0])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def recipe(framework: Framework, place: Platform) -> EnvironmentRecipe:
    """How the framework's environment is installed on a platform."""
    own = owner(framework)
    builds = [each for each in own.without_gpu if each.machine == place.machine]
    without = next(iter(builds), None) if not place.has_gpu else None
    requirements = (
        _requirements(framework, without)
        if framework.version is None
        else _pinned(framework, without)
    )
    beside = _with_cuda(own, place)
    requirements += "".join(f"{package}\n" for package in (beside.packages if beside else ()))
    path = lock_path(framework, place)
    has_lock = framework.version is None and path.is_file()  # it is of the requirements' version
    return EnvironmentRecipe(
        framework,
        place,
        requirements,
        without.index if without else None,
        read_lock(path) if has_lock else None,
    )


def _with_cuda(own: Framework, place: Platform) -> WithCuda | None:
    return next(
        (each for each in own.with_cuda if place.has_gpu and each.version == place.cuda), None
    )


def lock_path(framework: Framework, place: Platform) -> Path:
    """The lock's file, which may not exist. Only where a machine without a GPU gets other packages,
    one with a GPU has a lock of its own."""
    own = owner(framework)
    has_choice, beside = (
        any(each.machine == place.machine for each in own.without_gpu),
        _with_cuda(own, place),
    )
    gpu = f"-cuda{beside.version}" if beside else "-cuda" if place.has_gpu and has_choice else ""
    return (
        locks_folder(framework)
        / f"linux-{place.machine}{gpu}-py{place.python[0]}.{place.python[1]}.txt"
    )


def _of_other_pythons(framework: Framework, place: Platform) -> str:
    """What the locks of the same machine for other versions of Python say."""
    names = lock_path(framework, place).name.rpartition("-py")[0] + "-py*.txt"
    found = (
        f"{_megabytes(read_lock(path).download_bytes)} by {path.name}"
        for path in sorted(locks_folder(framework).glob(names))
    )
    return ", ".join(found) or "an unknown size"


def read_lock(path: Path) -> Lock:
    """The lock in a file; raises SuiteError for a file that is not a lock."""
    text = path.read_text(encoding="utf-8")
    sizes = {name: int(value) for name, value in _SIZES.findall(text)}
    pins = tuple(
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")
    )
    if (
        set(sizes) != {"download_bytes", "disk_bytes"}
        or not pins
        or not all("==" in pin for pin in pins)
    ):
        raise SuiteError(
            f"{path} is not a lock file; create it again with `python -m tools.lock_environments`."
        )
    return Lock(path, pins, **sizes)


def package_name(requirement: str) -> str:
    """The name of a requirement, in the form in which names are compared (PEP 503)."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group()).lower() if found else ""


def owner(framework: Framework) -> Framework:
    """The framework whose environment it is."""
    return load_framework(framework.environment_of) if framework.environment_of else framework


def _requirements(framework: Framework, without: WithoutGpu | None) -> str:
    path = requirements_file(framework)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    instead = {package_name(package): package for package in without.packages} if without else {}
    return "".join(f"{instead.get(package_name(line), line)}\n" for line in lines)


def _pinned(framework: Framework, without: WithoutGpu | None) -> str:
    """The requirements with the framework's own package in the version that was asked for; of other
    exact versions pip chooses what goes with it."""
    names = {package_name(package) for package in framework.packages}
    lines = _requirements(framework, without).splitlines()
    return "".join(
        f"{_with_version(line, framework.version if package_name(line) in names else None)}\n"
        for line in lines
    )


def _with_version(line: str, version: str | None) -> str:
    """A requirement with another version, or without its exact one; a build's label (+cpu) and the
    marker stay."""
    package, separator, marker = line.partition(";")
    name, is_exact, old = package.strip().partition("==")
    label = f"+{old.partition('+')[2]}" if "+" in old else ""
    found = line if not is_exact else name if version is None else f"{name}=={version}{label}"
    return found if found == line else f"{found}{separator}{marker}"


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f} MB"


def _write_requirements(path: Path, lines: list[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)
