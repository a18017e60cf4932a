"""`suite review SUBMISSION`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite import api
from suite.cli.audit import EXIT_CODES
from suite.cli.json_output import print_json
from suite.cli.options import DataFolder, Json, say
from suite.compliance.finding import printable
from suite.metrics.review_record import Review, ReviewedRun


def review(
    submission: Annotated[Path, Argument(help="Folder of a submission.")],
    org: Annotated[str, Option(help="Your organization, as submissions/ALLOWED_SIGNERS names it.")],
    sign: Annotated[Path, Option(help="SSH key that signs the review.")],
    states: Annotated[
        Path | None,
        Option(
            help="Folder with the training states that were handed in (epoch_N.npz, at any depth)."
        ),
    ] = None,
    data: DataFolder = None,
    implementation: Annotated[
        list[Path] | None,
        Option(
            metavar="DIR",
            help="Folder of an implementation that made runs and is not in the checkout;"
            " repeatable.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Pick random epochs of a submission's runs, replay these runs, verify the models, and sign the
    record. Exit code: 0 agrees, 1 contradicts, 2 undecided."""
    file, record = api.review(
        submission,
        organization=org,
        key=sign,
        states=states,
        data=data,
        implementations=tuple(implementation or ()),
        report=say,
    )
    if json:
        print_json("review", {"path": file, **asdict(record), "verdict": record.verdict})
    else:
        _show(file, record)
    raise typer.Exit(EXIT_CODES[record.verdict])


def _show(file: Path, record: Review) -> None:
    print(f"{printable(record.submission)}: {record.verdict.value}, {record.time_s:.0f} s")
    for name, run in record.runs.items():
        print(f"  {printable(name)}: {_run(run)}")
    for name, model in record.models.items():
        word = {True: "equivalent", False: "not equivalent", None: "no verdict"}
        reason = f"; {printable(model.reason)}" if model.reason else ""
        print(f"  model {printable(name)}: {word[model.is_equivalent]}{reason}")
    reviewed = {run.manifest_sha256 for run in record.runs.values()}
    for name in sorted(record.replaced(reviewed) & record.runs.keys()):
        print(f"  {printable(name)} was handed in again after its epoch was drawn")
    print(f"Commit {file} and its signature.")


def _run(run: ReviewedRun) -> str:
    drawn = f"drawn epoch {run.epoch}; " if run.epoch is not None else ""
    audit = run.audit
    if audit is None:
        return f"{drawn}not replayed; {printable(run.reason or '')}"
    what = (
        "replay of the first steps"
        if audit.state is None
        else "replay of the first steps and of steps from the drawn epoch's state"
    )
    return f"{drawn}{what}: {audit.verdict.value}" + (
        f"; {printable(run.reason)}" if run.reason else ""
    )
