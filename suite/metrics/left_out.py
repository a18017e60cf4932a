"""Leaves a power meter out of a closed bundle's energies, with the reason; its readings stay."""

from dataclasses import replace
from pathlib import Path

from suite.bundle import layout
from suite.bundle.node_records import sources_read
from suite.bundle.reader import Bundle
from suite.catalog.power import power_sources
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.metrics.power_totals import counted_rules
from suite.metrics.traces.attaching import keep_files, seal_again

MAX_REASON = 200


def refuse_left_out(bundle: Bundle, meter: str, reason: str) -> None:
    """Raise SuiteError where the meter measured no power of this run, or the reason is missing."""
    counted = sorted(sources_read(bundle) & power_sources(counted_rules(bundle)))
    if meter not in counted:
        raise SuiteError(
            f"{meter!r} is not a power meter that counts towards the energy of {bundle.path}; those"
            f" that count: {', '.join(counted) or 'none'}."
        )
    if not 0 < len(reason.strip()) <= MAX_REASON:
        raise SuiteError(
            f"Give a --reason of 1 to {MAX_REASON} characters; it is shown with the energy."
        )


def leave_out(path: Path, meter: str, reason: str) -> None:
    """Compute the energies of the bundle at ``path`` without a meter, and seal it again. The files
    are changed in place."""
    keep_files(path)
    run = Bundle(path).run()
    left_out = {**(run.meters_left_out or {}), meter: reason.strip()}
    write_json(path / layout.RUN, replace(run, meters_left_out=left_out))
    seal_again(path)
