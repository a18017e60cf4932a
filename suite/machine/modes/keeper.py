"""Sets power modes and puts back what was before, also after the command that set them was
killed."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from suite.errors import SuiteError
from suite.machine.modes.journal import SCHEMA, Entry, Journal, JournalKind, open_journal, owner_of
from suite.machine.modes.offer import Offer, read_offer
from suite.machine.modes.places import SYSTEM, journal_folders
from suite.machine.modes.settings import (
    FileValue,
    call_program,
    differing_files,
    put_back,
    read_settings,
    setting_differences,
)
from suite.machine.modes.wanted import Call, Step, WantedMode, Write, find_mode, mode_steps
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


def refuse_mode(wanted: WantedMode, root: Path = SYSTEM) -> tuple[Step, ...]:
    """The steps that would set a mode. Raises SuiteError, before anything changes, for what this
    machine or user cannot set."""
    offer = read_offer(root)
    steps = mode_steps(wanted, offer, root)
    refuse_without_access(
        root,
        [step.file for step in steps if isinstance(step, Write)],
        [step.program for step in steps if isinstance(step, Call)],
    )
    return steps


def set_mode(wanted: WantedMode, root: Path = SYSTEM) -> None:
    """Set a mode until :func:`restore_modes`. What was before the first of several modes is what
    will be restored.

    Raises SuiteError, with everything as it was, where the kernel or a program refuses a step.
    """
    recover_modes(root)
    refuse_mode(wanted, root)
    journal = open_journal(root)
    with journal.locked() as lock:
        _refuse_held(journal)
        earlier, offer = journal.read(JournalKind.KEPT), read_offer(root)
        now = read_settings(root, offer)
        owner = owner_of(os.getpid())
        if earlier is None:
            entry = Entry(SCHEMA, owner, wanted.label, now)
        else:
            entry = replace(earlier, owner=owner, wanted=wanted.label, is_complete=False)
        entry = _with_stored_clocks(
            entry, wanted, offer, root, journal.stored_clocks(JournalKind.KEPT), lock
        )

        def save(found: Sequence[FileValue]) -> None:
            nonlocal entry, now
            entry = replace(entry, before=entry.before.with_files(found))
            now = now.with_files(found)
            journal.write(JournalKind.KEPT, entry)

        save(())
        try:
            _set_steps(root, wanted, offer, lock, save)
            journal.write(JournalKind.KEPT, replace(entry, is_complete=True))
        except (SuiteError, KeyboardInterrupt):
            stored_clocks = entry.stored_clocks and earlier is None
            before = replace(entry, before=now, stored_clocks=stored_clocks)
            _put_back(root, journal, JournalKind.KEPT, before, lock)
            if earlier is None:
                journal.remove(JournalKind.KEPT)
            else:
                journal.write(JournalKind.KEPT, earlier)
            raise


@contextmanager
def held_modes(root: Path = SYSTEM) -> Iterator[Callable[[WantedMode], None]]:
    """A function that sets a mode, starting from what was set before the block; after the block
    everything is as it was.

    While the block runs, nobody else may set modes. If the process is killed, the next command puts
    everything back.
    """
    recover_modes(root)
    journal = open_journal(root)
    with journal.locked():
        _refuse_held(journal)
        offer = read_offer(root)
        entry = Entry(SCHEMA, owner_of(os.getpid()), "", read_settings(root, offer))
        journal.write(JournalKind.HELD, entry)

    def save(found: Sequence[FileValue]) -> None:
        nonlocal entry
        entry = replace(entry, before=entry.before.with_files(found))
        journal.write(JournalKind.HELD, entry)

    def apply(wanted: WantedMode) -> None:
        nonlocal entry
        with journal.locked() as lock:
            _put_back(root, journal, JournalKind.HELD, entry, lock)
            entry = replace(entry, wanted=wanted.label)
            entry = _with_stored_clocks(
                entry, wanted, offer, root, journal.stored_clocks(JournalKind.HELD), lock
            )
            save(())
            if not wanted.is_empty:
                _set_steps(root, wanted, offer, lock, save)

    try:
        yield apply
    finally:
        with journal.locked() as lock:
            _put_back(root, journal, JournalKind.HELD, entry, lock)
            journal.remove(JournalKind.HELD)


@contextmanager
def held_where(is_needed: bool, root: Path = SYSTEM) -> Iterator[Callable[[WantedMode], None]]:
    """As :func:`held_modes`; where no mode will be set, a function that does nothing."""
    if not is_needed:
        yield lambda wanted: None
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
        journal = Journal(folder)
        if any(journal.read(kind) is not None for kind in JournalKind):
            _refuse_without_rights(root, journal)
            with journal.locked() as lock:
                _refuse_held(journal)
                found += _put_entries_back(
                    root, journal, (JournalKind.HELD, JournalKind.KEPT), lock
                )
    return tuple(found)


def recover_modes(root: Path = SYSTEM) -> tuple[PutBack, ...]:
    """Put back what a killed command left; kept settings, and those of a command that runs, stay.

    Raises SuiteError that says how, where this user may not.
    """
    found: list[PutBack] = []
    for folder in journal_folders(root):
        journal = Journal(folder)
        if not _abandoned(journal):
            continue
        if not os.access(folder, os.W_OK) and not any(
            _changed(root, journal.read(kind)) for kind in _abandoned(journal)
        ):
            continue  # everything is as it was: root's next command removes the record
        _refuse_without_rights(root, journal)
        with journal.locked() as lock:
            found += _put_entries_back(root, journal, _abandoned(journal), lock)
    return tuple(found)


def left_settings(root: Path = SYSTEM) -> tuple[LeftSettings, ...]:
    """Every record in the journal."""
    return tuple(
        LeftSettings(
            kind,
            entry.wanted,
            entry.owner.pid,
            entry.owner.is_alive,
            entry.is_complete,
            _changed(root, entry),
        )
        for folder in journal_folders(root)
        for kind in JournalKind
        if (entry := Journal(folder).read(kind)) is not None
    )


def _abandoned(journal: Journal) -> list[JournalKind]:
    """The records whose change was not completed by a process that no longer runs, the innermost
    first."""
    entries = {kind: journal.read(kind) for kind in (JournalKind.HELD, JournalKind.KEPT)}
    return [
        kind
        for kind, entry in entries.items()
        if entry is not None and not entry.is_complete and not entry.owner.is_alive
    ]


def _changed(root: Path, entry: Entry | None) -> tuple[str, ...]:
    return () if entry is None else setting_differences(root, entry.before)


def _put_entries_back(
    root: Path, journal: Journal, kinds: Sequence[JournalKind], lock: int
) -> Iterator[PutBack]:
    for kind in kinds:
        entry = journal.read(kind)
        if entry is not None:
            changed = _changed(root, entry)
            _put_back(root, journal, kind, entry, lock)
            journal.remove(kind)
            yield PutBack(entry.wanted, entry.owner.pid, changed)


def _put_back(root: Path, journal: Journal, kind: JournalKind, entry: Entry, lock: int) -> None:
    """Set everything as it was before the entry."""
    stored = journal.stored_clocks(kind)
    has_stored = entry.stored_clocks and stored.exists()
    put_back(root, read_offer(root), entry.before, lock, stored if has_stored else None)


def _refuse_held(journal: Journal) -> None:
    held = journal.read(JournalKind.HELD)
    if held is not None and held.owner.is_alive and held.owner.pid != os.getpid():
        raise SuiteError(
            f"Process {held.owner.pid} changes power modes while it runs"
            f" ({held.wanted or 'a sweep'}); wait for its end."
        )


def _refuse_without_rights(root: Path, journal: Journal) -> None:
    entries = [entry for kind in JournalKind if (entry := journal.read(kind)) is not None]
    files = [one.file for entry in entries for one in differing_files(root, entry.before)]
    closed = [
        file for file in files if (root / file).exists() and not os.access(root / file, os.W_OK)
    ]
    if closed or not os.access(journal.folder, os.W_OK):
        said = (
            "; ".join(change for entry in entries for change in _changed(root, entry)[:2])
            or "nothing differs now"
        )
        raise SuiteError(
            f"Process {entries[0].owner.pid} set a power mode ({entries[0].wanted or 'several'})"
            f" and did not restore the earlier settings ({said}). Only root may restore these;"
            f" type: {with_sudo(RESTORE)}"
        )


def _with_stored_clocks(
    entry: Entry, wanted: WantedMode, offer: Offer, root: Path, file: Path, lock: int
) -> Entry:
    """The entry, after jetson_clocks stored the clocks in the file, if this mode is the first that
    locks them."""
    if entry.stored_clocks or not wanted.jetson_clocks or offer.jetson_clocks is None:
        return entry
    file.unlink(missing_ok=True)  # jetson_clocks keeps a file that exists
    call_program(root, offer.jetson_clocks, ("--store", str(file)), lock)
    return replace(entry, stored_clocks=True)


def _set_steps(
    root: Path,
    wanted: WantedMode,
    offer: Offer,
    lock: int,
    save: Callable[[Sequence[FileValue]], None],
) -> None:
    """Take a mode's steps. The clocks of cores that come on line can be read only then: ``save``
    gets what they are before they are set."""
    steps = mode_steps(wanted, offer, root)
    first = max(
        (
            place
            for place, step in enumerate(steps, start=1)
            if isinstance(step, Write) and step.brings_on_line
        ),
        default=0,
    )
    _take_steps(root, steps[:first], offer, lock)
    whole = read_offer(root)
    save(read_settings(root, whole).files)
    _take_steps(
        root,
        [step for step in mode_steps(wanted, whole, root) if step not in steps[:first]],
        whole,
        lock,
    )


def _take_steps(root: Path, steps: Sequence[Step], offer: Offer, lock: int) -> None:
    """Take the steps; raises SuiteError for the first that the kernel refuses, or that does not
    hold after it was taken."""
    for step in steps:
        if isinstance(step, Call):
            call_program(root, step.program, step.arguments, lock)
            _refuse_other_mode(root, step, offer)
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


def _refuse_other_mode(root: Path, step: Call, offer: Offer) -> None:
    if step.program == offer.nvpmodel and step.arguments[0] == "-m":
        mode, status = find_mode(step.arguments[1], offer.modes), read_status(root)
        if status is None or status[0] != mode.id:
            raise SuiteError(
                f"nvpmodel did not change to {mode.name}: this mode may need a restart; type `sudo"
                f" nvpmodel -m {mode.id}` and answer its question."
            )


def refuse_without_access(root: Path, files: Iterable[str], programs: Iterable[str]) -> None:
    """Raise SuiteError unless every file can be written and every program called; the message has
    the command to type."""
    closed = next((file for file in files if not os.access(root / file, os.W_OK)), None)
    if closed is not None and os.geteuid() == 0:
        raise SuiteError(
            f"/{closed} cannot be written, not even by root: it is on a file system that is"
            " read-only, as in a container."
        )
    if closed is not None:
        raise SuiteError(f"Only root may write /{closed}; type: {with_sudo()}")
    program = next(iter(programs), None)
    if program is not None and os.geteuid() != 0 and root == Path("/"):
        raise SuiteError(f"Only root may call /{program}; type: {with_sudo()}")


def with_sudo(arguments: Iterable[str] | None = None) -> str:
    """This command line, or `suite` with other arguments, as root: with the program's whole path,
    since sudo searches another one."""
    return shlex.join(
        [
            "sudo",
            str(Path(sys.argv[0]).absolute()),
            *(sys.argv[1:] if arguments is None else arguments),
        ]
    )
