"""A rule: one object that holds its text, its check and the fixtures that prove the check."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from reference_impls.contract import Request
from suite.bundle.layout import COUNTERS, SUMMARY
from suite.bundle.log import Log
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.devices import Device, load_device
from suite.catalog.divisions import Division
from suite.catalog.power import PowerRule
from suite.catalog.workloads import Workload
from suite.compliance.editing import EditableBundle
from suite.compliance.finding import LONGEST, Finding, Severity, escaped
from suite.errors import FileError, SuiteError

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords
    from suite.compliance.metered import MeteredNode
    from suite.metrics.summary import Summary

Computed = TypeVar("Computed")

MOST_COMPLAINTS = 100
"""More of one rule about one bundle or submission tell nothing new."""

BOTH = (Division.CLOSED, Division.OPEN)
CLOSED = (Division.CLOSED,)


@dataclass(frozen=True)
class Violation:
    """What a check found wrong."""

    file: str
    expected: str
    observed: str
    fix: str
    line: int | None = None

    def by(self, rule: str, severity: Severity) -> Finding:
        """The finding that this is when the rule of this id complains."""
        return Finding(rule, severity, escaped(self.file), self.line, escaped(self.expected[:LONGEST]), escaped(self.observed[:LONGEST]), self.fix)


@dataclass(frozen=True)
class RequestCase:
    """A request to be judged, before a run or as a bundle's run.json recorded it; ``workload`` is the rulebook's."""

    request: Request
    workload: Workload
    file: str

    @property
    def division(self) -> Division:
        """Which division it asks for."""
        return Division(self.request.division)


@dataclass(frozen=True)
class BundleCase:
    """A bundle to be judged; what several rules read is read once."""

    bundle: Bundle
    run: RunRecord
    request: Request
    workload: Workload

    @cached_property
    def log(self) -> Log:
        """Rank 0's log."""
        return self.bundle.log()

    @cached_property
    def steps(self) -> "StepRecords":
        """The step records."""
        return self.bundle.steps()

    @cached_property
    def nodes(self) -> "tuple[MeteredNode, ...]":
        """What was read on each node, the harness's first."""
        from suite.compliance.metered import metered_nodes

        return metered_nodes(self.bundle, self.run, self.log, self.power_rules)

    @cached_property
    def power_rules(self) -> tuple[PowerRule, ...]:
        """The power rules that the bundle's energies are computed by."""
        from suite.metrics.power import power_rules  # start-up: NumPy

        return power_rules(self.bundle)

    @cached_property
    def window(self) -> tuple[int, int] | None:
        """run_start and run_stop on the monotonic clock, ns; None where one of them was not logged."""
        from suite.metrics.summary import run_window

        return run_window(self.log)

    @cached_property
    def derived(self) -> "Summary":
        """Every figure, computed from the raw records; raises FileError when they hold values that nothing can be computed from."""
        from suite.metrics.summary import derive

        return self._computed(SUMMARY, lambda: derive(self.bundle))

    @cached_property
    def derived_counters(self) -> Mapping[str, Any]:
        """Every count, computed from the readings; raises FileError as :attr:`derived`."""
        from suite.metrics.counters import derive_counters

        return self._computed(COUNTERS, lambda: derive_counters(self.bundle))

    def _computed(self, name: str, compute: Callable[[], Computed]) -> Computed:
        """The records' types are right by now, their values may be anything: text for a number, times that overflow."""
        try:
            return compute()
        except (ArithmeticError, TypeError, ValueError) as error:
            raise FileError(self.bundle.path / name, f"cannot be computed again from the records: {str(error)[:200]}") from error

    @cached_property
    def device(self) -> "Device | None":
        """The profile of the device that the run names; None where there is no such profile."""
        try:
            return load_device(self.request.platform)
        except SuiteError:
            return None

    @cached_property
    def system(self) -> Mapping[str, Any]:
        """system.json."""
        return self.bundle.json("system.json")

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """summary.json."""
        return self.bundle.json(SUMMARY)


RequestCheck = Callable[[RequestCase], Iterable[Violation]]
BundleCheck = Callable[[BundleCase], Iterable[Violation]]


@dataclass(frozen=True)
class Fault:
    """A change of a good bundle that a rule must find: the rejecting fixture. The good bundle itself is the accepting one.

    ``change`` edits the bundle's files in place. With ``forged``, chain and manifest are made to fit again afterwards, as somebody
    who knows the format would do; without, the change is left to be found by what it broke.
    ``ranks`` is of how many the good bundle is.
    """

    name: str
    change: Callable[[EditableBundle], None]
    forged: bool = True
    ranks: int = 1


@dataclass(frozen=True)
class Rule:
    """One rule: its text, its check, and the faults that prove the check.

    ``judges_request`` rules judge a request before a run and the request that a bundle records, ``judges_bundle`` rules the rest.
    """

    id: str
    sentence: str
    rationale: str
    faults: tuple[Fault, ...]
    judges_request: RequestCheck | None = None
    judges_bundle: BundleCheck | None = None
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
