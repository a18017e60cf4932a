"""A rule: one object with its text and its checks; and what checks of requests and bundles read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from reference_impls.contract import ASYNCHRONOUS, SECONDS_PER_NS, Request
from suite.bundle.layout import COUNTERS, SUMMARY
from suite.bundle.log import Log, run_window
from suite.bundle.reader import Bundle, RunRecord
from suite.bundle.resumption import known_resumption
from suite.catalog.devices import Device, load_device
from suite.catalog.divisions import Division
from suite.catalog.power import PowerRule
from suite.catalog.rounds import Round
from suite.catalog.workloads import Workload
from suite.compliance.finding import MAX_TEXT_LENGTH, Finding, Severity, printable
from suite.compliance.node_context import NodeContext, node_contexts
from suite.errors import FileError, SuiteError
from suite.metrics.power_totals import counted_rules

if TYPE_CHECKING:
    from suite.bundle.channels import Channel
    from suite.bundle.steps import StepRecords
    from suite.metrics.summary import Summary

Computed = TypeVar("Computed")
Context = TypeVar("Context")

BOTH = (Division.CLOSED, Division.OPEN)
CLOSED = (Division.CLOSED,)


@dataclass(frozen=True)
class Violation:
    """One result of a check: what was expected and what was observed. ``fix`` is how to fix it,
    where the rule's own remedy does not say enough."""

    file: str
    expected: str
    observed: str
    line: int | None = None
    fix: str | None = None

    def finding(self, rule: "Rule", check: "Check[Any]") -> Finding:
        """The violation as a finding of a rule's check, its texts shortened and escaped."""
        texts = (
            printable(text[:MAX_TEXT_LENGTH]) for text in (self.file, self.expected, self.observed)
        )
        file, expected, observed = texts
        fix = rule.fix if self.fix is None else self.fix
        return Finding(rule.id, check.id, check.severity, file, self.line, expected, observed, fix)


Violations = Iterator[Violation]
"""What a check finds, one after another."""


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
        return node_contexts(self.bundle, self.run, self.log, self.power_rules)

    @cached_property
    def power_rules(self) -> tuple[PowerRule, ...]:
        """The power rules that the bundle's energies are computed by."""
        return counted_rules(self.bundle)

    @cached_property
    def window(self) -> tuple[int, int] | None:
        """run_start and run_stop on the monotonic clock, ns; None where one of them was not
        logged."""
        return run_window(self.log)

    @property
    def run_s(self) -> float:
        """From run_start to run_stop, s; 0 where one of them was not logged."""
        return (self.window[1] - self.window[0]) * SECONDS_PER_NS if self.window else 0.0

    def nodes_in_run(self) -> "Iterator[tuple[NodeContext, tuple[int, int]]]":
        """The nodes whose readings are on rank 0's clock, each with run_start and run_stop; none
        where one of them was not logged."""
        if (window := self.window) is not None:
            yield from ((node, window) for node in self.nodes if node.is_on_clock)

    def channels(self) -> "Iterator[tuple[NodeContext, Channel]]":
        """Every channel of every node."""
        return ((node, channel) for node in self.nodes for channel in node.channels)

    def nodes_recorded(self) -> "Iterator[NodeContext]":
        """The nodes whose recorder was not lost and could write everything."""
        return (node for node in self.nodes if node.is_recorded)

    def meters_recorded(
        self,
    ) -> "Iterator[tuple[NodeContext, str, Mapping[str, Any], Sequence[Channel]]]":
        """Every meter's record with the channels that were read, of these nodes."""
        for node in self.nodes_recorded():
            for name, record in node.meter_records.items():
                if name != "recorder":
                    yield node, name, record, node.channels.of_source(name)

    @cached_property
    def derived(self) -> "Summary":
        """Every figure, recomputed from the raw records; raises FileError when their values cannot
        be computed with."""
        from suite.metrics.summary import derive_summary  # start-up: loads numpy

        return self._computed(SUMMARY, lambda: derive_summary(self.bundle))

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


@dataclass(frozen=True)
class Check(Generic[Context]):
    """One check of a rule. `tests/faults` proves it.

    Rounds pin it and leave it out by its ``id``: that of the rule that it once was, if the rule has
    several. ``formerly`` are further ids by which they know it. One that ``needs_split`` judges the
    parts of steps, and is not applicable to a run in asynchronous timing; the verdict says so.
    """

    id: str
    find: Callable[[Context], Violations]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
    needs_split: bool = False
    formerly: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id by which a round may know it."""
        return (self.id, *self.formerly)


class OfRequest(Check[RequestContext]):
    """A check of a request: before a run, and of the request that a bundle records."""


class OfBundle(Check[BundleContext]):
    """A check of everything else in a bundle."""


@dataclass(frozen=True)
class Rule:
    """One rule: what it demands, why, how to fix what breaks it, and its checks."""

    id: str
    sentence: str
    rationale: str
    fix: str
    checks: tuple[Check[Any], ...]

    @property
    def divisions(self) -> tuple[Division, ...]:
        """The divisions that a check of it judges."""
        return tuple(each for each in BOTH if any(each in check.divisions for check in self.checks))

    @property
    def severities(self) -> tuple[Severity, ...]:
        """Those of its checks, the strictest first."""
        return tuple(
            each for each in Severity if any(each is check.severity for check in self.checks)
        )

    @property
    def formerly(self) -> tuple[str, ...]:
        """The other ids that it was, or is, known by: those of its checks."""
        return tuple(each for check in self.checks for each in check.ids if each != self.id)
