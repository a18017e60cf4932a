"""Verifies a workload's implementations: probes each, compares each with the reference, and keeps
digests of the arrays compared."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from suite import __version__
from suite.catalog.workloads import (
    GOLDEN,
    NARROW,
    OF_STATES,
    PARAMETER_COUNT,
    WIDE,
    Workload,
    golden_name,
)
from suite.errors import SuiteError
from suite.verify.array_differences import Arrays, QuantityDifference, compare_arrays
from suite.verify.probing import NO_SHAPES, ProbedImplementation, Shape, probe_in_precision
from suite.verify.timed_steps import (
    DEFAULT,
    VerifyOptions,
    timed_differences,
    timed_reference,
)

SCHEMA = 2

Differences = tuple[tuple[str, QuantityDifference], ...]
"""Each with its precision."""

FoundPart = Callable[[str, Differences], None]
GOLDEN_LOGITS = 10
"""Outputs of the first sample that a workload pins, of the first classes."""


@dataclass(frozen=True)
class ImplementationVerdict:
    """One implementation's differences from the reference. ``digests`` are SHA-256 over all arrays
    that the probe wrote, by precision.

    ``implementation_sha256`` is the digest of its files (suite.catalog.seeds).
    """

    name: str
    module: str
    implementation_sha256: str | None
    parameters: int
    differences: Differences
    digests: dict[str, str]

    @property
    def passed(self) -> bool:
        """True when every difference is within its tolerance."""
        return all(difference.passed for _, difference in self.differences)

    @property
    def shows_states(self) -> bool:
        """Whether it handed over training states, which show the update, rate, decay and path."""
        return any(difference.quantity in OF_STATES for _, difference in self.differences)


@dataclass(frozen=True)
class EquivalenceVerdict:
    """The verdict that a submission contains: the workload, the reference and each implementation's
    differences from it.

    ``accelerator`` is that of the implementations; the reference and the referee compute on the
    CPU. ``timed_batch_size`` is the size of the timed steps' mini-batches, None without them;
    schema 1 had neither, and no timed steps.
    """

    schema: int
    suite_version: str
    workload: str
    model: str
    expected_parameters: int
    reference: str
    accelerator: str
    timed_batch_size: int | None
    subjects: tuple[ImplementationVerdict, ...]

    @property
    def passed(self) -> bool:
        """True when every implementation passes."""
        return all(implementation.passed for implementation in self.subjects)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        subjects = [
            {
                **{
                    key: value
                    for key, value in asdict(implementation).items()
                    if key != "differences"
                },
                "passed": implementation.passed,
                "differences": [
                    {"precision": precision, **asdict(one), "passed": one.passed}
                    for precision, one in implementation.differences
                ],
            }
            for implementation in self.subjects
        ]
        return {**asdict(self), "passed": self.passed, "subjects": subjects}


def no_report(name: str, differences: Differences) -> None:
    """For who reads the whole verdict at its end."""


def verify_implementations(
    workload: Workload,
    reference: ProbedImplementation,
    implementations: Sequence[ProbedImplementation],
    report: Callable[[str], None],
    options: VerifyOptions = DEFAULT,
    found_part: FoundPart = no_report,
) -> EquivalenceVerdict:
    """Probe the reference and every implementation in both precisions, train the timed steps, and
    compare. Raises SuiteError when one fails.

    ``found_part`` gets the differences of each part of an implementation's verdict, with its name,
    when that part is judged: what has been found is not lost with an interrupt.
    """
    report(f"probing {reference.name} (the reference)")
    started_s = time.monotonic()
    expected = probe_both(reference, workload)
    report(f"it took {time.monotonic() - started_s:.0f} s")
    if reference not in implementations:
        _expect_golden(reference, workload, expected)
    shapes = shapes_of(expected)
    verdicts, on_cpu = [], options.accelerator == "cpu"
    for implementation in implementations:
        report(f"probing {implementation.name}")
        found = (
            expected
            if implementation == reference and on_cpu
            else probe_both(implementation, workload, shapes, options.accelerator)
        )
        verdicts.append(
            judge_implementation(implementation, workload, expected, found, options.accelerator)
        )
        found_part(implementation.name, verdicts[-1].differences)
    batch_size, verdicts = _with_timed_steps(
        workload, implementations, verdicts, report, found_part, options
    )
    return EquivalenceVerdict(
        SCHEMA,
        __version__,
        workload.name,
        workload.model,
        workload.parameters,
        reference.name,
        options.accelerator,
        batch_size,
        tuple(verdicts),
    )


def _with_timed_steps(
    workload: Workload,
    implementations: Sequence[ProbedImplementation],
    verdicts: list[ImplementationVerdict],
    report: Callable[[str], None],
    found_part: FoundPart,
    options: VerifyOptions,
) -> tuple[int | None, list[ImplementationVerdict]]:
    """The verdicts with the differences of the timed steps, and the size of their mini-batches;
    None where no steps are compared."""
    settings = workload.verification.timed
    if settings is None:
        report(
            "the timed program's steps are not compared: no tolerances were measured for"
            f" {workload.name}"
        )
    if settings is None or not any(one.train for one in implementations):
        return None, verdicts
    started_s, found = time.monotonic(), []
    with timed_reference(workload, settings, options, report) as timed:
        report(f"the referee took {time.monotonic() - started_s:.0f} s")
        for verdict, one in zip(verdicts, implementations, strict=True):
            part: Differences = ()
            if one.train:
                report(f"training the timed steps in {one.name}")
                part = tuple(
                    (timed.request.precision, each) for each in timed_differences(one, timed)
                )
                found_part(one.name, part)
            found.append(replace(verdict, differences=(*verdict.differences, *part)))
        return timed.request.global_batch_size, found


def shapes_of(probed: Mapping[str, Arrays]) -> dict[str, Shape]:
    """Of the parameters and statistics in a reference's arrays by precision: a probe's inputs."""
    return {
        name: value.shape
        for name, value in probed[WIDE].items()
        if name.startswith(("parameter/", "statistic/"))
    }


def probe_both(
    implementation: ProbedImplementation,
    workload: Workload,
    shapes: Mapping[str, Shape] = NO_SHAPES,
    accelerator: str = "cpu",
) -> dict[str, Arrays]:
    """The implementation's arrays, by precision; ``shapes`` as in
    suite.verify.probing.probe_in_precision."""
    return {
        precision: probe_in_precision(
            implementation, workload, precision, shapes=shapes, accelerator=accelerator
        )
        for precision in (WIDE, NARROW)
    }


def judge_implementation(
    implementation: ProbedImplementation,
    workload: Workload,
    expected: dict[str, Arrays],
    found: dict[str, Arrays],
    accelerator: str = "cpu",
) -> ImplementationVerdict:
    """Compare an implementation's arrays (``found``, on ``accelerator``) with the reference's
    (``expected``), both by precision."""
    tolerances = workload.verification.tolerances.by_precision(accelerator)
    parameters = sum(
        value.size for name, value in found[WIDE].items() if name.startswith("parameter/")
    )
    count = QuantityDifference(
        PARAMETER_COUNT,
        abs(parameters - workload.parameters) / workload.parameters,
        0.0,
        f"{parameters:,} of {workload.parameters:,} expected",
    )
    differences = [
        (WIDE, count),
        *((WIDE, one) for one in _golden_differences(workload, found[WIDE], tolerances[WIDE])),
    ]
    # the reference itself is checked for its number of parameters and the pinned numbers
    if found is not expected:
        differences += [
            (precision, one)
            for precision in (WIDE, NARROW)
            for one in compare_arrays(expected[precision], found[precision], tolerances[precision])
        ]
    return ImplementationVerdict(
        implementation.name,
        implementation.module,
        implementation.sha256,
        parameters,
        tuple(differences),
        {precision: _digest(arrays) for precision, arrays in found.items()},
    )


def _golden_differences(
    workload: Workload, found: Arrays, tolerances: Mapping[str, float]
) -> tuple[QuantityDifference, ...]:
    """From the numbers that the workload pins; none where it pins none."""
    golden = workload.verification.golden
    if golden is None:
        return ()
    expected = {golden_name(name): np.array(values) for name, values in asdict(golden).items()}
    shown = {golden_name(name): values for name, values in golden_values(found).items()}
    return compare_arrays(expected, shown, {golden_name(name): tolerances[name] for name in GOLDEN})


def golden_values(found: Arrays) -> dict[str, np.ndarray]:
    """Of a probe's arrays those that workloads pin: the first outputs for the first sample, and the
    losses of the steps."""
    shown = {name: np.ravel(found[name]) for name in GOLDEN if name in found}
    if "logits" in shown:
        shown["logits"] = np.atleast_2d(found["logits"])[:1].ravel()[:GOLDEN_LOGITS]
    return shown


def _expect_golden(
    reference: ProbedImplementation, workload: Workload, found: dict[str, Arrays]
) -> None:
    """Raises SuiteError where the reference computes other numbers than the workload pins:
    comparing with it would prove nothing."""
    missed = [
        one
        for one in _golden_differences(
            workload, found[WIDE], workload.verification.tolerances.by_precision()[WIDE]
        )
        if not one.passed
    ]
    if missed:
        raise SuiteError(
            f"The reference {reference.name} no longer computes the"
            f" {' and '.join(one.quantity for one in missed)} that"
            f" rules/workloads/{workload.name}.toml pins; undo the change in"
            f" reference_impls/{reference.name}."
        )


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        if value.dtype.kind not in "fiu":
            raise SuiteError(
                f"A probe wrote {name[:100]!r} as {value.dtype}; it must write floats or integers."
            )
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
