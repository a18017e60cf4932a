"""The run directory's file names, its schema, and the limits within which untrusted files are
read."""

import secrets
import time
from pathlib import Path

SCHEMA = 2
# 1: suite 0.1.0, other names for the parts of a step (suite.metrics.schema1)
READABLE_SCHEMAS = (1, SCHEMA)

RUN, SYSTEM, SUMMARY, MANIFEST, OUTPUT = (
    "run.json",
    "system.json",
    "summary.json",
    "MANIFEST.sha256",
    "output.txt",
)
COUNTERS, POWER, BASELOAD = "counters.json", "power.json", "baseload.parquet"
STEPS, READINGS, READINGS_RAW, BASELOAD_RAW = (
    "steps.parquet",
    "readings.parquet",
    "readings.csv",
    "baseload.csv",
)
NO_ORGANIZATION = "none"
"""The organization of a run that was made for nobody; anybody may submit it."""
PARTS = ("fetch_stall_s", "copy_s", "compute_s", "communication_s")
"""Columns of steps.parquet that split the time of a step."""
LOCK = "run.lock"
# of an open run directory: what names its machine, and its output before that is redacted
PRIVATE, RAW_OUTPUT = "private.json", "output.raw.txt"

HOSTS = "hosts.txt"  # what mpirun was given: suite.launch.mpirun.HOSTS_NAME
WITHDRAWN = "WITHDRAWN"
WITNESS = "witness.json"
STUDY, MATRIX, LINPACK_RECORD, LINPACK_STUDY_RECORD = (
    "study.json",
    "matrix.json",
    "linpack.json",
    "linpack_study.json",
)
"""Records of folders: a sweep, a matrix of studies, LINPACK on one node, and on several."""

MAX_TABLE_BYTES, MAX_RAW_BYTES = 2**30, 2**33  # a table of readings, and the same as CSV
MAX_MANIFEST_BYTES = 4 * 2**20
MAX_WITHDRAWAL_BYTES = 64 * 2**10


def node_tables(place: int | str) -> tuple[str, str]:
    """A node's readings: names of the Parquet table, and of the CSV file while the run goes on.
    The harness's node is 0; ``"*"`` gives patterns for all others."""
    return _tables("readings", place)


def node_baseloads(place: int | str) -> tuple[str, str]:
    """A node's readings before the run, likewise."""
    return _tables("baseload", place)


def _tables(what: str, place: int | str) -> tuple[str, str]:
    name = f"{what}.node{place}" if place else what
    return f"{name}.parquet", f"{name}.csv"


def states_folder(run: Path) -> Path:
    """The folder of a run's states, beside its run directory: what a bundle contains is sealed, and
    states are large."""
    whole = run if run.name else run.absolute()  # ``.`` has no name
    return whole.with_name(f"{whole.name}.states")


def new_run_id(workload: str, framework: str) -> str:
    """A run's id, which names its directory; names sort by time."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{workload}-{framework}-{stamp}-{secrets.token_hex(3)}"


def is_withdrawal(path: Path) -> bool:
    """Whether a file withdraws a result: a plain text file that is not empty."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_WITHDRAWAL_BYTES:
        return False
    try:
        return bool(path.read_bytes().decode("utf-8").strip())
    except UnicodeDecodeError:
        return False
