"""The columns of a bundle's tables, and the errors of files that do not have them."""

from pathlib import Path

import pyarrow

from reference_impls.contract import STEP_COLUMNS
from suite.errors import FileError, SuiteError

_INTEGERS = ("epoch", "step", "rank", "samples", "start_ns")
STEP_TYPES = {name: "int64" if name in _INTEGERS else "float64" for name in STEP_COLUMNS}
SCHEMA_1_STEP_NAMES = (
    "epoch",
    "step",
    "rank",
    "samples",
    "start_ns",
    "fetch_s",
    "h2d_s",
    "compute_s",
    "comm_s",
    "loss",
)
READING_TYPES = {
    "t_ns": "int64",
    "source": "string",
    "channel": "string",
    "value": "float64",
    "unit": "string",
}
ARROW_TYPES = {
    "int64": pyarrow.int64(),
    "float64": pyarrow.float64(),
    "string": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}
UNREADABLE = (pyarrow.ArrowException, ValueError, TypeError, OSError, MemoryError)


def unreadable_table(path: Path, error: Exception) -> SuiteError:
    """The error for a file that is not a table: FileError, unless memory is short, which is no
    fault of the file."""
    if isinstance(error, MemoryError):
        return SuiteError(
            f"{path} cannot be read: too little memory ({str(error)[:200]})",
            "end other programs, or read the table on a machine with more memory",
        )
    return FileError(path, f"is not a readable table ({str(error)[:200]})")
