"""One virtual environment per framework, because their NumPy requirements conflict; or an
interpreter that already has the framework.

An environment is below the suite's home, named after the framework and a digest of what pip is
given (suite.launch.recipe): checkouts with the same lock or requirements share it, and changed ones
create a new one.
"""

import fcntl
import json
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.files import paths
from suite.files.canonical import sha256_of_text
from suite.files.durable import refuse_no_folder
from suite.files.file_lock import take_lock
from suite.files.json_file import read_json, write_json
from suite.files.schema import from_plain
from suite.launch.child_environment import child_environment
from suite.launch.command import last_line
from suite.launch.obstacles import (
    python_of_vendor,
    refuse_crash,
    refuse_obstacles,
    refuse_python,
)
from suite.launch.recipe import (
    EnvironmentRecipe,
    current_platform,
    owner,
    package_name,
    recipe,
)

RECORD = "environment.json"
Report = Callable[[str], None]
Start = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Environment:
    """The interpreter that runs a framework's implementation, and its installed packages (pip's
    names and versions) when it was made or adopted; ``python`` is its version, once asked."""

    framework: str
    interpreter: Path
    packages: dict[str, str]
    python: str | None = None


@dataclass(frozen=True)
class _Record:
    """The file RECORD: what an Environment has, as JSON has it."""

    framework: str
    interpreter: str
    packages: Mapping[str, str]


def environment_folder(framework: Framework, home: Path | None = None) -> Path:
    """The folder of the framework's environment, which may not exist yet."""
    python = platform.python_version_tuple()[:2]
    decides = recipe(framework, current_platform()).text + repr(
        (framework.install, python, platform.machine())
    )
    name = framework.environment_of or framework.name
    return (home or paths.suite_home()) / "envs" / f"{name}-{sha256_of_text(decides)[:12]}"


def find_environment(framework: Framework, home: Path | None = None) -> Environment:
    """The framework's environment; raises SuiteError naming the command that creates it.

    A framework that needs none runs in the harness's interpreter, unless another one was adopted:
    several ranks need mpi4py.
    """
    path = environment_folder(framework, home) / RECORD
    if not framework.needs_environment and not path.is_file():
        return Environment(framework.name, Path(sys.executable), {})
    create = f"suite env create {framework.argument}"
    if not path.is_file():
        raise SuiteError(
            f"There is no environment for {framework.title}", f"create it with `{create}`"
        )
    again = "--force" if framework.needs_environment else "--interpreter PATH"
    remedy = f"create it again with `{create} {again}`"
    try:
        record = from_plain(read_json(path), _Record, f"{path}: ")
    except SuiteError as error:
        said = str(error).rstrip(".")
        raise SuiteError(
            f"The record of the {framework.title} environment cannot be used ({said})", remedy
        ) from error
    environment = Environment(framework.name, Path(record.interpreter), dict(record.packages))
    if not environment.interpreter.exists():
        raise SuiteError(
            f"The interpreter of the {framework.title} environment is gone"
            f" ({environment.interpreter})",
            remedy,
        )
    return environment


def as_it_is(environment: Environment, start: Start = list) -> Environment:
    """The environment with the version and packages that its interpreter has now; one that was
    asked is not asked again. Of the harness's, and of one without pip, no packages are listed.
    ``start``: the command that starts another one, such as in a container."""
    if environment.python is not None and start is list:
        return environment
    asked = "import platform; print(platform.python_version())"
    version = _asked(start([str(environment.interpreter), "-c", asked])).stdout.strip()
    packages = _packages(environment.interpreter, start) if environment.packages else {}
    return replace(environment, packages=packages or {}, python=version or None)


def create_environment(
    framework: Framework,
    report: Report,
    python: Path | None = None,
    home: Path | None = None,
    force: bool = False,
) -> Environment:
    """Create the framework's environment with venv and pip; packages come from pip's configured
    index. Where the board's vendor built the framework for its GPU, that interpreter is used.

    ``python`` is the base interpreter (default: the harness's). What is downloaded is reported
    before it is. An incomplete environment is removed, and the one before it stays.
    """
    place = environment_folder(framework, home)
    if (place / RECORD).is_file() and not force:
        return _environment_there(framework, python, home)
    vendors = vendor_environment(framework) if python is None else None
    if vendors is not None:
        report(
            f"{vendors.interpreter} already has a build of {framework.title} for this GPU, so"
            " nothing is installed"
        )
        return _recorded(vendors, place)
    chosen = plan_environment(framework, python)
    report(chosen.statement)
    with _write_errors(place):
        refuse_no_folder(place.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
    with _log_of_one(place, report) as log:
        if (place / RECORD).is_file() and not force:
            return _environment_there(framework, python, home)  # made while this one waited
        free = shutil.disk_usage(place.parent).free
        if chosen.lock is not None and free < chosen.lock.disk_bytes:
            raise SuiteError(
                f"{framework.title} needs {chosen.lock.disk_bytes / 1e6:.0f} MB in {place.parent},"
                f" which has {free / 1e6:.0f} MB left; free some space, or choose another folder"
                " with SUITE_HOME."
            )
        with _replaced(place):
            report(f"creating {place}")
            log.truncate(0)
            return _recorded(_installed(chosen, python, place, log, report), place)


def _environment_there(framework: Framework, python: Path | None, home: Path | None) -> Environment:
    """The environment that exists; raises SuiteError where ``python`` is another."""
    found = find_environment(framework, home)
    asked = found.interpreter if python is None else Path(shutil.which(str(python)) or python)
    if asked.resolve() != found.interpreter.resolve():
        raise SuiteError(
            f"{framework.title} already runs in {found.interpreter}, another Python than {python}",
            "add --force to build a new environment",
        )
    return found


@contextmanager
def _log_of_one(place: Path, report: Report) -> Iterator[TextIO]:
    """The log beside the environment, after the end of any other command that creates the same
    one."""
    with _write_errors(place):
        output = place.with_suffix(".log").open("a", encoding="utf-8")
    with output:
        if not take_lock(output.fileno()):
            report(f"another command creates {place}; this one waits for its end")
            fcntl.flock(output, fcntl.LOCK_EX)
        yield output


@contextmanager
def _replaced(place: Path) -> Iterator[None]:
    """The folder is made anew; where that fails, the environment that was there comes back."""
    before = place.with_suffix(".before")
    if (place / RECORD).is_file():
        shutil.rmtree(before, ignore_errors=True)
        with _write_errors(place):
            place.rename(before)
    shutil.rmtree(place, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):  # there was none, or the new one could not be removed
            before.rename(place)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _installed(
    chosen: EnvironmentRecipe, python: Path | None, place: Path, log: TextIO, report: Report
) -> Environment:
    framework, interpreter = chosen.framework, place / "bin" / "python"
    _run_logged([str(python or sys.executable), "-m", "venv", str(place)], log, framework)
    for arguments in chosen.steps(place / "installed"):
        report(f"pip install {' '.join(arguments)} (from the network, or pip's cache)")
        _run_logged([str(interpreter), "-m", "pip", "install", *arguments], log, framework)
    return _examined(framework, interpreter)


def adopt_interpreter(
    framework: Framework, interpreter: Path, home: Path | None = None
) -> Environment:
    """Use an interpreter that already has the framework: a Jetson's system Python with NVIDIA's
    build, for example.

    Raises SuiteError as :func:`adoptable_environment`; then nothing is written.
    """
    return _recorded(
        adoptable_environment(framework, interpreter), environment_folder(framework, home)
    )


def adoptable_environment(framework: Framework, interpreter: Path) -> Environment:
    """What :func:`adopt_interpreter` would record; writes nothing. Raises SuiteError for what is no
    Python, or one without the framework."""
    path = shutil.which(str(interpreter))
    if path is None:
        raise SuiteError(
            f"{interpreter} is not an interpreter that can be started; give the path of a Python"
            f" that has {framework.title}."
        )
    return _examined(framework, Path(path).absolute())


def vendor_environment(framework: Framework, root: Path = Path("/")) -> Environment | None:
    """The board's own interpreter, where it has a build of the framework for the board's GPU and no
    other version was asked for."""
    python, own = python_of_vendor(root), owner(framework)
    if python is None or not own.gpu_build or framework.version is not None:
        return None
    try:
        _examined(own, python, own.gpu_build)
        return _examined(framework, python)
    except SuiteError:
        return None


@dataclass(frozen=True)
class OtherVersion:
    """A package of an environment that is not in the version which the requirements name exactly;
    ``found`` None where it is missing."""

    package: str
    required: str
    found: str | None


def other_versions(framework: Framework, environment: Environment) -> list[OtherVersion]:
    """Packages of an adopted interpreter in other versions than the framework's requirements name;
    a build's suffix (+cpu) is no other version."""
    installed = {package_name(name): version for name, version in environment.packages.items()}
    exact = (
        line.partition("==")
        for line in recipe(framework, current_platform()).requirements.splitlines()
        if "==" in line and ";" not in line
    )
    found = (
        (package_name(name), required.strip(), installed.get(package_name(name)))
        for name, _, required in exact
    )
    return [
        OtherVersion(*one)
        for one in found
        if one[2] is None or one[2].partition("+")[0] != one[1].partition("+")[0]
    ]


def plan_environment(framework: Framework, python: Path | None = None) -> EnvironmentRecipe:
    """What :func:`create_environment` installs; raises SuiteError for an interpreter that the
    framework has no packages for."""
    base, own = python or Path(sys.executable), owner(framework)
    version = _version(base)
    refuse_python(own, version, base)
    found = recipe(framework, current_platform(version))
    refuse_obstacles(own, base, found.lock.download_bytes if found.lock else None)
    pins = (line.split(";")[0].partition("==") for line in found.text.splitlines())
    refuse_crash(own, {package_name(name): pin.strip() for name, _, pin in pins})
    return found


def _version(python: Path) -> tuple[int, int]:
    """The interpreter's version."""
    script = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(python), "-c", script],
            env=_variables(),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SuiteError(
            f"{python} is not an interpreter that can be started; give another with --python."
        ) from error
    major, minor = map(int, answer.stdout.split())
    return major, minor


def _examined(framework: Framework, interpreter: Path, condition: str = "True") -> Environment:
    """Check that the framework can be imported and meets the condition, and list the installed
    packages."""
    script = f"import {framework.import_name or 'sys'}; assert {condition}"
    probe = _asked([str(interpreter), "-c", script])
    if probe.returncode == -signal.SIGILL:
        raise SuiteError(
            f"{interpreter} crashed at an illegal instruction while importing"
            f" {framework.import_name}: this {framework.title} is built for newer processors;"
            f" install another version of {framework.title} for this interpreter."
        )
    if probe.returncode != 0:
        said = last_line(probe.stderr, "no message")
        raise SuiteError(f"{interpreter} cannot `import {framework.import_name}`: {said}")
    packages = _packages(interpreter)
    if packages is None:
        raise SuiteError(
            f"{interpreter} does not work as a Python interpreter; give the path of one that has"
            f" {framework.title}."
        )
    own = owner(framework)
    refuse_crash(own, {package_name(name): version for name, version in packages.items()})
    return Environment(framework.name, interpreter, packages)


def _packages(interpreter: Path, start: Start = list) -> dict[str, str] | None:
    """What pip lists; nothing without pip, and None of what is no Python."""
    listing = _asked(start([str(interpreter), "-m", "pip", "list", "--format", "json"]))
    if listing.returncode != 0:
        return {}
    try:
        return {entry["name"]: entry["version"] for entry in json.loads(listing.stdout)}
    except ValueError:
        return None


def _asked(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env=_variables(), capture_output=True, text=True, cwd="/")


def _variables() -> dict[str, str]:
    """Those of a training, without the shell's for Python; pip advertises nothing, so that its last
    line is the error."""
    return {**child_environment(1), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _recorded(environment: Environment, place: Path) -> Environment:
    """The environment, which :func:`find_environment` then finds in ``place``."""
    record = _Record(environment.framework, str(environment.interpreter), environment.packages)
    with _write_errors(place):
        place.mkdir(parents=True, exist_ok=True)
        write_json(place / RECORD, record)
    return environment


@contextmanager
def _write_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SuiteError(
            f"The environment cannot be written to {place}: {error.strerror}; choose another folder"
            " with SUITE_HOME."
        ) from error


def _run_logged(command: list[str], output: TextIO, framework: Framework) -> None:
    output.flush()
    result = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=_variables())
    if result.returncode != 0:
        printed = Path(output.name).read_text(encoding="utf-8", errors="replace")
        raise SuiteError(
            f"The environment for {framework.title} could not be created: `{' '.join(command[1:4])}"
            f" …` ended with {result.returncode} ({last_line(printed)}); see"
            f" {output.name}, then run `suite env create {framework.argument}` again."
        )
