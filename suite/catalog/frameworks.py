"""Frameworks: every folder of ``reference_impls`` with a ``framework.toml``."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath

from suite.catalog.data_sets import DataSetDefinition
from suite.catalog.definitions import unknown_name
from suite.catalog.precisions import Precision
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.files.spreadsheet import problem_of_text
from suite.files.toml_file import read_toml

MANIFEST = "framework.toml"
REFERENCE = "pytorch"
"""The framework with which `suite verify-model` compares the others."""

VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z]+)*(\+[0-9A-Za-z.]+)?")
"""A version as pip takes it after ==."""

IMPLEMENTATION_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class Install:
    """How pip installs the framework: packages to install first, then pip's options for the
    requirements."""

    first: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class WithoutGpu:
    """Builds without CUDA: ``packages`` stand in place of the requirements of their names on a
    machine without an NVIDIA GPU.

    ``machine`` is its architecture, ``index`` the package index that has them (None: pip's own
    has).
    """

    machine: str
    packages: tuple[str, ...]
    index: str | None = None


@dataclass(frozen=True)
class WithCuda:
    """``packages`` that a machine with an NVIDIA GPU gets beside the requirements, where its CUDA
    toolkit is of this major version."""

    version: int
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Crash:
    """Versions that crash on ARM processors ``without`` a feature of /proc/cpuinfo, as ``cores``;
    ``works`` is a version that does not."""

    versions: tuple[str, ...]
    without: str
    cores: str
    works: str
    source: str


@dataclass(frozen=True)
class NeededProgram:
    """A program that an implementation's commands need on this machine, and how one installs it."""

    program: str
    install: str


class Capability(str, enum.Enum):
    """What an implementation may declare to do beside what every one must; those of the checkout
    do all of it."""

    STATES = "training-states"
    ACCUMULATION = "accumulation"
    RANKS = "several-ranks"
    SHARES = "unequal-shares"


@dataclass(frozen=True)
class Framework:
    """A framework's implementation, as ``framework.toml`` declares it: the program to start and its
    environment.

    In the checkout that is ``python -m`` with ``module``. An implementation elsewhere names its
    commands (suite.catalog.commands): ``train``, ``probe`` (empty: it has none) and ``build``,
    which runs before either, outside of any measurement; ``needs`` are the programs that they call.
    ``packages`` are the names of the package as pip installs it, one of which has the framework's
    version; empty where there is none. ``environment_of`` is another framework whose environment it
    uses. ``open_only``: its computation differs from the closed division's. ``precisions`` are
    those that it computes in, the one without --precision first. ``asynchronous_on`` are the
    accelerators that its training loop need not wait for in every step (--timing asynchronous).
    ``without_recomputation`` says why it follows no schedule of recomputation (suite.memory);
    empty: it does. ``capabilities`` are those of an implementation elsewhere. ``layouts`` are those
    of the data sets that it reads; empty: every one. ``whole_models_only``: it neither starts from
    a checkpoint nor trains a part of a model.
    """

    name: str
    title: str
    module: str = ""
    import_name: str = ""  # a module that the environment must have
    needs_environment: bool = False
    language: str = "Python"
    train: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    needs: tuple[NeededProgram, ...] = ()
    packages: tuple[str, ...] = ()
    highest_python: str | None = None
    install: Install = Install()
    environment_of: str | None = None
    open_only: bool = False
    precisions: tuple[Precision, ...] = (Precision.FLOAT32,)
    asynchronous_on: tuple[str, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    layouts: tuple[str, ...] = ()
    whole_models_only: bool = False
    without_recomputation: str = "its implementation cannot follow a schedule of recomputation"
    without_gpu: tuple[WithoutGpu, ...] = ()
    with_cuda: tuple[WithCuda, ...] = ()
    gpu_build: str = ""  # an expression that is true of builds for GPUs, in Python
    crashes: tuple[Crash, ...] = ()
    # the folder of an implementation that is not in the checkout; never in the file
    outside: str | None = None
    # another one than the requirements', in an environment beside theirs; never in the file
    version: str | None = None

    @property
    def serves_closed(self) -> bool:
        """A real framework whose computation is that of the closed division: it is verified,
        audited and compared with the others."""
        return self.needs_environment and not self.open_only

    @property
    def keeps_states(self) -> bool:
        """Whether it keeps its training states, and continues from them."""
        return self.outside is None or Capability.STATES in self.capabilities

    @property
    def argument(self) -> str:
        """What `suite env create` takes: the name, with a version that was asked for, or the
        folder."""
        return self.outside or (
            self.name if self.version is None else f"{self.name}=={self.version}"
        )


def implementations_folder(root: Path | None = None) -> Path:
    """The folder of the implementations."""
    return (root or repository_root()) / "reference_impls"


def requirements_file(framework: Framework) -> Path:
    """The requirements that pip installs into the framework's environment."""
    if framework.outside is not None:
        return Path(framework.outside) / "requirements.txt"
    return (
        implementations_folder() / (framework.environment_of or framework.name) / "requirements.txt"
    )


def locks_folder(framework: Framework) -> Path:
    """The folder of the framework's locks, one per platform, which `python -m
    tools.lock_environments` writes.

    It is apart from the framework's own: what an implementation is does not change when a lock of
    another platform is made.
    """
    if framework.outside is not None:
        return Path(framework.outside) / "locks"
    return implementations_folder() / "locks" / (framework.environment_of or framework.name)


def load_framework(name: str, root: Path | None = None) -> Framework:
    """The framework of this name, or name==version; raises SuiteError with the nearest name if
    there is none."""
    known = {framework.name: framework for framework in load_frameworks(root)}
    plain, pinned, version = name.partition("==")
    if plain.partition("=")[0] in known and plain not in known:
        raise SuiteError(
            f"{name!r} is not a framework; write a version with two equals signs, such as "
            f"{plain.replace('=', '==', 1)}."
        )
    if plain not in known:
        raise SuiteError(unknown_name("framework", plain, sorted(known), "`suite list frameworks`"))
    if not pinned:
        return known[plain]
    if not VERSION.fullmatch(version):
        raise SuiteError(f"{name!r} names no version; write it as {plain}==1.2.3.")
    if not known[plain].packages or known[plain].environment_of is not None:
        raise SuiteError(
            f"The version of {known[plain].title} cannot be chosen; write {plain} without a"
            " version."
        )
    return replace(known[plain], version=version)


def load_frameworks(root: Path | None = None) -> tuple[Framework, ...]:
    """All frameworks, sorted by name."""
    return tuple(_load(path) for path in sorted(implementations_folder(root).glob(f"*/{MANIFEST}")))


@cache
def known_frameworks() -> Mapping[str, Framework]:
    """All frameworks of the suite by name, read once: several rules ask for them about every
    bundle."""
    return {framework.name: framework for framework in load_frameworks()}


def is_own(name: str) -> bool:
    """Whether the framework's implementation is one of the checkout's: it runs the suite's own
    training loop."""
    return name in known_frameworks()


def load_implementation(place: Path) -> Framework:
    """The implementation in a folder anywhere; raises SuiteError for a folder without a manifest,
    and for one that cannot be started."""
    path = place.absolute() / MANIFEST
    if not path.is_file():
        raise SuiteError(
            f"{place} has no {MANIFEST}; write one as docs/implementing.md says, or start with "
            "`suite implementation new NAME`."
        )
    framework = read_toml(path, Framework)
    if (
        framework.outside is not None
        or framework.version is not None
        or framework.module
        or not framework.train
    ):
        raise SuiteError(
            f'{path}: write the command as train = ["…"], and remove the keys'
            " 'module', 'outside' and 'version'."
        )
    if not IMPLEMENTATION_NAME.fullmatch(framework.name):
        raise SuiteError(
            f"{path}: the name {framework.name[:80]!r} must begin with a lower-case letter and have"
            " at most 40 lower-case letters, digits, '-' and '_', because folders are named after"
            " it."
        )
    for key, text in (("title", framework.title), ("language", framework.language)):
        problem = problem_of_text(text) or _problem_of_line(text)
        if problem is not None:
            raise SuiteError(f"{path}: {key} is refused: {problem}; write plain text.")
    _refuse_undigested(framework, path)
    if framework.name in {known.name for known in load_frameworks()}:
        raise SuiteError(
            f"{path}: {framework.name!r} is the name of a reference implementation; choose another"
            " one."
        )
    return replace(framework, outside=str(path.parent))


def _problem_of_line(text: str) -> str | None:
    """Why a title is refused; None where it is not."""
    if not 1 <= len(text.strip()) <= 80:
        return "it is empty or has more than 80 characters"
    return None if text.isprintable() else "it has line breaks or invisible characters"


def _refuse_undigested(framework: Framework, path: Path) -> None:
    """Raise SuiteError for a command that names a file which the implementation's digest leaves
    out: above its folder, or hidden."""
    for word in (*framework.train, *framework.probe, *framework.build):
        place = PurePath(word)
        is_left_out = any(part.startswith(".") for part in place.parts)
        if is_left_out and not place.is_absolute() and (path.parent / place).exists():
            raise SuiteError(
                f"{path}: {word!r} is hidden or above the implementation's folder, so the"
                " implementation's digest leaves it out; put the file into the folder, under a name"
                " that does not begin with a dot."
            )


def refuse_without(framework: Framework, capability: Capability, option: str) -> None:
    """Raise SuiteError for an option that needs what an implementation does not declare."""
    if framework.outside is not None and capability not in framework.capabilities:
        raise SuiteError(
            f"{framework.title} does not declare {capability.value!r} among the capabilities in its"
            f" {MANIFEST} (docs/implementing.md); leave {option} out."
        )


def refuse_layout(framework: Framework, definition: DataSetDefinition) -> None:
    """Raise SuiteError for a data set in a layout that the framework does not read."""
    if framework.layouts and definition.layout not in framework.layouts:
        raise SuiteError(
            f"{framework.title} reads data in the layout {' or '.join(framework.layouts)};"
            f" {definition.name!r} is in the layout {definition.layout}. Choose another framework"
            " or workload."
        )


def refuse_adaptation(framework: Framework, workload: str) -> None:
    """Raise SuiteError where the framework cannot adapt the workload's checkpoint."""
    if framework.whole_models_only:
        raise SuiteError(
            f"{framework.title} trains whole models only, and {workload!r} adapts a checkpoint;"
            " choose another framework or workload."
        )


def refuse_precision(framework: Framework, precision: Precision, accelerator: str) -> None:
    """Raise SuiteError for a precision that the framework does not declare, or that the accelerator
    ("cpu" or "cuda") does not have."""
    if precision not in framework.precisions:
        known = ", ".join(one.value for one in framework.precisions)
        raise SuiteError(
            f"{framework.title} computes in {known}, not in {precision.value}; choose another"
            " --precision or --framework."
        )
    if precision is Precision.TF32 and accelerator == "cpu":
        raise SuiteError(
            "No CPU computes in TF32; use --accelerator cuda with a GPU that does, or remove"
            " --precision tf32."
        )


def _load(path: Path) -> Framework:
    framework = read_toml(path, Framework)
    if framework.name != path.parent.name:
        raise SuiteError(
            f"{path}: the name is {framework.name!r} but the folder is called {path.parent.name!r};"
            " make them equal."
        )
    if not framework.module or framework.outside is not None or framework.version is not None:
        raise SuiteError(
            f"{path}: set the key 'module', and remove 'outside' and 'version': a framework in the"
            " checkout is started as `python -m MODULE`."
        )
    return framework
