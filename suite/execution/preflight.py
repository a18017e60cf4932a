"""Checks before a run: the first host, a container, a GPU, memory, disk space, and the folder of
`--spill`."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from reference_impls.contract import Recomputation
from reference_impls.updates import steps_per_epoch
from suite.bundle.limits import MAX_EPOCHS, MAX_STEP_ROWS
from suite.errors import SuiteError
from suite.execution.kept_states import kept_epochs, mebibytes, states_size_bytes
from suite.execution.request import Accelerator, RunRequest
from suite.files.counted import counted
from suite.files.paths import nearest_existing
from suite.launch.containers import refuse_other_python
from suite.launch.environments import find_environment
from suite.launch.isolation import Isolation
from suite.launch.placement import is_this_machine
from suite.machine.procfs import memory_bytes
from suite.machine.storage import mount_of

GPU_FILES = (
    "proc/driver/nvidia/version",
    "dev/nvidiactl",
    "dev/nvhost-gpu",
    "dev/nvgpu",
    "dev/nvmap",
    "dev/dxg",
)
"""What the drivers of NVIDIA's GPUs make: of graphics cards, of Jetson modules, and under WSL. One
is enough."""
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
BUNDLE_SIZE_BYTES = 64 * 2**20  # logs, step records and readings of a long run


def refuse_little_memory(request: RunRequest, system_root: Path = Path("/")) -> None:
    """Raise SuiteError for a run that needs more memory than is available: its budget, or what the
    workload needs at its own mini-batch. What a smaller one needs, the run finds out."""
    training, workload = request.training, request.workload
    planned, needed = training.recomputation, workload.needs.memory_size_bytes
    if planned is not None:
        needed = planned.budget_bytes
    elif training.global_batch_size < workload.batch_size:
        return
    available = memory_bytes(system_root, "MemAvailable")
    if available is not None and available < needed:
        raise SuiteError(
            f"The workload {workload.name!r} needs {needed // 2**20} MiB of memory and"
            f" {available // 2**20} MiB are available; end other programs, or choose a smaller"
            " --batch-size, --memory-budget or workload."
        )


def preflight(request: RunRequest, system_root: Path = Path("/")) -> None:
    """Raise SuiteError for a run that this machine cannot finish, with the memory or disk space
    that it needs and that there is, and for one that no bundle can hold."""
    _refuse_many_records(request)
    _refuse_other_first_host(request.placement.hosts)
    if request.isolation is Isolation.PODMAN:
        _refuse_container(request)
    if request.training.accelerator == Accelerator.CUDA.value and not any(
        (system_root / path).exists() for path in GPU_FILES
    ):
        raise SuiteError(
            f"This machine has no driver of an NVIDIA GPU (none of /{', /'.join(GPU_FILES)}"
            " exists); use --accelerator cpu."
        )
    refuse_little_memory(request, system_root)
    place = nearest_existing(request.directory)
    free = free_bytes(place)
    if free < BUNDLE_SIZE_BYTES:
        raise SuiteError(
            f"The disk that holds {place} has {free // 2**20} MiB free and a run directory may need"
            f" {BUNDLE_SIZE_BYTES // 2**20} MiB; free some space or choose another --output."
        )
    if request.keep_states:
        refuse_full_disk(request, place, BUNDLE_SIZE_BYTES)
    refuse_spill_folder(request.training.recomputation)


def _refuse_other_first_host(hosts: Sequence[str]) -> None:
    # rank 0 writes the run directory on the first host; the harness reads it during the run
    if hosts and not is_this_machine(hosts[0]):
        raise SuiteError(
            f"The hostfile's first host is {hosts[0]}; it must be this machine, because the first"
            " host writes the run directory. Write this machine's name first, or start the run on"
            f" {hosts[0]}."
        )


def _refuse_container(request: RunRequest) -> None:
    """Raise SuiteError where a container would not train as a bare run does: on a GPU, by the same
    Python."""
    if request.training.accelerator == Accelerator.CUDA.value:
        raise SuiteError(
            "A container has no GPU", "use --accelerator cpu, or --isolation namespace"
        )
    refuse_other_python(find_environment(request.framework))


def _refuse_many_records(request: RunRequest) -> None:
    training, epochs = request.training, kept_epochs(request)
    steps = epochs * steps_per_epoch(training)
    rows = min(steps, training.steps or steps) * request.ranks
    for what, possible, most, choice in (
        ("step records", rows, MAX_STEP_ROWS, "fewer --epochs, or a larger --batch-size"),
        ("epochs", epochs, MAX_EPOCHS, "fewer --epochs"),
    ):
        if possible > most:
            raise SuiteError(
                f"This run may have {possible} {what}, and a run directory holds {most} at most;"
                f" choose {choice}."
            )


def free_bytes(place: Path) -> int:
    """Free space of the disk that holds ``place``; raises SuiteError where no disk does, as in
    /proc."""
    if not os.statvfs(place).f_blocks:
        raise SuiteError(
            f"{place} is not on a disk and cannot hold files; choose another --output."
        )
    return shutil.disk_usage(place).free


def refuse_full_disk(request: RunRequest, place: Path, reserved_bytes: int) -> None:
    """Raise SuiteError if the states that the run keeps, and what the bundle may need, do not fit
    on the disk that holds ``place``."""
    free, needed = free_bytes(place), states_size_bytes(request)
    epochs = kept_epochs(request)
    if free < needed + reserved_bytes:
        raise SuiteError(
            f"The training states of {counted(epochs, 'epoch')} need {mebibytes(needed)},"
            f" and the run directory needs up to {mebibytes(reserved_bytes)}. The disk that holds"
            f" {place} has only {mebibytes(free)} free; free some space, or choose another"
            " --output."
        )


def refuse_spill_folder(planned: Recomputation | None) -> None:
    """Raise SuiteError for a folder that activations cannot be kept in, with the nearest thing that
    works."""
    if planned is None or planned.spill_folder is None:
        return
    folder, without = Path(planned.spill_folder), planned.instead_of_spilling
    if not folder.is_dir():
        raise SuiteError(
            f"There is no folder {folder} for activations; create it, name another folder with"
            f" --spill, or {without}."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SuiteError(
            f"The folder {folder} cannot be written; name another folder with --spill, or"
            f" {without}."
        )
    mount = mount_of(folder.resolve())
    if mount is not None and mount.file_system in IN_MEMORY:
        raise SuiteError(
            f"The folder {folder} is in memory ({mount.file_system}); name a folder on a disk with"
            f" --spill, or {without}."
        )
    free = shutil.disk_usage(folder).free
    if free < planned.planned_spill_bytes:
        raise SuiteError(
            f"The disk that holds {folder} has {free / 1e6:.3g} MB free, and a step writes"
            f" {planned.planned_spill_bytes / 1e6:.3g} MB of activations; free some space, name a"
            f" folder on a larger disk with --spill, or {without}."
        )
