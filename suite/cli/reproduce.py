"""`suite reproduce BUNDLE_OR_ENTRY`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite import api
from suite.bundle.layout import NO_ORGANIZATION
from suite.bundle.replication_folder import RECORD
from suite.catalog.reproduction import load_reproduction
from suite.cli.json_output import print_json
from suite.cli.options import DataFolder, Json, say, with_options
from suite.cli.watching import watcher
from suite.compliance.finding import printable
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.files.signature import expect_key
from suite.metrics.replication_record import (
    AccuraciesCompared,
    Replication,
    ReplicationVerdict,
    TimesCompared,
)
from suite.submission.evidence import sign_evidence

EXIT_CODES = {
    ReplicationVerdict.CONFIRMED: 0,
    ReplicationVerdict.REFUTED: 1,
    ReplicationVerdict.UNDECIDED: 2,
}


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """Options of `suite reproduce`."""

    runs: Annotated[
        int | None,
        Option(help="Number of fresh runs (default: one for each original, at least three)."),
    ] = None
    org: Annotated[
        str,
        Option(
            help="Your organization; a replication counts only if another organization made the"
            " original runs."
        ),
    ] = NO_ORGANIZATION
    sign: Annotated[
        Path | None,
        Option(help="SSH key of your organization, which signs the record."),
    ] = None
    data: DataFolder = None
    implementation: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Folder of the implementation that made the runs, if it is not in the checkout.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        Option(
            help=(
                "Folder of fresh runs and record; finished runs in it are kept (default:"
                " replications/<run id>-<time>)."
            )
        ),
    ] = None


@with_options
def reproduce(
    original: Annotated[
        Path, Argument(help="Sealed run directory, or a folder with the runs of one entry.")
    ],
    options: ReproduceOptions,
    json: Json = False,
) -> None:
    """Repeat another organization's runs and compare. Exit code: 0 confirmed, 1 refuted, 2
    undecided."""
    if options.sign is not None:
        _expect_signer(options.org, options.sign)
    with watcher() as progress:
        folder, record = api.reproduce(
            original,
            options.output,
            runs=options.runs,
            organization=options.org,
            data=options.data,
            implementation=options.implementation,
            progress=progress,
            report=say,
        )
    if options.sign is not None:
        sign_evidence(folder / RECORD, options.sign)
    if json:
        print_json("reproduce", {"path": folder, **asdict(record)})
    else:
        _show(record, folder)
    raise typer.Exit(EXIT_CODES[record.comparisons.verdict])


def _expect_signer(organization: str, key: Path) -> None:
    """Whether the record can be signed is said before the runs, which take hours."""
    if organization == NO_ORGANIZATION:
        raise SuiteError("--sign signs for an organization; name yours with --org.")
    expect_key(key)


def _show(record: Replication, folder: Path) -> None:
    found = record.comparisons
    names = ", ".join(printable(run.run_id) for run in record.originals)
    print(f"{names}: {found.verdict.value}, by {counted(len(record.runs), 'fresh run')}")
    losses = (
        f"the first {found.losses.steps} losses equal the original's in"
        f" {found.losses.equal_runs} of {counted(len(record.runs), 'fresh run')}"
    )
    _line("losses", found.losses.verdict, losses, found.losses.reason)
    _line(
        "accuracy", found.accuracies.verdict, _accuracies(found.accuracies), found.accuracies.reason
    )
    _line("times", found.times.verdict, _times(found.times), found.times.reason)
    loads = [run.foreign_cpu_share for run in record.runs if run.foreign_cpu_share is not None]
    print(
        "  load of other programs:"
        f" {f'{min(loads):.1%} to {max(loads):.1%} of the machine' if loads else 'not measured'}"
    )
    print(
        f"The record is {folder / RECORD}; its runs are in the same folder.\nCheck it: "
        f" {shell_command('suite check', folder)}"
    )


def _line(what: str, verdict: ReplicationVerdict, measured: str | None, reason: str | None) -> None:
    details = "; ".join(part for part in (measured, reason and printable(reason)) if part)
    print(f"  {what}: {verdict.value}; {details}")


def _accuracies(found: AccuraciesCompared) -> str | None:
    if found.original is None or found.fresh is None or found.standard_error is None:
        return None
    return (
        f"original {found.original:.2%}, here {found.fresh:.2%}, after epoch {found.epoch};"
        f" standard error {100 * found.standard_error:.2f} points"
    )


def _times(found: TimesCompared) -> str | None:
    if found.ratio is None:
        return None
    limit = 1 + load_reproduction().margin
    return (
        f"the original's {found.figure} is {found.ratio:.3f} times that of the fresh runs"
        f" ({1 - found.level:.0%} interval: {found.low:.3f} to {found.high:.3f}); the margin is"
        f" {1 / limit:.3f} to {limit:.3f}; an honest run is refuted with a probability of"
        f" at most {found.false_alarm:.1%}"
    )
