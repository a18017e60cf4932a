"""Every setting that a power mode can change: read before the change, written back after it,
compared."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from suite.errors import SuiteError
from suite.files.counted import counted
from suite.machine.modes.available_modes import AvailableModes
from suite.machine.nvpmodel import read_status
from suite.machine.procfs import natural_order, read_text

TIMEOUT_S = 60


def call_program(root: Path, program: str, arguments: tuple[str, ...], lock: int) -> None:
    """Call a program and wait for its end; raises SuiteError with its last line where it fails.

    The program inherits ``lock``: when the suite is killed meanwhile, nobody puts settings back
    before the program has ended. Nothing is typed into it: nvpmodel asks before it restarts the
    board, and then changes nothing.
    """
    command = [str(root / program), *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            pass_fds=(lock,),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(f"{' '.join(command)} did not work ({error}).") from error
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["it printed nothing"]
        raise SuiteError(
            f"{' '.join(command)} failed with exit code {done.returncode}: {lines[-1][:200]}"
        )


PASSES = 3
"""Some files can be written only after others (a minimum above the old maximum, clocks of a core
that is off line)."""
_SETTING = re.compile(r"sys/(devices|class|kernel)/[\w./:@+-]+")


@dataclass(frozen=True)
class FileValue:
    """A file of the kernel, relative to the root, and what it holds."""

    file: str
    value: str


@dataclass(frozen=True)
class MachineSettings:
    """The settings of a machine at one moment: files in the order in which they can be written,
    nvpmodel's mode and its fan mode."""

    files: tuple[FileValue, ...]
    mode_id: int | None = None
    fan_mode: str | None = None

    def with_files(self, found: Iterable[FileValue]) -> "MachineSettings":
        """The same with files that it lacks."""
        known = {one.file for one in self.files}
        return replace(self, files=(*self.files, *(one for one in found if one.file not in known)))


def read_settings(root: Path, available: AvailableModes) -> MachineSettings:
    """What is set now. A file that cannot be read (the clock of a core that is off line) is left
    out."""
    found = ((file, read_text(root / file)) for file in _files(root, available))
    status = read_status(root) if available.nvpmodel is not None else None
    mode_id, fan_mode = status or (None, None)
    return MachineSettings(
        tuple(FileValue(file, value) for file, value in found if value), mode_id, fan_mode
    )


def read_duty(root: Path, available: AvailableModes) -> tuple[FileValue, ...]:
    """The fan's duty: a setting only while somebody sets it by hand, else a momentary value of the
    fan's own control."""
    if available.fan_file is None:
        return ()
    duty = read_text(root / available.fan_file)
    return (FileValue(available.fan_file, duty),) if duty else ()


def setting_differences(root: Path, expected: MachineSettings) -> tuple[str, ...]:
    """The settings that are not as ``expected``, one text for each: ``sys/…/scaling_max_freq is
    1190400 instead of 2265600``."""
    found = [
        f"{one.file} is {read_text(root / one.file) or 'gone'} instead of {one.value}"
        for one in differing_files(root, expected)
    ]
    mode_id, fan_mode = read_status(root) or (None, None)
    if expected.mode_id is not None and mode_id != expected.mode_id:
        found.insert(0, f"the mode of nvpmodel is {mode_id} instead of {expected.mode_id}")
    if expected.fan_mode is not None and fan_mode != expected.fan_mode:
        found.append(f"the fan mode of nvpmodel is {fan_mode} instead of {expected.fan_mode}")
    return tuple(found)


def put_back(
    root: Path,
    available: AvailableModes,
    before: MachineSettings,
    lock: int,
    stored_clocks: Path | None,
) -> None:
    """Set everything as it was. Raises SuiteError for what cannot be set, after all else was.

    ``lock`` is inherited by the programs that are called. ``stored_clocks`` is the file of
    `jetson_clocks --store`, where that was called.
    """
    failures = list[str]()
    for program, arguments in _restoring_calls(root, available, before, stored_clocks):
        try:
            call_program(root, program, arguments, lock)
        except SuiteError as error:  # the kernel's files are put back all the same
            failures.append(str(error))
    for _ in range(PASSES):
        for one in differing_files(root, before):
            if not _takes_off_line(one):
                _try_to_write(root / one.file, one.value)
    # last: the clocks of such a core cannot be set
    for one in filter(_takes_off_line, differing_files(root, before)):
        _try_to_write(root / one.file, one.value)
    left = setting_differences(root, before)
    if left:
        said = "; ".join([*left[:3], *failures])
        raise SuiteError(
            f"{counted(len(left), 'power setting')} could not be restored: {said}. Set the right"
            " values by hand, or restart the machine."
        )
    if failures:
        raise SuiteError(
            f"Every setting that can be read was restored, but {'; '.join(failures)}. Restart the"
            " machine to be sure that settings that cannot be read are restored, too."
        )


def _restoring_calls(
    root: Path, available: AvailableModes, before: MachineSettings, stored_clocks: Path | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """NVIDIA's programs that put back what they set, with their arguments; each is to be called
    before the next is asked for."""
    if stored_clocks is not None and available.jetson_clocks is not None:
        yield available.jetson_clocks, ("--restore", str(stored_clocks))
    mode_id, fan_mode = read_status(root) or (None, None)
    if available.nvpmodel is not None and before.mode_id is not None and mode_id != before.mode_id:
        yield available.nvpmodel, ("-m", str(before.mode_id))
    if (
        available.nvpmodel is not None
        and before.fan_mode is not None
        and fan_mode != before.fan_mode
    ):
        yield available.nvpmodel, ("-d", before.fan_mode)


def refuse_other_files(settings: MachineSettings) -> None:
    """Raise SuiteError for a file outside the kernel's settings: a journal is read from disk."""
    wrong = next(
        (
            one.file
            for one in settings.files
            if not _SETTING.fullmatch(one.file) or ".." in one.file.split("/")
        ),
        None,
    )
    if wrong is not None:
        raise SuiteError(f"the file {wrong!r} is not a setting of the kernel")


def differing_files(root: Path, expected: MachineSettings) -> list[FileValue]:
    """Files that hold another value. A file that is there and cannot be read is the clock of a core
    that is off line, and not counted."""
    found = [(one, read_text(root / one.file)) for one in expected.files]
    return [
        one
        for one, value in found
        if value != one.value and not (value is None and (root / one.file).is_file())
    ]


def _takes_off_line(one: FileValue) -> bool:
    return one.file.endswith("/online") and one.value == "0"


def _files(root: Path, available: AvailableModes) -> Iterator[str]:
    yield from available.switches.values()
    if available.turbo is not None:
        yield available.turbo.file
    for domain in available.domains:
        yield from (
            file
            for file in (
                domain.governor_file,
                domain.preference_file,
                domain.max_file,
                domain.min_file,
            )
            if file is not None
        )
    for path in natural_order((root / "sys/class/hwmon").glob("hwmon*/pwm1_enable")):
        yield path.relative_to(root).as_posix()


def _try_to_write(path: Path, value: str) -> None:
    """Write; what the kernel refuses now may be possible in the next pass, and is found by
    :func:`setting_differences` after the last one."""
    with suppress(OSError):
        path.write_text(value, encoding="ascii")
