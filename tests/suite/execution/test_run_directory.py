"""What is there before a run: its directory, its lock, the folder of its states, and the memory and
disk space that it needs."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.data_record import DATA
from suite.bundle.layout import LOCK, PRIVATE, RUN, states_folder
from suite.bundle.run_lock import is_held
from suite.errors import SuiteError
from suite.execution import preflight as before
from suite.execution.kept_states import (
    make_states_folder,
    mebibytes,
    states_size_bytes,
)
from suite.execution.preflight import BUNDLE_SIZE_BYTES, preflight, refuse_full_disk
from suite.execution.run_directory import RESERVE_BYTES, RunLock, make_output
from suite.launch.isolation import Isolation

MIB = 2**20


def content(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("files", "force", "words"),
    [
        ([], False, None),
        (["notes.txt"], False, "is not a run directory"),
        ([RUN], False, "holds a run"),
        (["notes.txt"], True, "is not a run directory"),
        ([f".{RUN}", "notes.txt"], True, "is not a run directory"),
        ([RUN, "notes.txt"], True, None),
        ([f".{RUN}.0a1b2c3d", LOCK], True, None),  # killed as it began
        (["baseload.node1.csv", DATA, f".{PRIVATE}.0a1b2c3d"], True, None),
        (["baseload.nodes.csv"], True, "is not a run directory"),
    ],
)
def test_only_a_runs_own_directory_is_replaced(
    files: list[str], force: bool, words: str | None, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    if words is None:
        make_output(tmp_path, force)
        assert content(tmp_path) == []
    else:
        with pytest.raises(SuiteError, match=words):
            make_output(tmp_path, force)
        assert content(tmp_path) == sorted(files)


def test_a_file_is_no_directory_and_folders_above_are_made(tmp_path: Path) -> None:
    make_output(tmp_path / "a/b/c", force=False)
    (tmp_path / "file").touch()
    for force in (False, True):
        with pytest.raises(SuiteError, match="is not a run directory"):
            make_output(tmp_path / "file", force)


def test_a_link_to_a_run_is_not_replaced(tmp_path: Path) -> None:
    run, link = tmp_path / "run", tmp_path / "link"
    run.mkdir()
    (run / RUN).touch()
    link.symlink_to(run)
    for force in (False, True):
        with pytest.raises(SuiteError, match=f"is a symbolic link to the run {run}; choose"):
            make_output(link, force)
    assert content(run) == [RUN]


@pytest.mark.parametrize(
    ("number", "calls", "reserve"),
    [(errno.EDQUOT, 2, 0), (errno.ENOSPC, 2, 0), (errno.EACCES, 1, RESERVE_BYTES)],
)
def test_only_a_full_disk_is_given_the_reserve(
    number: int, calls: int, reserve: int, tmp_path: Path
) -> None:
    made: list[int] = []

    def write() -> None:
        made.append(number)
        raise OSError(number, os.strerror(number))

    assert not is_held(tmp_path)
    with RunLock(tmp_path) as lock:
        assert is_held(tmp_path)
        with pytest.raises(SuiteError, match="holds a run that still runs"):
            make_output(tmp_path, force=True)
        with pytest.raises(OSError):
            lock.write(write)
        assert (len(made), (tmp_path / LOCK).stat().st_size) == (calls, reserve)
        who = f"process {os.getpid()} on {os.uname().nodename}\n".encode()
        lock.write(lambda: None)
    with RunLock(tmp_path):
        assert (tmp_path / LOCK).read_bytes().startswith(who)
        assert (tmp_path / LOCK).stat().st_size == RESERVE_BYTES
        assert (tmp_path / LOCK).stat().st_blocks * 512 >= RESERVE_BYTES
    assert not is_held(tmp_path)


def test_states_are_replaced_and_nothing_else(tmp_path: Path) -> None:
    folder = states_folder(tmp_path / "run")
    assert folder == tmp_path / "run.states"
    states = ["epoch_1.npz", ".epoch_2.npz"]
    for more, force, is_made in ([], False, False), (["notes"], True, False), ([], True, True):
        folder.mkdir(exist_ok=True)
        for name in (*states, *more):
            (folder / name).touch()
        if is_made:
            make_states_folder(tmp_path / "run", force)
        else:
            with pytest.raises(SuiteError, match="exists and is not empty"):
                make_states_folder(tmp_path / "run", force)
        assert content(folder) == ([] if is_made else sorted([*states, *more]))
        for path in folder.glob("notes"):
            path.unlink()
    assert [mebibytes(size) for size in (10 * MIB - MIB // 10, 10 * MIB)] == ["9.9 MiB", "10 MiB"]


@pytest.mark.parametrize(
    ("steps", "resumed_after", "kept"),
    [(None, None, 5), (20, None, 2), (21, None, 3), (999, None, 5), (None, 2, 3), (21, 2, 1)],
)
def test_disk_space_is_asked_for_the_states_that_are_kept(
    steps: int | None, resumed_after: int | None, kept: int, tmp_path: Path
) -> None:
    """Of five epochs of ten steps: none after the step limit, which --short sets, too, and none
    before the state that a resumed run starts from."""
    training = SimpleNamespace(
        epochs=5, steps=steps, data=SimpleNamespace(train_samples=99), global_batch_size=10
    )
    record = SimpleNamespace(epoch=resumed_after)
    request: Any = SimpleNamespace(
        workload=SimpleNamespace(parameters=1000),
        training=training,
        ranks=3,
        resume=None if resumed_after is None else SimpleNamespace(record=record),
    )
    # parameters and velocities, and of every rank 2 % and 64 KiB
    assert states_size_bytes(request) == kept * (2 * 4000 + 3 * (80 + 65536))
    with pytest.raises(SuiteError, match=f"states of {kept} epochs? need .*another --output"):
        refuse_full_disk(request, tmp_path, 2**80)


def refuse_python(environment: None) -> None:
    raise SuiteError("In a container it is Python 3.11.2.")


def refusal(root: Path, **changes: Any) -> str:
    """What is said of a run that needs 100 MiB of memory, with 100 MiB there and enough disk."""
    values = {"accelerator": "cpu", "free": BUNDLE_SIZE_BYTES, "available": 100, "hosts": ()}
    values |= {"keep_states": False, **changes}
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/meminfo").write_text(f"MemAvailable: {values['available'] * 1024} kB\n")
    request = SimpleNamespace(
        placement=SimpleNamespace(hosts=values["hosts"]),
        training=SimpleNamespace(
            accelerator=values["accelerator"],
            recomputation=values.get("planned"),
            epochs=values.get("epochs", 3),
            steps=values.get("steps"),
            global_batch_size=values.get("batch_size", 2),
            data=SimpleNamespace(train_samples=values.get("samples", 10)),
        ),
        ranks=values.get("ranks", 1),
        resume=None,
        workload=SimpleNamespace(
            name="w", batch_size=2, needs=SimpleNamespace(memory_size_bytes=100 * MIB)
        ),
        directory=root / "run",
        keep_states=values["keep_states"],
        isolation=values.get("isolation"),
        framework=None,
    )
    with pytest.MonkeyPatch.context() as patch:
        usage = SimpleNamespace(free=values["free"])
        patch.setattr(before.shutil, "disk_usage", lambda place: usage)
        patch.setattr(before, "states_size_bytes", lambda request: 30 * MIB)
        patch.setattr(before, "find_environment", lambda framework: None)
        patch.setattr(before, "refuse_other_python", refuse_python)
        try:
            preflight(request, root)  # type: ignore[arg-type]
        except SuiteError as error:
            return str(error)
    return ""


def test_a_run_is_refused_where_it_cannot_finish(tmp_path: Path) -> None:
    with_states = {"keep_states": True, "free": BUNDLE_SIZE_BYTES + 30 * MIB}
    in_budget = {"planned": SimpleNamespace(budget_bytes=50 * MIB, spill_folder=None)}
    for fits in (
        {},
        with_states,
        {"hosts": ("127.0.0.1", "192.0.2.1")},
        {**in_budget, "available": 60},
        {"batch_size": 1, "available": 60},  # the run finds out what it needs
    ):
        assert refusal(tmp_path, **fits) == ""
    for changes, words in (
        ({"available": 99}, "needs 100 MiB of memory and 99 MiB are available"),
        ({**in_budget, "available": 49}, "needs 50 MiB of memory and 49 MiB are available"),
        ({"free": BUNDLE_SIZE_BYTES - 1}, "has 63 MiB free and a run directory may need 64 MiB"),
        ({**with_states, "free": with_states["free"] - 1}, "states of 3 epochs need 30 MiB"),
        ({**with_states, "free": BUNDLE_SIZE_BYTES, "epochs": 1}, "states of 1 epoch need 30 MiB"),
        ({"hosts": ("192.0.2.1", "127.0.0.1")}, "first host is 192.0.2.1; it must be this machine"),
        ({"accelerator": "cuda"}, "has no driver of an NVIDIA GPU"),
        ({"isolation": Isolation.PODMAN}, "In a container it is Python 3.11.2"),
        (
            {"isolation": Isolation.PODMAN, "accelerator": "cuda"},
            "A container has no GPU; use --accelerator cpu, or --isolation namespace",
        ),
    ):
        assert words in refusal(tmp_path, **changes)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvmap").touch()
    assert refusal(tmp_path, accelerator="cuda") == "", "one file of a driver is enough"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"samples": 1_000_000}, None),  # 500,000 mini-batches in each of three epochs
        ({"samples": 1_000_001}, "This run may have 1500003 step records"),
        ({"samples": 1_000_001, "steps": 1_500_000}, None),
        ({"samples": 1_000_001, "steps": 750_001, "ranks": 2}, "may have 1500002 step records"),
        ({"epochs": 1500}, None),
        ({"epochs": 1501}, "may have 1501 epochs, and a run directory holds 1500 at most"),
    ],
    ids=str,
)
def test_a_training_that_could_not_be_sealed_is_refused_before_it(
    changes: dict[str, int], words: str | None, tmp_path: Path
) -> None:
    said = refusal(tmp_path, **changes)
    assert words in said if words else said == ""
