"""`suite verify-ranks WORKLOAD`."""

import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from suite.cli.verify_model import chosen_frameworks
from suite.execution.request import Collective

if TYPE_CHECKING:
    from suite.verify.ranks import RanksVerdict

NOT_EQUIVALENT = 1


def verify_ranks(
    workload: Annotated[str, typer.Argument(help="A workload (`suite list workloads`).")],
    framework: Annotated[list[str] | None, typer.Option(help="Only this framework; may be given several times.")] = None,
    ranks: Annotated[list[int] | None, typer.Option(min=2, help="How many, on this machine; may be given several times (default: 2, 4).")] = None,
    collective: Annotated[Collective, typer.Option(help="Who sums the gradients: the suite over MPI, or the framework itself.")] = Collective.MPI,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prove that several ranks train as one does, over 50 steps: 0 they do, 1 a tolerance is missed, 2 it could not be found out."""
    from reference_impls.contract import Parallel
    from suite.catalog.workloads import load_workload
    from suite.verify.ranks import BUCKET_BYTES, verify_ranks

    definition = load_workload(workload)
    verdicts = [
        verify_ranks(definition, subject, Parallel(size, 1, collective.value, BUCKET_BYTES, True), lambda words: print(words, file=sys.stderr))
        for subject in chosen_frameworks(framework)
        for size in ranks or (2, 4)
    ]
    if json:
        print(json_format.dumps([verdict.to_dict() for verdict in verdicts], indent=1))
    else:
        for verdict in verdicts:
            _show(verdict)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(NOT_EQUIVALENT)


def _show(verdict: "RanksVerdict") -> None:
    print(
        f"\n{verdict.workload}: {verdict.ranks} ranks of {verdict.subject} ({verdict.collective}) against {verdict.reference}, "
        f"{verdict.steps} steps, mini-batches of {verdict.batch_size}"
    )
    for one in verdict.differences:
        error = "—" if one.error is None else f"{one.error:.1e}"
        mark = "ok" if one.passed else "MISSED"
        print(f"  {one.quantity:16} {error:>8}  tolerance {one.tolerance:.0e}  {mark:6}  {one.problem or ''} {one.worst}".rstrip())
