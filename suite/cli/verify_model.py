"""`suite verify-model WORKLOAD` and `suite verify-ranks WORKLOAD`."""

import enum
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from reference_impls.contract import Parallel
from suite.catalog.frameworks import (
    REFERENCE,
    Framework,
    load_framework,
    load_frameworks,
    load_implementation,
    refuse_precision,
)
from suite.catalog.precisions import Precision
from suite.catalog.workloads import Workload, load_workload
from suite.cli.completion import framework_names
from suite.cli.json_output import expect_place, print_json, print_rows, write_record
from suite.cli.options import (
    Json,
    OfAllReduce,
    OfStatistics,
    OwnImplementation,
    WorkloadName,
    refuse_both,
    say,
)
from suite.errors import SuiteError
from suite.execution.request import Collective, Normalisation
from suite.launch.environments import find_environment
from suite.verify import ranks as verifying
from suite.verify.array_differences import QuantityDifference
from suite.verify.probing import ProbedImplementation, build_probe
from suite.verify.ranks import BUCKET_BYTES, STEPS, RanksVerdict
from suite.verify.timed_steps import VerifyOptions
from suite.verify.verdict import Differences, EquivalenceVerdict, no_report, verify_implementations

NOT_EQUIVALENT = 1
FrameworksToVerify = Annotated[
    list[str] | None,
    Option(autocompletion=framework_names, help="Framework to verify; repeatable (default: all)."),
]


class Processor(str, enum.Enum):
    """What an implementation computes on."""

    CPU = "cpu"
    CUDA = "cuda"


def verify_model(
    workload: WorkloadName,
    framework: FrameworksToVerify = None,
    implementation: OwnImplementation = None,
    accelerator: Annotated[
        Processor,
        Option(help="Processor of the implementations; the reference computes on the CPU."),
    ] = Processor.CPU,
    precision: Annotated[
        Precision,
        Option(
            help=(
                "Precision of the timed steps. The tolerances stay those of float32, so that the"
                " differences of another precision show."
            )
        ),
    ] = Precision.FLOAT32,
    full: Annotated[
        bool,
        Option(
            "--full",
            help=(
                "Train the timed steps at the workload's own batch size (default: a smaller one),"
                " and evaluate a mini-batch of that size and a smaller one."
            ),
        ),
    ] = False,
    batch_size: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Train the timed steps at your runs' batch size, in place of --full.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(help="Also write the verdict to this JSON file, for a submission."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify that implementations compute the same model. Exit code: 0 yes, 1 no, 2 unknown."""
    definition = load_workload(workload)
    expect_place(output)
    for each in _frameworks(framework, implementation):
        refuse_precision(each, precision, accelerator.value)
    reference = _probe(load_framework(REFERENCE))
    options = VerifyOptions(
        accelerator.value, _batch_size(definition, full, batch_size), precision.value
    )
    verdict = verify_implementations(
        definition,
        reference,
        subjects(framework, implementation),
        say,
        options,
        no_report if json else partial(_show_part, workload, reference.name),
    )
    write_record(output, verdict.to_dict())
    if json:
        print_json("verify-model", verdict.to_dict())
    else:
        _show_end(verdict)
    if not verdict.passed:
        raise typer.Exit(NOT_EQUIVALENT)


def _batch_size(workload: Workload, full: bool, asked_for: int | None) -> int | None:
    """That of the runs which are to be proved; None: that of the workload's timed steps."""
    if full and asked_for is not None:
        raise SuiteError(
            f"--full trains at the workload's own batch size, {workload.batch_size}; leave --full"
            " or --batch-size out."
        )
    return workload.batch_size if full else asked_for


def subjects(
    frameworks: list[str] | None, implementation: Path | None
) -> list[ProbedImplementation]:
    """The probe of the implementation, or of the named frameworks, or of every one that has one."""
    return [_probe(one) for one in _frameworks(frameworks, implementation)]


def _frameworks(names: list[str] | None, implementation: Path | None) -> list[Framework]:
    refuse_both(names, implementation)
    if implementation is not None:
        return [load_implementation(implementation)]
    if names:
        return [load_framework(name) for name in names]
    return [one for one in load_frameworks() if one.serves_closed]


def _probe(framework: Framework) -> ProbedImplementation:
    if framework.outside is None and not framework.serves_closed:
        raise SuiteError(
            f"The framework {framework.name!r} cannot be verified: it is for the open division"
            " only. Choose another --framework."
        )
    return build_probe(framework, find_environment(framework))


def _show_part(workload: str, reference: str, name: str, differences: Differences) -> None:
    """A part of an implementation's verdict, as soon as it is judged."""
    print(f"\n{workload}: {name} against {reference}")
    width = max((len(precision) for precision, _ in differences), default=0)
    for precision, one in differences:
        print(f"  {precision:{width}}  {_line(one, 20)}")
    sys.stdout.flush()


def _show_end(verdict: EquivalenceVerdict) -> None:
    for subject in verdict.subjects:
        if verdict.timed_batch_size is not None and not subject.shows_states:
            print(
                "  unproved: optimizer, learning rate and weight decay of the timed steps, because"
                f" {subject.name} writes no training states; submissions to the closed division"
                " need them (docs/implementing.md#training-states)"
            )
    print(f"\n{verdict.workload}: " + ("equivalent" if verdict.passed else "not equivalent"))


def _line(one: QuantityDifference, width: int) -> str:
    """A difference beside its tolerance."""
    error = "—" if one.error is None else f"{one.error:.1e}"
    mark = "ok" if one.passed else "MISSED"
    return (
        f"{one.quantity:{width}} {error:>8}  tolerance {one.tolerance:.0e}  {mark:6} "
        f" {one.problem or ''} {one.worst}".rstrip()
    )


def verify_ranks(
    workload: WorkloadName,
    framework: FrameworksToVerify = None,
    implementation: OwnImplementation = None,
    ranks: Annotated[
        list[int] | None,
        Option(min=2, help="Number of ranks on this machine; repeatable (default: 2, 4)."),
    ] = None,
    collective: OfAllReduce = Collective.MPI,
    normalisation: OfStatistics = Normalisation.LOCAL,
    steps: Annotated[int, Option(min=2, help="Number of training steps.")] = STEPS,
    json: Json = False,
) -> None:
    """Verify that training on several ranks gives the same result as on one. Exit code: 0 yes, 1
    no, 2 unknown.

    Both train from the same weights on the same samples.
    """
    definition = load_workload(workload)
    verdicts = [
        verifying.verify_ranks(
            definition,
            subject,
            Parallel(size, 1, collective.value, BUCKET_BYTES, True, normalisation.value),
            say,
            steps,
            None if subject.outside is None else _probe(load_framework(REFERENCE)),
        )
        for subject in subjects(framework, implementation)
        for size in ranks or (2, 4)
    ]
    if json:
        print_rows("verify-ranks", [verdict.to_dict() for verdict in verdicts])
    else:
        for verdict in verdicts:
            _show_ranks(verdict)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(NOT_EQUIVALENT)


def _show_ranks(verdict: RanksVerdict) -> None:
    compared = (
        f"({verdict.collective}, {verdict.normalisation} normalisation) against {verdict.reference}"
    )
    steps = f"{verdict.steps} steps, mini-batches of {verdict.batch_size}"
    print(f"\n{verdict.workload}: {verdict.ranks} ranks of {verdict.subject} {compared}, {steps}")
    for one in verdict.differences:
        print(f"  {_line(one, 16)}")
