"""The journal of power settings: what was before, on the storage medium before anything changes.

There are two records. ``kept.json`` belongs to `suite power set`, whose settings outlive it;
``held.json`` to a command that changes settings while it runs and puts them back at its end. The
folder is the machine's (below /var/lib); where only a user's own files can be written, it is in the
suite's home.
"""

import enum
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from suite.errors import FileError, SuiteError
from suite.files.durable import sync_to_storage
from suite.files.file_lock import take_lock
from suite.files.json_file import read_record, write_json
from suite.files.schema import from_plain
from suite.machine.modes.places import is_readable_file, journal_folders
from suite.machine.modes.settings import MachineSettings, refuse_other_files
from suite.machine.process_tree import is_running, start_ticks
from suite.machine.procfs import read_text

SCHEMA = 1
LOCK, STORED_CLOCKS = "lock", "jetson_clocks.conf"
LOCK_TIMEOUT_S = 120.0
_POLL_S = 0.02
_OTHERS_MAY_WRITE = 0o022


class JournalKind(str, enum.Enum):
    """The two records: settings that were kept on purpose, and those that a running command
    holds."""

    KEPT = "kept"
    HELD = "held"


@dataclass(frozen=True)
class Owner:
    """The process that changes settings, known from a later one of the same number by its start
    time (clock ticks) and the boot."""

    pid: int
    start_ticks: int
    boot_id: str

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self == owner_of(self.pid) and is_running(Path("/"), self.pid)


@dataclass(frozen=True)
class RestoreRecord:
    """A record: the settings before, who changes them to what, and whether that change is complete
    (always False for a held record).

    ``stored_clocks``: jetson_clocks stored the clocks before, in a file beside the record.
    """

    schema: int
    owner: Owner
    wanted: str
    before: MachineSettings
    is_complete: bool = False
    stored_clocks: bool = False


def owner_of(pid: int) -> Owner:
    """The process as an owner; start time 0 where it does not exist."""
    boot_id = read_text(Path("/proc/sys/kernel/random/boot_id")) or ""
    return Owner(pid, start_ticks(Path("/proc") / str(pid)) or 0, boot_id)


class RestoreJournal:
    """The records in one folder. Changes are made inside :meth:`locked`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def stored_clocks(self, kind: JournalKind) -> Path:
        """The file of `jetson_clocks --store`, beside the record."""
        return self.folder / f"{kind.value}.{STORED_CLOCKS}"

    def read(self, kind: JournalKind) -> RestoreRecord | None:
        """The record; None where there is none. Raises SuiteError for one that somebody else wrote,
        or that is damaged."""
        path = self._path(kind)
        if not is_readable_file(path):
            return None
        for place in (path, self.folder):
            status = place.stat()
            if (
                status.st_uid not in (0, os.geteuid())
                or status.st_mode & _OTHERS_MAY_WRITE
                or place.is_symlink()
            ):
                raise SuiteError(
                    f"{place} can be changed by other users, so the power settings in it are not "
                    "trusted; inspect it and remove it."
                )
        try:
            record = from_plain(read_record(path, SCHEMA), RestoreRecord, f"{path}: ")
            refuse_other_files(record.before)
        except FileError:
            raise
        except SuiteError as error:
            raise FileError(
                path, f"is not a journal of power settings ({error}); remove it"
            ) from error
        return record

    def write(self, kind: JournalKind, record: RestoreRecord) -> None:
        """Replace the record; it is on the storage medium when this returns. Raises SuiteError
        where it cannot be written."""
        try:
            write_json(self._path(kind), asdict(record))
            sync_to_storage(self.folder)
        except OSError as error:
            raise SuiteError(
                f"The journal of power settings cannot be written in {self.folder}:"
                f" {error.strerror}; free some space there."
            ) from error

    def remove(self, kind: JournalKind) -> None:
        """Forget the record."""
        self._path(kind).unlink(missing_ok=True)
        self.stored_clocks(kind).unlink(missing_ok=True)
        sync_to_storage(self.folder)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Keep other commands from changing settings in the block; yields the lock, which called
        programs inherit.

        The kernel releases it when its last holder ends. Raises SuiteError after two minutes.
        """
        try:
            handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise SuiteError(
                f"The lock of power settings cannot be made in {self.folder}: {error.strerror}."
            ) from error
        try:
            limit_s = time.monotonic() + LOCK_TIMEOUT_S
            while not take_lock(handle):
                if time.monotonic() > limit_s:
                    raise SuiteError(
                        f"Another command has been changing power settings for {LOCK_TIMEOUT_S:.0f}"
                        f" s ({self.folder / LOCK}); wait for its end."
                    )
                time.sleep(_POLL_S)
            yield handle
        finally:
            os.close(handle)

    def _path(self, kind: JournalKind) -> Path:
        return self.folder / f"{kind.value}.json"


def open_restore_journal(root: Path) -> RestoreJournal:
    """The journal to write: in the machine's folder if that can be made, else in the user's. Raises
    SuiteError where neither can be written."""
    problem: OSError | None = None
    for folder in journal_folders(root):
        try:
            _make(folder)
        except OSError as error:
            problem = error
            continue
        if os.access(folder, os.W_OK):
            return RestoreJournal(folder)
    why = "no permission to write" if problem is None else problem.strerror
    raise SuiteError(
        f"The journal of power settings cannot be written in {journal_folders(root)[-1]} ({why}), "
        "so nothing was changed; free some space there."
    )


def _make(folder: Path) -> None:
    """Make the folder and the one above it, for everybody to read, whatever root's umask is."""
    for place in (folder.parent, folder):
        if not place.exists():
            place.mkdir(parents=True)
            place.chmod(0o755)
