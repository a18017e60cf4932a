"""The verdict on a workload's implementations: probe each, compare each with the reference, keep the digests of what was compared."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from suite import __version__
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.verify.compare import Arrays, Difference, compare
from suite.verify.probing import ProbedImplementation, probe

SCHEMA = 1
WIDE, NARROW = "float64", "float32"


@dataclass(frozen=True)
class ImplementationVerdict:
    """What one implementation was found to compute. ``digests`` are SHA-256 of every number the probe wrote, by precision."""

    name: str
    module: str
    parameters: int
    differences: tuple[tuple[str, Difference], ...]  # (precision, difference)
    digests: dict[str, str]

    @property
    def passed(self) -> bool:
        """No tolerance is missed."""
        return all(difference.passed for _, difference in self.differences)


@dataclass(frozen=True)
class EquivalenceVerdict:
    """What a submission carries: the workload, the reference and each implementation's differences from it."""

    schema: int
    suite_version: str
    workload: str
    model: str
    expected_parameters: int
    reference: str
    subjects: tuple[ImplementationVerdict, ...]

    @property
    def passed(self) -> bool:
        """Every implementation passes."""
        return all(subject.passed for subject in self.subjects)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        subjects = [
            {
                **{key: value for key, value in asdict(subject).items() if key != "differences"},
                "passed": subject.passed,
                "differences": [{"precision": precision, **asdict(one), "passed": one.passed} for precision, one in subject.differences],
            }
            for subject in self.subjects
        ]
        return {**asdict(self), "passed": self.passed, "subjects": subjects}


def verify(
    workload: Workload, reference: ProbedImplementation, subjects: Sequence[ProbedImplementation], say: Callable[[str], None]
) -> EquivalenceVerdict:
    """Probe the reference and every subject in both precisions and compare. Raises SuiteError where a probe does not come to its end."""
    say(f"probing {reference.name} (the reference)")
    expected = probe_both(reference, workload)
    verdicts = []
    for subject in subjects:
        say(f"probing {subject.name}")
        found = expected if subject == reference else probe_both(subject, workload)
        verdicts.append(judge(subject, workload, expected, found))
    return EquivalenceVerdict(SCHEMA, __version__, workload.name, workload.model, workload.parameters, reference.name, tuple(verdicts))


def probe_both(subject: ProbedImplementation, workload: Workload) -> dict[str, Arrays]:
    """What the subject computes, by precision."""
    return {precision: probe(subject, workload, precision) for precision in (WIDE, NARROW)}


def judge(subject: ProbedImplementation, workload: Workload, expected: dict[str, Arrays], found: dict[str, Arrays]) -> ImplementationVerdict:
    """Hold what was found of the subject against what the reference computes, both by precision."""
    tolerances = workload.verification.tolerances
    wide = {name: getattr(tolerances, name) for name in ("logits", "loss", "gradient", "losses", "statistic", "parameter")}
    narrow = {name: getattr(tolerances, f"{name}_float32") for name in ("logits", "loss", "statistic")}
    parameters = sum(value.size for name, value in found[WIDE].items() if name.startswith("parameter/"))
    count = Difference(
        "parameter count", abs(parameters - workload.parameters) / workload.parameters, 0.0, f"{parameters:,} of {workload.parameters:,} expected"
    )
    differences = [(WIDE, count)]
    if found is not expected:  # the reference is held to its number of parameters only
        differences += [(WIDE, one) for one in compare(expected[WIDE], found[WIDE], wide)]
        differences += [(NARROW, one) for one in compare(expected[NARROW], found[NARROW], narrow)]
    return ImplementationVerdict(
        subject.name, subject.module, parameters, tuple(differences), {precision: _digest(arrays) for precision, arrays in found.items()}
    )


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        if value.dtype.kind not in "fiu":
            raise SuiteError(f"A probe wrote {name[:100]!r} as {value.dtype}; it must write numbers.")
        digest.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
