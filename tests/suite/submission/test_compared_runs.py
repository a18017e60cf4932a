"""Runs that are compared with one another: which of several is refused, and from where on."""

from dataclasses import MISSING, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from suite.compliance.submission_rule import SubmissionContext, SubmittedRun
from tests.checks_alone import found

BOOT: dict[str, Any] = {"boot": "b", "span_ns": (0, 100)}


def run(number: int, submission: str, **values: Any) -> SubmittedRun:
    """A run that has nothing in common with another one but what ``values`` say."""
    unknown = {each.name: None for each in fields(SubmittedRun) if each.default is MISSING}
    given = {"run_id": f"{submission}{number}", "started_time_ms": 0, "is_withdrawn": False}
    named = {"submission": Path(submission), "name": f"run_{number}"}
    return SubmittedRun(**{**unknown, **given, **named, **values})


@pytest.mark.parametrize(
    ("check", "runs", "others", "refused"),
    [
        *(
            (
                "submission-duplicates",
                [{name: 7, "started_time_ms": at} for at in (2, 1, 3)],
                [],
                [1, 3],
            )
            for name in ("run_id", "times", "readings", "moment_of_digests")
        ),
        ("submission-duplicates", [{"times": 7}] * 3, [], [2, 3]),
        ("submission-duplicates", [{"times": 7}], [{"times": 7}], [1]),
        ("submission-duplicates", [{"times": 7}], [{"times": 7, "started_time_ms": 1}], []),
        ("submission-losses", [{"losses": 7}, {"losses": 8}, {"losses": 7}], [], [3]),
        ("submission-dates", [{**BOOT, "booted_ms": at} for at in (0, 60_000, -60_001)], [], [3]),
        ("submission-dates", [{"boot": at, "booted_ms": at * 1e6} for at in (1, 2)], [], []),
        (
            "submission-dates",
            [{"boot": "a", "booted_ms": 0}, *({**BOOT, "booted_ms": at} for at in (5e6, 6e6, 5e6))],
            [],
            [3],
        ),
        ("submission-boots", [{"boot": at, "booted_ms": at} for at in (1, 500, 501)], [], [2]),
        ("submission-boots", [{"boot": "b", "booted_ms": 1}] * 2, [], []),
        ("submission-overlap", [BOOT, {**BOOT, "span_ns": (100, 200)}], [], []),
        ("submission-overlap", [BOOT, {**BOOT, "span_ns": (99, 200)}], [], [1, 2]),
        ("submission-overlap", [BOOT], [{**BOOT, "span_ns": (200, 300), "idle_ns": (99, 150)}], []),
        (
            "submission-overlap",
            [{**BOOT, "span_ns": (200, 300), "idle_ns": (99, 150)}],
            [BOOT],
            [1],
        ),
        ("submission-overlap", [BOOT, {**BOOT, "boot": "c"}], [], []),
        (
            "submission-clock-order",
            [{**BOOT, "span_ns": (101, 2)}, {**BOOT, "started_time_ms": 1}],
            [],
            [1],
        ),
        ("submission-clock-order", [{**BOOT, "span_ns": (101, 2)}, BOOT], [], []),
        (
            "submission-clock-order",
            [{**BOOT, "span_ns": (100, 2)}, {**BOOT, "started_time_ms": 1}],
            [],
            [],
        ),
    ],
)
def test_one_of_several_runs_is_refused(
    check: str, runs: list[dict[str, Any]], others: list[dict[str, Any]], refused: list[int]
) -> None:
    """The later one; of two that began at once the second of a submission, or both of two."""
    own, other = (
        tuple(run(number, name, **values) for number, values in enumerate(given, start=1))
        for name, given in (("a", runs), ("b", others))
    )
    made = cast("Any", SubmissionContext)(Path("a"), None, None, None, own, (), other)
    assert [each.file for each in found(check, made)] == [f"run_{number}" for number in refused]


def test_each_node_of_an_entry_is_the_same_system_in_all_its_runs() -> None:
    """As the first one; one that told nothing may be any."""
    node = {"board": "Raspberry Pi 5 Model B", "storage_medium": "SD card"}
    nodes = [(node, node), (node, {}), (node, {**node, "storage_medium": "NVMe"})]
    runs = [
        run(number, "a", system={}, node_systems=each) for number, each in enumerate(nodes, start=1)
    ]
    made = SimpleNamespace(runs=runs, system={}, entries=lambda: {("lenet",): runs})
    (violation,) = found("submission-system", made)
    assert violation.file == "run_3/nodes.json"
    assert "storage_medium = 'SD card' on node 2, as in run_1" in violation.expected
