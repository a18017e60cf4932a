"""What rules share: how values are compared, which severities and divisions a rule has, and what is
known of a node."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.catalog.divisions import Division
from suite.compliance.agreement import ExpectedField, differing_fields, is_same, logged_otherwise
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, CLOSED, Check, Rule
from suite.compliance.updates import ends_update
from suite.compliance.values import elapsed_s, is_number
from tests import checks_alone
from tests.checks_alone import NS, channel, channels, log, node

OPEN = (Division.OPEN,)


@pytest.mark.parametrize(
    ("value", "expected", "are_same"),
    [
        (1, 1, True),
        (4, 4.0, True),
        (4.0, 4, False),
        (True, 1, False),
        (1, True, False),
        (True, 1.0, False),
        ("1", 1, False),
        (None, None, True),
        ([1], [1], True),
        ([1], (1,), False),
    ],
)
def test_equal_values_are_of_one_type(value: object, expected: object, are_same: bool) -> None:
    assert is_same(value, expected) is are_same


def test_fields_and_events_that_differ_are_told_with_what_was_expected() -> None:
    rows = [ExpectedField("a", 1), ExpectedField("b", 2, ", as x", "y"), ExpectedField("c", 3)]
    (found,) = differing_fields("run.json", {"a": 1, "b": 4, "c": 3}.__getitem__, rows)
    assert (found.file, found.expected, found.observed) == ("run.json", "b = 2, as x", "4")
    assert (found.line, found.fix) == (None, "y")
    events = log(("b", 1, 1, {"value": 4}), ("b", 2, 2, {"value": 2}), ("a", 3, 3, {"value": 1}))
    for may_lack, lacking in ((False, [("c = 3", "no such event", None)]), (True, [])):
        told = logged_otherwise("log.txt", events, rows, may_lack)
        assert [(each.expected, each.observed, each.line) for each in told] == [
            ("b = 2, as x", "4", 1),
            *lacking,
        ]


def test_rules_calculate_with_finite_numbers() -> None:
    assert all(map(is_number, (0, -1.5, 1.7976931348623157e308)))
    assert not any(map(is_number, (True, "1", None, float("nan"), float("-inf"), 10**400)))


def test_time_passes_from_the_first_event_to_the_second_by_the_monotonic_clock() -> None:
    first, second, timeless = log(("a", 2.5, 50), ("b", 4, 10), ("c", None, 60)).events
    assert elapsed_s(first, second) == pytest.approx(1.5)
    for before, after in ((first, timeless), (timeless, first), (None, first), (first, None)):
        assert elapsed_s(before, after) is None


def test_a_rule_is_as_strict_as_its_strictest_check_and_judges_where_one_does() -> None:
    def check(name: str, where: Any, severity: Severity, *formerly: str) -> Check[Any]:
        return Check(name, lambda context: iter(()), where, severity, formerly=formerly)

    note = check("one", OPEN, Severity.NOTE)
    rule = Rule("one", "", "", "", (note, check("two", CLOSED, Severity.INVALID, "old", "older")))
    assert rule.severities == (Severity.INVALID, Severity.NOTE)
    assert rule.divisions == BOTH and rule.formerly == ("two", "old", "older")
    assert Rule("one", "", "", "", (note,)).divisions == OPEN


def test_after_some_mini_batches_of_an_epoch_and_after_its_last_the_parameters_change() -> None:
    """Five mini-batches an epoch, of which two are an update."""
    request: Any = SimpleNamespace(
        data=SimpleNamespace(train_samples=17), global_batch_size=4, accumulation=2, steps=None
    )
    steps = checks_alone.steps([1] * 5 + [2] * 5)
    epoch = [False, True, False, True, True]
    assert ends_update(request, steps).tolist() == epoch * 2
    request.steps = 8
    assert ends_update(request, steps).tolist()[5:] == [False, True, True, True, True]


def test_a_node_is_known_by_what_was_read_there() -> None:
    load = channel("cpu utilisation.total", "%", [1, 2, 3], [100, 50, 30])
    cores = [channel(f"cpu utilisation.core{each}", "%", [1], [0]) for each in range(4)]
    meters = [{"name": "recorder"}, {"name": "rapl", "readings": 3}, "odd"]
    here = node(channels(load, *cores), meters=meters)
    assert (here.cores_read, list(here.meter_records)) == (4, ["recorder", "rapl"])
    assert here.busy_cores((0, 2 * NS)) == pytest.approx(3.0)
    assert here.busy_cores((2 * NS + 1, 9 * NS)) is None
    assert node(channels(load)).busy_cores((0, 9 * NS)) is None
    for idle, is_busy in (([20, 30], False), ([20, 30.1], True), ([np.nan, np.nan], False)):
        before = channels(channel("cpu utilisation.total", "%", [1, 2], idle))
        assert node(channels(load), idle=before).is_busy_before is is_busy
    lost = [{"name": "recorder", "last_error": "full"}]
    recorded = [here, node(channels(load), meters=lost), node(channels(), is_whole=False)]
    assert [each.is_recorded for each in recorded] == [True, False, False]
