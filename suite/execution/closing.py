"""Closes a bundle: from a run's raw records to tables, figures and the manifest.

Every step can be repeated. A step writes whole files beside the raw records, which are removed
after the manifest is on the storage medium: whenever the closing is killed, either the raw records
or the closed bundle are complete, and closing again completes it.
"""

import errno
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from reference_impls import contract
from suite.bundle import layout, manifest
from suite.bundle.data_record import DATA
from suite.bundle.log import Log
from suite.bundle.node_records import sources_read
from suite.bundle.reader import Bundle, CachedBundle
from suite.errors import FileError, SuiteError
from suite.execution.run_records import amend_system, kept_records, write_output
from suite.execution.witnessing import ask_files_stamp, forget_witness, has_files_stamp
from suite.files.durable import sync_to_storage
from suite.files.json_file import write_json


def close_bundle(path: Path) -> None:
    """Close the bundle of a run whose run.json says how it ended; raises OSError when it cannot be
    written. Repeatable."""
    for step in STEPS:
        step(path)


def complete_system(path: Path) -> None:
    """``system.json``, written before the run: add the framework's version, which the
    implementation logged."""
    if not (path / layout.SYSTEM).exists() or not has_records(path):
        return  # an earlier version of the suite described the machine after the run
    version = Bundle(path).log().value("framework_version")
    if isinstance(version, str):
        amend_system(path, "framework_version", version)


def write_tables(path: Path) -> None:
    """The tables, from the CSV files."""
    # memory: pyarrow is loaded after the training only
    from suite.bundle.convert import convert_tables

    if has_records(path):
        convert_tables(path)


def write_power(path: Path) -> None:
    """``power.json``: the power rules of the meters that read anything, on any node."""
    # memory: NumPy is loaded after the training only
    from suite.metrics.power_totals import write_power_rules

    write_power_rules(path, sources_read(Bundle(path)))


def write_figures(path: Path) -> None:
    """``counters.json`` and ``summary.json``."""
    # memory: NumPy is loaded after the training only
    from suite.metrics.event_counts import derive_counters
    from suite.metrics.summary import derive_summary  # memory: NumPy, too

    if has_records(path):
        bundle = CachedBundle(path)
        write_json(path / layout.COUNTERS, derive_counters(bundle))
        write_json(path / layout.SUMMARY, derive_summary(bundle).to_dict())


def write_lifetime(path: Path) -> None:
    """``run.json``: when the tables and figures were written, if the process that ran the run
    closes it."""
    record = Bundle(path).run()
    if record.lifetime is not None and record.closed_later is None:
        lifetime = {**record.lifetime, "closed_ns": time.monotonic_ns()}
        write_json(path / layout.RUN, replace(record, lifetime=lifetime))


def ask_witness(path: Path) -> None:
    """``witness.json`` of a finished run: the witness's stamp over the digests of all other files,
    or why there is none."""
    record = ask_files_stamp(path, leftovers(path))
    if record is not None:
        kept_records(path).write_witness(record)
        if has_files_stamp(record):
            forget_witness(path)


def write_manifest(path: Path) -> None:
    """Sync every file, then seal the bundle."""
    left_over = leftovers(path)
    for file in path.iterdir():
        if file.is_file() and file not in left_over:
            sync_to_storage(file)
    sync_to_storage(path)
    manifest.seal(path, left_over)
    sync_to_storage(path)


def remove_leftovers(path: Path) -> None:
    """Remove the raw records, of which the sealed bundle has everything, and the lock."""
    for file in leftovers(path):
        file.unlink(missing_ok=True)


def training_ended(path: Path) -> bool:
    """Every rank logged the run's end, and what an adaptation logs before training and after it."""
    try:
        ranks = Bundle(path).run().request["parallel"]["ranks"]
        return all(_is_ended(Bundle(path).log(rank)) for rank in range(ranks))
    except (FileError, KeyError, TypeError):
        return False


def _is_ended(log: Log) -> bool:
    once = (key for key in ("frozen", "old_task_accuracy") if sum(1 for _ in log.all(key)) == 1)
    return log.first("run_stop") is not None and not any(once)


def has_records(path: Path) -> bool:
    """The implementation began to write its log and step records; without them there are no
    figures."""
    return (path / contract.log_name(0)).exists() and any(
        (path / name).exists() for name in (contract.steps_name(0), layout.STEPS)
    )


def leftovers(path: Path) -> list[Path]:
    """Files that do not belong to a closed bundle: raw records, unfinished files, those with names
    of hosts and people, and at the end the lock."""
    raw = (
        layout.READINGS_RAW,
        layout.BASELOAD_RAW,
        layout.node_tables("[0-9]*")[1],
        layout.node_baseloads("[0-9]*")[1],
    )
    unfinished = (
        f".{name}*"
        for name in (
            layout.RUN,
            layout.PRIVATE,
            contract.REQUEST_NAME,
            DATA,
            layout.SYSTEM,
            layout.COUNTERS,
            layout.SUMMARY,
            layout.POWER,
            "nodes.json",
            "output.",
            layout.WITNESS,
            layout.MANIFEST,
        )
    )
    named = (layout.HOSTS, layout.RAW_OUTPUT, layout.PRIVATE)
    patterns = (
        contract.steps_name(0),
        "steps.rank[0-9]*.csv",
        *raw,
        *unfinished,
        ".*.parquet",
        *named,
        contract.REQUEST_NAME,
        layout.LOCK,
    )
    return [file for pattern in patterns for file in sorted(path.glob(pattern)) if file.is_file()]


STEPS: tuple[Callable[[Path], None], ...] = (
    complete_system,
    write_tables,
    write_power,
    write_figures,
    write_output,
    write_lifetime,
    ask_witness,
    write_manifest,
    remove_leftovers,
)
"""In this order. What a bundle is to contain must be written before the witness is asked, which
signs its digest, and the manifest."""


@contextmanager
def disk_errors(path: Path, remedy: str = "Free some space and run again") -> Iterator[None]:
    """Turn a failed write into a SuiteError that says what is kept."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path).free
            what = (
                f"The disk that holds {path} is full ({free} bytes free); everything written so far"
                f" is kept. {remedy}."
            )
        else:
            named = f" ({error.filename})" if error.filename else ""
            what = f"The run directory {path} cannot be written: {error.strerror or error}{named}."
        raise SuiteError(what) from error
