"""Attaches a logger's trace to a closed bundle, all or nothing: a copy is changed and takes the
bundle's place."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from suite.bundle.reader import Bundle
from suite.catalog.power import Coverage, Tier
from suite.errors import SuiteError
from suite.execution.closing import disk_errors
from suite.execution.run_directory import is_held
from suite.execution.run_records import kept_records
from suite.files.durable import sync
from suite.metrics.traces.attaching import Attachment, attach, prepare
from suite.metrics.traces.columns import TraceOptions


def attach_trace(
    path: Path,
    trace: Path,
    covers: Coverage,
    tier: Tier,
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
    bundle = Bundle(path)
    bundle.expect_run()
    if is_held(path):
        raise SuiteError(f"{path} still runs; attach the trace when the run has ended.")
    found = prepare(bundle, trace, covers, tier, options, offset_s)
    if not dry_run:
        with disk_errors(path, "Free some space and attach again"):
            _exchange(path.resolve(), found, kept_records(path).redactor.command(command))
    return found


def _exchange(path: Path, found: Attachment, command: Sequence[str]) -> None:
    copy, before = (
        path.with_name(f".{path.name}.attaching"),
        path.with_name(f".{path.name}.before-attach"),
    )
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy, symlinks=True)
    try:
        attach(copy, found, command)
        for file in (*copy.iterdir(), copy):
            sync(file)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
    shutil.rmtree(before, ignore_errors=True)
    path.rename(before)
    copy.rename(path)
    sync(path.parent)
    shutil.rmtree(before)
