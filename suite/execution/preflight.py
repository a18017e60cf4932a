"""Checks before a run: the first host, a GPU, memory and disk space."""

import shutil
from pathlib import Path

from suite.errors import SuiteError
from suite.execution.kept_states import refuse_full_disk
from suite.execution.request import Accelerator, RunRequest
from suite.execution.spill_folder import refuse_spill_folder
from suite.files.paths import nearest_existing
from suite.launch.placement import is_this_machine

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
BUNDLE_SIZE_BYTES = 64 * 2**20  # logs, step records and readings of a long run


def preflight(request: RunRequest, system_root: Path = Path("/")) -> None:
    """Raise SuiteError for a run that this machine cannot finish, with the memory or disk space
    that it needs and that there is."""
    _refuse_foreign_first_host(request.placement.hosts)
    if request.training.accelerator == Accelerator.CUDA.value and not any(
        (system_root / path).exists() for path in GPU_FILES
    ):
        raise SuiteError(
            f"This machine has no driver of an NVIDIA GPU (none of /{', /'.join(GPU_FILES)}"
            " exists); use --accelerator cpu."
        )
    available = _available_memory_bytes(system_root)
    needed = request.workload.needs.memory_size_bytes
    if available is not None and available < needed:
        raise SuiteError(
            f"The workload {request.workload.name!r} needs {needed // 2**20} MiB of memory and"
            f" {available // 2**20} MiB are available; end other programs or choose a smaller"
            " workload."
        )
    place = nearest_existing(Path(request.training.output_directory))
    free = shutil.disk_usage(place).free
    if free < BUNDLE_SIZE_BYTES:
        raise SuiteError(
            f"The disk that holds {place} has {free // 2**20} MiB free and a run directory may need"
            f" {BUNDLE_SIZE_BYTES // 2**20} MiB; free some space or choose another --output."
        )
    if request.keep_states:
        refuse_full_disk(request, place, BUNDLE_SIZE_BYTES)
    refuse_spill_folder(request.training.recomputation)


def _refuse_foreign_first_host(hosts: tuple[str, ...]) -> None:
    """Rank 0 runs on the first host and writes the run directory there; the harness reads it during
    the run."""
    if hosts and not is_this_machine(hosts[0]):
        raise SuiteError(
            f"The hostfile's first host, {hosts[0]}, is not this machine, where the run directory"
            f" is kept; write this machine's name first, or start the run on {hosts[0]}."
        )


def _available_memory_bytes(system_root: Path) -> int | None:
    try:
        lines = (system_root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line for line in lines if line.startswith("MemAvailable:")]
    return int(found[0].split()[1]) * 1024 if found else None
