"""A run that heat or low voltage held back says so wherever it is shown; one on a machine that
cannot tell is not called undisturbed."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from reporter.data.text import significant
from reporter.pages.run_page import disturbance_sentences
from reporter.site import build_site
from suite.bundle.channels import Channel, Channels
from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.cli.results import show_result
from suite.compliance.checker import check_bundle
from suite.execution.run import RunResult
from suite.metrics.disturbances import find_clock_steps, find_throttling
from suite.metrics.machine_figures import recorded_disturbances as disturbances_of
from tests.builders import Scenario, make_bundle

BADGE = re.compile('<span class="?badge"?>throttled</span>')


@pytest.mark.parametrize(
    ("throttled_s", "events"),
    [(0.5, 1), (0.0, 0), (None, None)],
    ids=["throttled", "watched", "not watched"],
)
def test_a_throttled_run_carries_a_badge(
    tmp_path: Path, throttled_s: float | None, events: int | None
) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=throttled_s))
    assert Bundle(path).json(SUMMARY)["figures"]["throttled_events"]["value"] == events
    assert check_bundle(path).complies
    site = build_site([path], tmp_path / "site").parent
    assert any(BADGE.search(page.read_text()) for page in site.rglob("*.html")) is bool(events)


def test_its_page_says_what_held_it_back_and_when(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=0.5))
    (event,) = Bundle(path).json(SUMMARY)["disturbances"]["throttling"]
    build_site([path], tmp_path / "site")
    (page,) = (tmp_path / "site" / "runs").glob("*/index.html")
    assert (
        f"throttled: {significant(event['start_s'], 4)} s after run_start, for"
        f" {significant(event['held_s'], 3)} s" in page.read_text()
    )


@pytest.mark.parametrize(
    "said",
    [
        None,
        7,
        "x",
        [],
        {"throttling": 3},
        {"throttling": [1, {}, {"start_s": "<b>", "count": 1}], "clock_steps": {}},
    ],
)
def test_what_a_bundle_says_in_another_shape_is_passed_over(said: object) -> None:
    assert list(disturbance_sentences({"disturbances": said})) == []


def test_a_wall_clock_that_was_set_is_a_sentence_too() -> None:
    throttling = [{"channel": "oc1", "start_s": 2.0, "held_s": None, "count": 3}]
    throttled, clock = disturbance_sentences(
        {
            "disturbances": {
                "throttling": throttling,
                "clock_steps": [{"at_s": 5.0, "step_s": -3600.0}],
            }
        }
    )
    assert throttled == f"oc1: {significant(2.0, 4)} s after run_start, 3 times"
    assert clock.startswith(
        f"{significant(5.0, 4)} s after run_start, the wall clock jumped by"
        f" {significant(-3600.0, 4)} s; "
    )


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        (
            "eth0.carrier_changes",
            [4, 4, 6, 6, 6, 6, 6, 6, 6, 8],
            [(1.0, 1.0, 2, None), (8.0, 1.0, 2, None)],
        ),
        ("tcp.retransmitted", [9, 11, 12, 13, 13, 13, 14, 14, 14, 14], [(0.0, 6.0, 5, 5 / 60)]),
        ("tcp.retransmitted", [9, 9, 12, 12, 12, 12, 12, 12, 12, 12], [(1.0, 1.0, 3, 0.3)]),
        ("eth0.dropped", [0, 10**4, *[10**4] * 8], [(0.0, 1.0, 10**4, 0.01)]),
        ("tcp.retransmitted", [9, 9, 9, 11, 11, 11, 11, 11, 11, 11], []),
        ("eth0.dropped", [0, 0, 3, 3, 3, 3, 3, 3, 3, 3], []),
        ("eth0.carrier_changes", [4, 6, 0, 1, 1, 1, 1, 1, 1, 1], [(0.0, 3.0, 3, None)]),
        ("eth0.carrier_changes", [0, math.inf] * 5, []),
    ],
    ids=[
        *("a cable pulled twice", "a cut of seconds", "three segments", "a hundredth"),
        *("two segments", "a millionth", "reset", "inf"),
    ],
)
def test_what_a_link_loses_is_a_disturbance(
    name: str, counts: list[float], expected: list[tuple[float, float, int, float | None]]
) -> None:
    place = name.partition(".")[0]
    of = {"tcp": ("tcp.segments", 10), "eth0": ("eth0.packets", 10**6)}[place]
    t_ns = np.arange(10) * 10**9
    channels = Channels(
        tuple(
            Channel("links", channel, "events", 1, 0, 10, lambda values=values: (t_ns, values))
            for channel, values in (
                (name, np.array(counts, float)),
                (of[0], of[1] * np.arange(10.0)),
            )
        ),
        t_ns,
    )
    found = disturbances_of(channels, (0, 9 * 10**9), is_one_of_several=True)["links"]
    assert [
        (each["start_s"], each["held_s"], each["count"], each["share"]) for each in found
    ] == expected
    assert "links" not in disturbances_of(channels, (0, 9 * 10**9), is_one_of_several=False)


def read(source: str, name: str, unit: str, values: list[float]) -> Channel:
    """A channel that was read once a second."""
    t_ns = np.arange(len(values)) * 10**9
    return Channel(source, name, unit, 1, 0, len(values), lambda: (t_ns, np.array(values, float)))


def test_flags_last_until_they_are_read_as_gone_and_counters_count() -> None:
    """Of a GPU the power limit (4) and idle (1) are no disturbance; a flag since boot says nothing
    where its flag was read itself."""
    channels = (
        read("throttling", "throttled", "active", [0, 1, 1, 0, 0, 1]),
        read("throttling", "throttled.since_boot", "active", [0, 0, 1, 1, 1, 1]),
        read("throttling", "under_voltage.since_boot", "active", [0, 0, 0, 1, 1, 1]),
        read("throttling", "thermal.core.cpu0", "events", [4, 4, 7, 7, 7, 9]),
        read("nvml", "gpu0.throttle_reasons", "bits", [0, 4, 128, 132, 1, 4]),
    )
    found = find_throttling(Channels(channels, channels[0].t_ns), 0, 6 * 10**9)
    assert [(one.t_ns / 1e9, one.channel, one.held_s, one.count) for one in found] == [
        (1, "throttled", 2.0, 1),
        (2, "gpu0.throttle_reasons", 2.0, 1),
        (2, "thermal.core.cpu0", None, 3),
        (3, "under_voltage.since_boot", None, 1),
        (5, "thermal.core.cpu0", None, 2),
        (5, "throttled", 1.0, 1),
    ]


def test_a_step_of_the_wall_clock_has_a_sign_and_the_moment_of_the_reading_that_shows_it() -> None:
    drift = read("wall-clock", "drift", "s", [0.0, 0.05, -3.0, -3.0, 0.5])
    found = find_clock_steps(Channels((drift,), drift.t_ns), 0, 9 * 10**9)
    assert [(one.t_ns / 1e9, one.step_s) for one in found] == [(2, -3.05), (4, 3.5)]


def test_the_page_says_which_node_lost_what() -> None:
    lost = {"channel": "tcp.retransmitted", "start_s": 3.0, "held_s": 5.0, "count": 7, "share": 0.2}
    nodes = [
        {"node": f"node{number}", "disturbances": {"links": [lost][:number]}} for number in (0, 1)
    ]
    (said,) = disturbance_sentences({"disturbances": {"links": []}, "nodes": nodes})
    assert said == (
        f"node1: 7 TCP segments were sent again (20 % of all) within {significant(5.0, 3)} s, which"
        f" began {significant(3.0, 4)} s after run_start"
    )


def test_the_command_says_what_held_the_run_back_and_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=0.5))
    (event,) = Bundle(path).json(SUMMARY)["disturbances"]["throttling"]
    show_result(RunResult(path, "finished", None), json=False)
    assert (
        f"THROTTLED: throttled {event['start_s']:.1f} s after the start for 0.5 s"
        in capsys.readouterr().out
    )
