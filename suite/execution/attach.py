"""Attaches a logger's trace to a closed bundle, or leaves a meter out of its energies, all or
nothing: a copy is changed and takes the bundle's place."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from suite.bundle.reader import Bundle
from suite.bundle.run_lock import refuse_running
from suite.catalog.power import Coverage, Tier
from suite.execution.closing import disk_errors
from suite.execution.run_records import kept_records
from suite.files.durable import sync_to_storage
from suite.files.tree import paths_below
from suite.metrics.left_out import leave_out, refuse_left_out
from suite.metrics.traces.attaching import (
    Attachment,
    expect_finished,
    prepare_attachment,
    write_trace,
)
from suite.metrics.traces.columns import TraceOptions


def attach_trace(
    path: Path,
    trace: Path,
    covers: Coverage,
    tier: Tier | None,
    options: TraceOptions,
    *,
    offset_s: float | None,
    command: Sequence[str],
    dry_run: bool,
) -> Attachment:
    """Read and fit the trace, then write it into the bundle unless ``dry_run``; returns what was
    understood and fitted.

    The bundle is changed in a copy beside it, which then takes its name: whenever this is cut off,
    the bundle is complete as it was, or as it is to be, under its own name or with
    ``.before-attach`` after it. Raises SuiteError, and nothing is changed, where the trace does not
    fit.
    """
    found = prepare_attachment(_ended(path), trace, covers, tier, options, offset_s)
    if not dry_run:
        discreet = kept_records(path).redactor.command(command)
        _exchange(path, lambda copy: write_trace(copy, found, discreet))
    return found


def leave_meter_out(path: Path, meter: str, reason: str) -> None:
    """Compute a closed run's energies without a meter. Raises SuiteError, and nothing is changed,
    where it measured no power."""
    bundle = _ended(path)
    expect_finished(bundle)
    refuse_left_out(bundle, meter, reason)
    discreet = str(kept_records(path).redactor.value(reason))
    _exchange(path, lambda copy: leave_out(copy, meter, discreet))


def _ended(path: Path) -> Bundle:
    bundle = Bundle(path)
    bundle.expect_run()
    refuse_running(path)
    return bundle


def _exchange(path: Path, change: Callable[[Path], None]) -> None:
    with disk_errors(path, "Free some space and try again"):
        _exchange_files(path.resolve(), change)


def _exchange_files(path: Path, change: Callable[[Path], None]) -> None:
    copy, before = (
        path.with_name(f".{path.name}.attaching"),
        path.with_name(f".{path.name}.before-attach"),
    )
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy, symlinks=True)
    try:
        change(copy)
        for file in (*paths_below(copy), copy):
            if not file.is_symlink():
                sync_to_storage(file)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    shutil.rmtree(before, ignore_errors=True)
    path.rename(before)
    copy.rename(path)
    sync_to_storage(path.parent)
    shutil.rmtree(before)
