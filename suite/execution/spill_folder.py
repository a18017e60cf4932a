"""The folder of `suite run --spill`: on storage, writable, and with room for what a step writes."""

import os
import shutil
from pathlib import Path

from reference_impls.contract import Recomputation
from suite.errors import SuiteError
from suite.machine.block_device import mount_of

IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


def refuse_spill_folder(planned: Recomputation | None) -> None:
    """Raise SuiteError for a folder that activations cannot be kept in, with the nearest thing that
    works."""
    if planned is None or planned.spill_folder is None:
        return
    folder, without = Path(planned.spill_folder), planned.instead_of_spilling
    if not folder.is_dir():
        raise SuiteError(
            f"There is no folder {folder} for activations; make it, name another one with --spill,"
            f" or {without}."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SuiteError(
            f"The folder {folder} cannot be written; name another one with --spill, or {without}."
        )
    mount = mount_of(folder.resolve())
    if mount is not None and mount.file_system in IN_MEMORY:
        raise SuiteError(
            f"{folder} is in memory ({mount.file_system}); name a folder on storage with --spill,"
            f" or {without}."
        )
    free = shutil.disk_usage(folder).free
    if free < planned.planned_spill_bytes:
        raise SuiteError(
            f"The disk that holds {folder} has {free / 1e6:.3g} MB free, and a step writes"
            f" {planned.planned_spill_bytes / 1e6:.3g} MB of activations; free some space, name a"
            f" folder on a larger disk with --spill, or {without}."
        )
