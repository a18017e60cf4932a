"""Limits on what processes may use of this machine, CPU time, memory and reads from a disk, by a
cgroup of their own (version 1 or 2)."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from reference_impls.contract import OWN_CGROUP
from suite.errors import SuiteError
from suite.files.shell_command import with_sudo
from suite.machine.clock_domains import online_cores
from suite.machine.procfs import device_tree, read_text
from suite.machine.storage import disk_of, mount_of

PERIOD_US = 100_000
MIN_CORES, MAX_CORES = 0.01, 4096.0
MIN_MEMORY_MB, MAX_MEMORY_MB = 4.0, 1e9
MIN_READ_MB_S, MAX_READ_MB_S = 0.1, 100_000.0
_CGROUPS = "sys/fs/cgroup"
_PI_REMEDY = (
    " Add cgroup_enable=memory to the line of /boot/firmware/cmdline.txt (before Debian 12:"
    " /boot/cmdline.txt) and reboot."
)
_MB = 1_000_000


@dataclass(frozen=True)
class Limit:
    """A limit as the kernel takes it: ``setting`` is what a person typed, the others are
    controllers and the files to write, in each version."""

    setting: str
    v1: str
    v2: str
    v1_values: tuple[tuple[str, str], ...]
    v2_values: tuple[tuple[str, str], ...]


def cpu_quota(cores: float) -> Limit:
    """CPU time of ``cores`` cores in each tenth of a second."""
    if not MIN_CORES <= cores <= MAX_CORES:
        raise SuiteError(f"cpu_quota {cores:g}: choose {MIN_CORES:g} to {MAX_CORES:g} cores.")
    quota_us = max(1000, round(cores * PERIOD_US))
    v1 = (("cpu.cfs_period_us", str(PERIOD_US)), ("cpu.cfs_quota_us", str(quota_us)))
    return Limit(
        f"cpu_quota {cores:g}", "cpu", "cpu", v1, (("cpu.max", f"{quota_us} {PERIOD_US}"),)
    )


def memory_limit(size_mb: float) -> Limit:
    """Memory of ``size_mb`` million bytes, the pages of files that the processes read first
    included: these are what the kernel takes back."""
    if not MIN_MEMORY_MB <= size_mb <= MAX_MEMORY_MB:
        raise SuiteError(
            f"memory_mb {size_mb:g}: choose {MIN_MEMORY_MB:g} to {MAX_MEMORY_MB:,.0f} million"
            " bytes."
        )
    size_bytes = str(round(size_mb * _MB))
    return Limit(
        f"memory_mb {size_mb:g}",
        "memory",
        "memory",
        (("memory.limit_in_bytes", size_bytes),),
        (("memory.max", size_bytes),),
    )


def idle_only() -> Limit:
    """CPU time that nothing else wants (Linux 5.15): any other task is given the core at once."""
    return Limit("cpu.idle", "cpu", "cpu", (("cpu.idle", "1"),), (("cpu.idle", "1"),))


def least_weight() -> Limit:
    """The smallest share of CPU time that kernels give: 2 of 1024 for each other task's, 1 of 100
    with version 2."""
    return Limit("least weight", "cpu", "cpu", (("cpu.shares", "2"),), (("cpu.weight", "1"),))


def read_limit(mb_s: float, folder: Path, root: Path = Path("/")) -> Limit:
    """Reads from the disk that holds ``folder``, in 10^6 bytes a second: a slower storage medium,
    emulated. Reads from the page cache are free.

    Raises SuiteError where the folder is on no disk of this machine.
    """
    setting = f"read_mb_s {mb_s:g}"
    if not MIN_READ_MB_S <= mb_s <= MAX_READ_MB_S:
        raise SuiteError(
            f"{setting}: choose {MIN_READ_MB_S:g} to {MAX_READ_MB_S:g} million bytes a second."
        )
    mount = mount_of(folder.resolve() if root == Path("/") else folder, root)
    disk = None if mount is None else disk_of(mount, root)
    number = None if disk is None else read_text(disk / "dev")
    if number is None:
        where = (
            "an unknown file system" if mount is None else f"{mount.file_system} ({mount.source})"
        )
        raise SuiteError(
            f"{setting}: {folder} is on {where}, which cannot be traced to a disk of this machine;"
            " put the data on a local disk (--data)."
        )
    rate = f"{number.strip()} {round(mb_s * _MB)}"
    return Limit(
        setting,
        "blkio",
        "io",
        (("blkio.throttle.read_bps_device", rate),),
        (("io.max", rate.replace(" ", " rbps=")),),
    )


@contextmanager
def process_limits(
    limits: Sequence[Limit], root: Path = Path("/")
) -> Iterator[Callable[[int], None]]:
    """A function that puts a process, and what it starts, under the limits; without any, one that
    does nothing.

    The groups are removed after the block, and so are groups that killed commands left. Raises
    SuiteError where one cannot be made.
    """
    # version 2 has one group for all limits: what is left is removed before the first is set
    for folder in {_folder(limit, root) for limit in limits}:
        for left in folder.glob(f"{OWN_CGROUP}*"):
            _remove(left)
    with ExitStack() as stack:
        groups = [stack.enter_context(_group(limit, root)) for limit in limits]

        def limit_process(pid: int) -> None:
            for group in groups:
                _write_setting(group / "cgroup.procs", str(pid), f"Process {pid} cannot be limited")

        yield limit_process


def refuse_limit(limit: Limit, root: Path = Path("/")) -> None:
    """Raise SuiteError where this machine or user cannot set the limit."""
    folder = _folder(limit, root)
    if os.access(folder, os.W_OK):
        return
    if os.geteuid() == 0:
        raise SuiteError(
            f"{limit.setting} cannot be set, not even by root: {folder} is on a file system that is"
            " read-only, as in a container; run the suite outside of it."
        )
    raise SuiteError(
        f"Only root may set limits ({limit.setting}: {folder} cannot be written); type:"
        f" {with_sudo()}"
    )


def refuse_quota(cores: float, root: Path = Path("/"), of_mode: int | None = None) -> None:
    """Raise SuiteError for CPU time of more cores than the run's power mode has on line, or the
    machine where the mode leaves them as they are: it limits nothing."""
    now = online_cores(root)
    on_line = len(now) if of_mode is None and now is not None else of_mode
    if on_line is not None and cores > on_line:
        whose = "this machine" if of_mode is None else "its power mode"
        raise SuiteError(
            f"cpu_quota {cores:g} limits nothing, because {whose} has {on_line} cores online;"
            f" choose at most {on_line} cores."
        )


@contextmanager
def when_idle(root: Path = Path("/")) -> Iterator[tuple[str, Callable[[int], None]]]:
    """As :func:`process_limits`, by the strongest way that the kernel has of giving a process idle
    CPU time only; first the way's name.

    SCHED_IDLE and nice do not reach across cgroups, and are too weak within one.
    """
    refuse_limit(idle_only(), root)
    with ExitStack() as stack:
        try:
            limit = idle_only()
            limit_process = stack.enter_context(process_limits([limit], root))
        except SuiteError:
            limit = least_weight()
            limit_process = stack.enter_context(process_limits([limit], root))
        yield limit.setting, limit_process


@contextmanager
def _group(limit: Limit, root: Path) -> Iterator[Path]:
    folder = _folder(limit, root)
    group, said = folder / f"{OWN_CGROUP}{os.getpid()}", f"{limit.setting} cannot be set"
    try:
        group.mkdir(exist_ok=True)
    except OSError as error:
        raise SuiteError(f"{said} in {group}: {error.strerror}.") from error
    try:
        is_v1 = folder.name == limit.v1
        if (
            not is_v1
            and limit.v2 not in (read_text(folder / "cgroup.subtree_control") or "").split()
        ):
            _write_setting(folder / "cgroup.subtree_control", f"+{limit.v2}", said)
        for name, value in limit.v1_values if is_v1 else limit.v2_values:
            _write_setting(group / name, value, said)
        yield group
    finally:
        _remove(group)


def _folder(limit: Limit, root: Path) -> Path:
    """The folder of the controller in which groups are made."""
    v1, v2 = root / _CGROUPS / limit.v1, root / _CGROUPS
    if (v1 / "cgroup.procs").exists():
        return v1
    if limit.v2 in (read_text(v2 / "cgroup.controllers") or "").split():
        return v2
    compatible = device_tree(root, "compatible") or ""
    raise SuiteError(
        f"{limit.setting}: the kernel offers no cgroup controller for this limit (there is no"
        f" /{_CGROUPS}/{limit.v1}, and /{_CGROUPS}/cgroup.controllers does not list {limit.v2})."
        + (_PI_REMEDY if limit.v2 == "memory" and "raspberrypi" in compatible else "")
    )


def _write_setting(path: Path, value: str, said: str) -> None:
    try:
        path.write_text(value, encoding="ascii")
    except OSError as error:
        raise SuiteError(f"{said} in {path.parent}: {error.strerror}.") from error


def _remove(group: Path) -> None:
    """Remove a group without processes; one that still has some stays for the next call."""
    with suppress(OSError):
        group.rmdir()
