"""A rule of bundles: one object with its text and its check."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from reference_impls.contract import ASYNCHRONOUS, Request
from suite.bundle.layout import COUNTERS, SUMMARY
from suite.bundle.log import Log
from suite.bundle.reader import Bundle, RunRecord
from suite.bundle.resumption import known_resumption
from suite.catalog.devices import Device, load_device
from suite.catalog.divisions import Division
from suite.catalog.power import PowerRule
from suite.catalog.rounds import Round
from suite.catalog.workloads import Workload
from suite.compliance.finding import MAX_TEXT_LENGTH, Finding, Severity, escaped
from suite.errors import FileError, SuiteError

if TYPE_CHECKING:
    from suite.bundle.steps import StepRecords
    from suite.compliance.node_context import NodeContext
    from suite.metrics.summary import Summary

Computed = TypeVar("Computed")

MAX_VIOLATIONS = 100
"""Violations of one rule that are reported for one bundle or submission."""

BOTH = (Division.CLOSED, Division.OPEN)
CLOSED = (Division.CLOSED,)


@dataclass(frozen=True)
class Violation:
    """One result of a check: what was expected and what was observed, and how to fix it."""

    file: str
    expected: str
    observed: str
    fix: str
    line: int | None = None

    def finding(self, rule: str, severity: Severity) -> Finding:
        """The violation as a finding of the rule with this id, its texts shortened and escaped."""
        expected, observed = (
            escaped(text[:MAX_TEXT_LENGTH]) for text in (self.expected, self.observed)
        )
        return Finding(rule, severity, escaped(self.file), self.line, expected, observed, self.fix)


@dataclass(frozen=True)
class RequestContext:
    """What request checks read: a request, before a run or from a bundle's run.json, and the
    workload's definition in the round."""

    request: Request
    workload: Workload
    round: Round
    file: str

    @property
    def division(self) -> Division:
        """The requested division."""
        return Division(self.request.division)


@dataclass(frozen=True)
class BundleContext:
    """What bundle checks read; records that several checks need are read once. ``round`` is the one
    whose rules are applied."""

    bundle: Bundle
    run: RunRecord
    request: Request
    workload: Workload
    round: Round

    @cached_property
    def log(self) -> Log:
        """Rank 0's log."""
        return self.bundle.log()

    def logs(self) -> Iterator[tuple[int, Log]]:
        """Every rank with its log, read as it is asked for."""
        yield 0, self.log
        for rank in range(1, self.request.parallel.ranks):
            yield rank, self.bundle.log(rank)

    @cached_property
    def boots(self) -> dict[int, Any]:
        """The boot id in the first event of every rank's log, by rank; None where it names none.
        Ranks without events are left out."""
        return {rank: log.events[0].metadata.get("boot") for rank, log in self.logs() if log.events}

    @property
    def epochs_before(self) -> int:
        """Epochs of the run that this one resumes, before its first; 0 for every other run."""
        resumed = known_resumption(self.run.resumed)
        return resumed.epoch if resumed is not None else 0

    @cached_property
    def steps(self) -> "StepRecords":
        """The step records."""
        return self.bundle.steps()

    @property
    def is_asynchronous(self) -> bool:
        """Whether the loop was asked to wait for the device at the end of an epoch only: then steps
        have no times of their parts but the fetch."""
        return self.request.timing == ASYNCHRONOUS

    @cached_property
    def nodes(self) -> "tuple[NodeContext, ...]":
        """The records of each node, the harness's first."""
        from suite.compliance.node_context import node_contexts  # start-up: loads numpy

        return node_contexts(self.bundle, self.run, self.log, self.power_rules)

    @cached_property
    def power_rules(self) -> tuple[PowerRule, ...]:
        """The power rules that the bundle's energies are computed by."""
        from suite.metrics.power_totals import power_rules  # start-up: loads numpy

        return power_rules(self.bundle)

    @cached_property
    def window(self) -> tuple[int, int] | None:
        """run_start and run_stop on the monotonic clock, ns; None where one of them was not
        logged."""
        from suite.bundle.log import run_window  # start-up: loads numpy

        return run_window(self.log)

    @cached_property
    def derived(self) -> "Summary":
        """Every figure, recomputed from the raw records; raises FileError when their values cannot
        be computed with."""
        from suite.metrics.summary import derive  # start-up: loads numpy

        return self._computed(SUMMARY, lambda: derive(self.bundle))

    @cached_property
    def derived_counters(self) -> Mapping[str, Any]:
        """Every count, recomputed from the readings; raises FileError as :attr:`derived`."""
        from suite.metrics.event_counts import derive_counters  # start-up: loads numpy

        return self._computed(COUNTERS, lambda: derive_counters(self.bundle))

    def _computed(self, name: str, compute: Callable[[], Computed]) -> Computed:
        """The records' types were checked before, their values may be anything: text for a number,
        times that overflow."""
        try:
            return compute()
        except (ArithmeticError, TypeError, ValueError) as error:
            raise FileError(
                self.bundle.path / name,
                f"cannot be recomputed from the records: {str(error)[:200]}",
            ) from error

    @cached_property
    def device(self) -> "Device | None":
        """The profile of the requested device; None where there is none of this name."""
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


RequestCheck = Callable[[RequestContext], Iterable[Violation]]
BundleCheck = Callable[[BundleContext], Iterable[Violation]]


@dataclass(frozen=True)
class Rule:
    """One rule: its text and its check. `tests/faults` proves it.

    ``request_check`` applies to a request before a run and to the request that a bundle records,
    ``bundle_check`` to everything else in a bundle. A rule with neither is a precondition: the
    checker itself reports it, and the other rules need it. One that ``needs_split`` judges the
    parts of steps, and is not applicable to a run in asynchronous timing; the verdict says so.
    """

    id: str
    sentence: str
    rationale: str
    request_check: RequestCheck | None = None
    bundle_check: BundleCheck | None = None
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
    needs_split: bool = False

    @property
    def is_precondition(self) -> bool:
        """The checker reports it; it has no check of its own."""
        return self.request_check is None and self.bundle_check is None
