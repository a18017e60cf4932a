"""`suite bringup`: gathers what one board reports into one file, shows it before it is kept, and
leaves it whatever happens later."""

import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from suite import __version__
from suite.errors import SuiteError
from suite.extensions.bringup.measuring import collecting, staircase, trials
from suite.extensions.bringup.measuring.sanitising import Sanitiser
from suite.extensions.bringup.record import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    RUNNING,
    SCHEMA,
    SUFFIX,
    BringUp,
    File,
)
from suite.files.json_file import write_json
from suite.files.schema import from_plain
from suite.launch.child_environment import usable_cores
from suite.machine.board_digest import board_digest
from suite.machine.identify import identify
from suite.machine.procfs import read_text
from suite.machine.system import board_name, device_tree_compatible
from suite.meters.registry import open_meters

QEMU = "qemu"


@dataclass(frozen=True)
class BringUpOptions:
    """``output`` is the file (default: ``<device>-<date>.bringup.json`` here); ``with_identity``
    False leaves the board's digest out."""

    output: Path | None = None
    step_s: float = 20.0
    with_identity: bool = True


@dataclass(frozen=True)
class WrittenBringUp:
    """The file, and what it holds."""

    path: Path
    bringup: BringUp


def bring_up(
    options: BringUpOptions,
    confirm: Callable[[BringUp], bool],
    report: Callable[[str], None],
    root: Path = Path("/"),
    also: Callable[[BringUp], Iterable[str]] = lambda found: (),
) -> WrittenBringUp:
    """Bring up the machine below ``root``.

    ``also`` collects more, and returns what failed of it. ``confirm`` gets everything that was
    collected, before anything is written; after it, only numbers and failures are added. Raises
    SuiteError where it returns False, or the file cannot be written. Whatever fails later is
    recorded in the file. Ctrl-C raises KeyboardInterrupt, whose message names the file that was
    kept.
    """
    plan = _plan(options)
    session = _Session(_described(root, options.with_identity), Sanitiser(root), options)
    refuse_existing(session.path)
    try:
        session.collect(root, report)
        for failure in also(session.cleaned()):
            session.fail(failure)
        if not confirm(session.cleaned()):
            raise SuiteError("Nothing was kept.")
        session.write()
        session.measure(plan, root, report)
    except KeyboardInterrupt as interrupt:
        if not session.is_written:
            raise KeyboardInterrupt("nothing was kept") from interrupt
        session.add(status=INTERRUPTED)
        session.write()
        raise KeyboardInterrupt(
            f"{session.path} holds what was collected before the interruption"
        ) from interrupt
    session.add(status=FAILED if session.bringup.failures else COMPLETE)
    session.write()
    return WrittenBringUp(session.path, session.cleaned())


def default_path(found: BringUp) -> Path:
    """The file of a bring-up for which none was named."""
    return Path(f"{'emulated-' if found.emulator else ''}{found.device}-{found.date}{SUFFIX}")


def refuse_existing(path: Path) -> None:
    """Raise SuiteError where the file exists, or its folder does not."""
    if path.exists():
        raise SuiteError(f"{path} exists; move it away, or choose another file with --output.")
    if not path.parent.is_dir():
        raise SuiteError(
            f"{path.parent} is not a folder; make it, or choose another file with --output."
        )


def _plan(options: BringUpOptions) -> staircase.Plan:
    """The staircase on the cores that this process may use; raises SuiteError where it takes too
    long."""
    plan = staircase.plan(usable_cores(), options.step_s)
    longest_s = staircase.MAX_STAIRCASE_S / len(plan.levels)
    if not staircase.MIN_STEP_S <= options.step_s <= longest_s:
        raise SuiteError(
            f"With {len(plan.levels)} steps, --seconds must be from {staircase.MIN_STEP_S:g} to"
            f" {math.floor(longest_s)}."
        )
    return plan


class _Session:
    """A bring-up while it goes on: what was found so far, and its file once it may be written."""

    def __init__(self, bringup: BringUp, sanitiser: Sanitiser, options: BringUpOptions) -> None:
        self.bringup, self._sanitiser = bringup, sanitiser
        self.path = (options.output or default_path(bringup)).absolute()
        self.is_written = False

    def add(self, **found: Any) -> None:
        """Add fields of the bring-up."""
        self.bringup = replace(self.bringup, **found)

    def collect(self, root: Path, report: Callable[[str], None]) -> None:
        """Files, programs and the meters' first readings."""
        files: dict[str, str] = {}
        reading: list[str] = []
        report("reading the kernel's files")
        with self._kept_failure("collecting the kernel's files", reading):
            collecting.call_within(
                collecting.FILES_LIMIT_S, lambda: collecting.collect_files(root, files, reading)
            )
        self.add(files=tuple(File(path, content) for path, content in sorted(files.copy().items())))
        with self._kept_failure("running the vendors' programs", reading):
            for program in collecting.run_programs(root, report):
                self.add(programs=(*self.bringup.programs, program))
        with self._kept_failure("reading the meters", reading):
            for trial in trials.try_meters(root, report):
                self.add(meters=(*self.bringup.meters, trial))
        with self._kept_failure("reading the meters from the collected files", reading):
            self.add(meters=tuple(trials.replayed(self.cleaned())))
        for trial in self.bringup.meters:
            if trial.is_replayed is False:
                self.fail(
                    f"{trial.name} reads other channels from the collected files than from the"
                    " board"
                )

    def measure(self, plan: staircase.Plan, root: Path, report: Callable[[str], None]) -> None:
        """The staircase, and the calibrations that follow from it; raises KeyboardInterrupt after
        what was measured until then is added."""
        names = {trial.name for trial in self.bringup.meters if trial.available}
        meters = [meter for meter in open_meters(root) if meter.name in names]
        found: staircase.Staircase | None = None
        with self._kept_failure("the staircase", []):
            found = staircase.climb(plan, meters, report)
        if found is None:
            return
        with self._kept_failure("the staircase's figures", []):
            self.add(
                step_s=plan.step_s,
                steps=staircase.describe_steps(found),
                ranges=staircase.ranges(found),
            )
        with self._kept_failure("the calibration", []):
            self.add(calibrations=staircase.calibrations(found))
        for record in found.records:
            if record.failures:
                self.fail(
                    f"{record.name} failed {record.failures} times in the staircase; last error:"
                    f" {record.last_error}"
                )
        if found.was_interrupted:
            raise KeyboardInterrupt

    def cleaned(self) -> BringUp:
        """The bring-up without what identifies the board or its owner."""
        self._sanitiser.removed.clear()
        texts = _cleaned(asdict(self.bringup), self._sanitiser)
        removed = tuple(
            f"{kind}: {count}" for kind, count in sorted(self._sanitiser.removed.items()) if count
        )
        found = from_plain(texts, BringUp, "")
        files = {file.path: file for file in found.files}  # two names may become one
        return replace(found, files=tuple(files.values()), removed=removed)

    def write(self) -> None:
        """Write the file, whole."""
        try:
            write_json(self.path, self.cleaned())
        except OSError as error:
            raise SuiteError(
                f"{self.path} cannot be written ({error.strerror}); choose another file with"
                " --output."
            ) from error
        self.is_written = True

    @contextmanager
    def _kept_failure(self, what: str, at: list[str]) -> Iterator[None]:
        """A failure of the block is part of the file, and the bring-up goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever a driver or a program does, the file is written
            self.fail(f"{what}{f' (at {at[0]})' if at else ''}: {type(error).__name__}: {error}")

    def fail(self, failure: str) -> None:
        """Add what failed."""
        self.add(failures=(*self.bringup.failures, failure))


def _described(root: Path, with_identity: bool) -> BringUp:
    """What names the board, before anything was collected."""
    identity = identify(root)
    return BringUp(
        schema=SCHEMA,
        suite=__version__,
        date=time.strftime("%Y-%m-%d"),
        status=RUNNING,
        emulator=emulator(root),
        device=identity.device.name,
        evidence=identity.evidence,
        board=board_name(root),
        compatible=device_tree_compatible(root),
        architecture=platform.machine(),
        kernel=platform.release(),
        board_digest=board_digest(root).digest if with_identity else None,
    )


def emulator(root: Path = Path("/")) -> str | None:
    """The emulator in which the machine below ``root`` runs: ``qemu`` where its firmware or device
    tree says so, else None."""
    vendor = read_text(root / "sys/class/dmi/id/sys_vendor") or ""
    is_qemu = any((root / "proc/device-tree").glob("fw-cfg@*")) or QEMU in vendor.lower()
    return QEMU if is_qemu else None


def _cleaned(value: Any, sanitiser: Sanitiser) -> Any:
    """A plain value with every text in it sanitised."""
    if isinstance(value, str):
        return sanitiser.clean(value)
    if isinstance(value, Mapping):
        return {name: _cleaned(each, sanitiser) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each, sanitiser) for each in value]
    return value
