"""`suite verify-ranks WORKLOAD`."""

import sys
from typing import Annotated

import typer

from reference_impls.contract import Parallel
from suite.catalog.frameworks import REFERENCE
from suite.catalog.workloads import load_workload
from suite.cli.json_output import print_rows
from suite.cli.options import (
    Json,
    OfAllReduce,
    OfStatistics,
    OwnImplementation,
    WorkloadName,
)
from suite.cli.verify_model import NOT_EQUIVALENT, FrameworksToVerify, subject_of, subjects
from suite.execution.request import Collective, Normalisation
from suite.verify import ranks as verifying
from suite.verify.ranks import BUCKET_BYTES, STEPS, RanksVerdict


def verify_ranks(
    workload: WorkloadName,
    framework: FrameworksToVerify = None,
    implementation: OwnImplementation = None,
    ranks: Annotated[
        list[int] | None,
        typer.Option(min=2, help="Number of ranks on this machine; repeatable (default: 2, 4)."),
    ] = None,
    collective: OfAllReduce = Collective.MPI,
    normalisation: OfStatistics = Normalisation.LOCAL,
    steps: Annotated[int, typer.Option(min=2, help="Number of training steps.")] = STEPS,
    json: Json = False,
) -> None:
    """Verify that several ranks train as one does. Exit code: 0 yes, 1 no, 2 unknown.

    Both train from the same weights on the same samples.
    """
    definition = load_workload(workload)
    verdicts = [
        verifying.verify_ranks(
            definition,
            subject,
            Parallel(size, 1, collective.value, BUCKET_BYTES, True, normalisation.value),
            lambda line: print(line, file=sys.stderr),
            steps,
            None if subject.outside is None else subject_of(REFERENCE),
        )
        for subject in subjects(framework, implementation)
        for size in ranks or (2, 4)
    ]
    if json:
        print_rows("verify-ranks", [verdict.to_dict() for verdict in verdicts])
    else:
        for verdict in verdicts:
            _show(verdict)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(NOT_EQUIVALENT)


def _show(verdict: RanksVerdict) -> None:
    compared = (
        f"({verdict.collective}, {verdict.normalisation} normalisation) against {verdict.reference}"
    )
    steps = f"{verdict.steps} steps, mini-batches of {verdict.batch_size}"
    print(f"\n{verdict.workload}: {verdict.ranks} ranks of {verdict.subject} {compared}, {steps}")
    for one in verdict.differences:
        error = "—" if one.error is None else f"{one.error:.1e}"
        mark = "ok" if one.passed else "MISSED"
        print(
            f"  {one.quantity:16} {error:>8}  tolerance {one.tolerance:.0e}  {mark:6} "
            f" {one.problem or ''} {one.worst}".rstrip()
        )
