"""Sets power modes and puts back what was before, also after the command that set them was
killed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from suite.errors import SuiteError
from suite.files.shell_command import with_sudo
from suite.machine.modes.access import refuse_without_access
from suite.machine.modes.available_modes import AvailableModes, read_available_modes
from suite.machine.modes.places import SYSTEM, journal_folders
from suite.machine.modes.requested_mode import (
    Call,
    RequestedMode,
    Step,
    Write,
    find_mode,
    mode_steps,
)
from suite.machine.modes.restore_journal import (
    SCHEMA,
    JournalKind,
    RestoreJournal,
    RestoreRecord,
    open_restore_journal,
    owner_of,
)
from suite.machine.modes.settings import (
    FileValue,
    call_program,
    differing_files,
    put_back,
    read_duty,
    read_settings,
    setting_differences,
)
from suite.machine.nvpmodel import read_status
from suite.machine.procfs import read_text

_TOLERANCE = 0.01
RESTORE = ("power", "restore")


@dataclass(frozen=True)
class PutBack:
    """Settings that were put back: the mode that had been set, who had set it, and the settings
    that differed."""

    wanted: str
    pid: int
    changed: tuple[str, ...]


@dataclass(frozen=True)
class LeftSettings:
    """A record in the journal: what was set, by which process, and whether that still runs;
    ``changed`` differs now from what was before."""

    kind: JournalKind
    wanted: str
    pid: int
    is_alive: bool
    is_complete: bool
    changed: tuple[str, ...]


def refuse_mode(requested: RequestedMode, root: Path = SYSTEM) -> tuple[Step, ...]:
    """The steps that would set a mode. Raises SuiteError, before anything changes, for what this
    machine or user cannot set."""
    available = read_available_modes(root)
    steps = mode_steps(requested, available, root)
    refuse_without_access(
        root,
        [step.file for step in steps if isinstance(step, Write)],
        [step.program for step in steps if isinstance(step, Call)],
    )
    return steps


def set_mode(requested: RequestedMode, root: Path = SYSTEM) -> None:
    """Set a mode until :func:`restore_modes`. What was before the first of several modes is what
    will be restored.

    Raises SuiteError, with everything as it was, where the kernel or a program refuses a step.
    """
    recover_modes(root)
    refuse_mode(requested, root)
    journal = open_restore_journal(root)
    with journal.locked() as lock:
        _refuse_held(journal)
        earlier, available = _read(root, journal, JournalKind.KEPT), read_available_modes(root)
        now = read_settings(root, available)
        owner = owner_of(os.getpid())
        if earlier is None:
            record = RestoreRecord(SCHEMA, owner, requested.label, now)
        else:
            record = replace(earlier, owner=owner, wanted=requested.label, is_complete=False)
        stored = journal.stored_clocks(JournalKind.KEPT)
        record = _with_stored_clocks(record, requested, available, root, stored, lock)

        def save(found: Sequence[FileValue]) -> None:
            nonlocal record, now
            record = replace(record, before=record.before.with_files(found))
            now = now.with_files(found)
            journal.write(JournalKind.KEPT, record)

        save(())
        try:
            _set_steps(root, requested, available, lock, save)
            journal.write(JournalKind.KEPT, replace(record, is_complete=True))
        except (SuiteError, KeyboardInterrupt):
            stored_clocks = record.stored_clocks and earlier is None
            before = replace(record, before=now, stored_clocks=stored_clocks)
            _put_back(root, journal, JournalKind.KEPT, before, lock)
            if earlier is None:
                journal.remove(JournalKind.KEPT)
            else:
                journal.write(JournalKind.KEPT, earlier)
            raise


@contextmanager
def held_modes(root: Path = SYSTEM) -> Iterator[Callable[[RequestedMode], None]]:
    """A function that sets a mode, starting from what was set before the block; after the block
    everything is as it was.

    While the block runs, nobody else may set modes. If the process is killed, the next command puts
    everything back.
    """
    recover_modes(root)
    journal = open_restore_journal(root)
    with journal.locked():
        _refuse_held(journal)
        available = read_available_modes(root)
        record = RestoreRecord(SCHEMA, owner_of(os.getpid()), "", read_settings(root, available))
        journal.write(JournalKind.HELD, record)

    def save(found: Sequence[FileValue]) -> None:
        nonlocal record
        record = replace(record, before=record.before.with_files(found))
        journal.write(JournalKind.HELD, record)

    def apply(requested: RequestedMode) -> None:
        nonlocal record
        with journal.locked() as lock:
            _put_back(root, journal, JournalKind.HELD, record, lock)
            record = replace(record, wanted=requested.label)
            record = _with_stored_clocks(
                record, requested, available, root, journal.stored_clocks(JournalKind.HELD), lock
            )
            save(())
            if not requested.is_empty:
                _set_steps(root, requested, available, lock, save)

    try:
        yield apply
    finally:
        with journal.locked() as lock:
            _put_back(root, journal, JournalKind.HELD, record, lock)
            journal.remove(JournalKind.HELD)


@contextmanager
def held_where(is_needed: bool, root: Path = SYSTEM) -> Iterator[Callable[[RequestedMode], None]]:
    """As :func:`held_modes`; where no mode will be set, a function that does nothing."""
    if not is_needed:
        yield lambda requested: None
        return
    with held_modes(root) as apply:
        yield apply


def restore_modes(root: Path = SYSTEM) -> tuple[PutBack, ...]:
    """Put back what was before every mode that was set: first those of a killed command, then the
    kept ones. Empty where nothing was set.

    Raises SuiteError where a command that holds settings still runs, and where root is needed.
    """
    found: list[PutBack] = []
    for folder in journal_folders(root):
        journal = RestoreJournal(folder)
        if any(journal.read(kind) is not None for kind in JournalKind):
            _refuse_without_rights(root, journal)
            with journal.locked() as lock:
                _refuse_held(journal)
                found += _put_records_back(
                    root, journal, (JournalKind.HELD, JournalKind.KEPT), lock
                )
    return tuple(found)


def recover_modes(root: Path = SYSTEM) -> tuple[PutBack, ...]:
    """Put back what a killed command left; kept settings, and those of a command that runs, stay.

    Raises SuiteError that says how, where this user may not.
    """
    found: list[PutBack] = []
    for folder in journal_folders(root):
        journal = RestoreJournal(folder)
        if not _abandoned(journal):
            continue
        if not os.access(folder, os.W_OK) and not any(
            _changed(root, _read(root, journal, kind)) for kind in _abandoned(journal)
        ):
            continue  # everything is as it was: root's next command removes the record
        _refuse_without_rights(root, journal)
        with journal.locked() as lock:
            found += _put_records_back(root, journal, _abandoned(journal), lock)
    return tuple(found)


def left_settings(root: Path = SYSTEM) -> tuple[LeftSettings, ...]:
    """Every record in the journal."""
    return tuple(
        LeftSettings(
            kind,
            record.wanted,
            record.owner.pid,
            record.owner.is_alive,
            record.is_complete,
            _changed(root, record),
        )
        for folder in journal_folders(root)
        for kind in JournalKind
        if (record := _read(root, RestoreJournal(folder), kind)) is not None
    )


def _read(root: Path, journal: RestoreJournal, kind: JournalKind) -> RestoreRecord | None:
    """The record; that of an earlier boot without files that are gone since, and without hwmon's,
    whose numbers are given anew at each boot."""
    record = journal.read(kind)
    if record is None or record.owner.boot_id == owner_of(os.getpid()).boot_id:
        return record
    files = tuple(
        one
        for one in record.before.files
        if "/hwmon/" not in one.file and (root / one.file).exists()
    )
    return replace(record, before=replace(record.before, files=files))


def _abandoned(journal: RestoreJournal) -> list[JournalKind]:
    """The records whose change was not completed by a process that no longer runs, the innermost
    first."""
    records = {kind: journal.read(kind) for kind in (JournalKind.HELD, JournalKind.KEPT)}
    return [
        kind
        for kind, record in records.items()
        if record is not None and not record.is_complete and not record.owner.is_alive
    ]


def _changed(root: Path, record: RestoreRecord | None) -> tuple[str, ...]:
    return () if record is None else setting_differences(root, record.before)


def _put_records_back(
    root: Path, journal: RestoreJournal, kinds: Sequence[JournalKind], lock: int
) -> Iterator[PutBack]:
    for kind in kinds:
        record = _read(root, journal, kind)
        if record is not None:
            changed = _changed(root, record)
            _put_back(root, journal, kind, record, lock)
            journal.remove(kind)
            yield PutBack(record.wanted, record.owner.pid, changed)


def _put_back(
    root: Path, journal: RestoreJournal, kind: JournalKind, record: RestoreRecord, lock: int
) -> None:
    """Set everything as it was before the record."""
    stored = journal.stored_clocks(kind)
    has_stored = record.stored_clocks and stored.exists()
    put_back(root, read_available_modes(root), record.before, lock, stored if has_stored else None)


def _refuse_held(journal: RestoreJournal) -> None:
    held = journal.read(JournalKind.HELD)
    if held is not None and held.owner.is_alive and held.owner.pid != os.getpid():
        raise SuiteError(
            f"Process {held.owner.pid} changes power modes while it runs"
            f" ({held.wanted or 'a sweep'}); wait for its end."
        )


def _refuse_without_rights(root: Path, journal: RestoreJournal) -> None:
    records = [record for kind in JournalKind if (record := _read(root, journal, kind)) is not None]
    files = [one.file for record in records for one in differing_files(root, record.before)]
    closed = [
        file for file in files if (root / file).exists() and not os.access(root / file, os.W_OK)
    ]
    if closed or not os.access(journal.folder, os.W_OK):
        said = (
            "; ".join(change for record in records for change in _changed(root, record)[:2])
            or "nothing differs now"
        )
        raise SuiteError(
            f"Process {records[0].owner.pid} set a power mode ({records[0].wanted or 'several'})"
            f" and did not restore the earlier settings ({said}). Only root may restore these;"
            f" type: {with_sudo(RESTORE)}"
        )


def _with_stored_clocks(
    record: RestoreRecord,
    requested: RequestedMode,
    available: AvailableModes,
    root: Path,
    file: Path,
    lock: int,
) -> RestoreRecord:
    """The record, after jetson_clocks stored the clocks in the file, if this mode is the first that
    locks them."""
    if record.stored_clocks or not requested.jetson_clocks or available.jetson_clocks is None:
        return record
    file.unlink(missing_ok=True)  # jetson_clocks keeps a file that exists
    call_program(root, available.jetson_clocks, ("--store", str(file)), lock)
    return replace(record, stored_clocks=True)


def _set_steps(
    root: Path,
    requested: RequestedMode,
    available: AvailableModes,
    lock: int,
    save: Callable[[Sequence[FileValue]], None],
) -> None:
    """Take a mode's steps. The clocks of cores that come on line can be read only then: ``save``
    gets what they are before they are set, and the fan's duty before that is."""
    if requested.jetson_clocks or (requested.fan or "").isdigit():
        save(read_duty(root, available))
    steps = mode_steps(requested, available, root)
    first = max(
        (place for place, step in enumerate(steps, start=1) if step.brings_on_line), default=0
    )
    _take_steps(root, steps[:first], available, lock)
    whole = read_available_modes(root)
    save(read_settings(root, whole).files)
    _take_steps(
        root,
        [step for step in mode_steps(requested, whole, root) if step not in steps[:first]],
        whole,
        lock,
    )


def _take_steps(root: Path, steps: Sequence[Step], available: AvailableModes, lock: int) -> None:
    """Take the steps; raises SuiteError for the first that the kernel refuses, or that does not
    hold after it was taken."""
    for step in steps:
        if isinstance(step, Call):
            call_program(root, step.program, step.arguments, lock)
            _refuse_other_mode(root, step, available)
        # None: the clock of a core that is off line
        elif read_text(root / step.file) not in (None, step.value):
            try:
                (root / step.file).write_text(step.value, encoding="ascii")
            except OSError as error:
                raise SuiteError(
                    f"The kernel refuses {step.value} in /{step.file}: {error.strerror}."
                ) from error
            if not _holds(root, step):
                found = read_text(root / step.file)
                raise SuiteError(
                    f"/{step.file} is {found} after {step.value} was written: the firmware or "
                    "another program overrides it."
                )


def _holds(root: Path, step: Write) -> bool:
    """Whether the value holds; of a core that is off line nothing can be read, and a clock may
    differ by a hundredth (the kernel rounds)."""
    found = read_text(root / step.file)
    if found is None or found == step.value:
        return True
    # not a duty, a switch or a core
    is_clock = found.isdigit() and step.value.isdigit() and int(step.value) > 1000
    return is_clock and abs(int(found) - int(step.value)) <= _TOLERANCE * int(step.value)


def _refuse_other_mode(root: Path, step: Call, available: AvailableModes) -> None:
    if step.program == available.nvpmodel and step.arguments[0] == "-m":
        mode, status = find_mode(step.arguments[1], available.modes), read_status(root)
        if status is None or status[0] != mode.id:
            raise SuiteError(
                f"nvpmodel did not change to {mode.name}: this mode may need a restart; type `sudo"
                f" nvpmodel -m {mode.id}` and answer its question."
            )
