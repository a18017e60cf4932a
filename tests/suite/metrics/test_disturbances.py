"""A run that heat or low voltage held back says so wherever it is shown; one on a machine that
cannot tell is not called undisturbed."""

import re
from pathlib import Path

import pytest

from reporter.data.text import digits
from reporter.pages.run_page import disturbances
from reporter.site import build
from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.cli.results import show_result
from suite.compliance.checker import check_bundle
from suite.execution.run import RunResult
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
    site = build([path], tmp_path / "site").parent
    assert any(BADGE.search(page.read_text()) for page in site.rglob("*.html")) is bool(events)


def test_its_page_says_what_held_it_back_and_when(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=0.5))
    (event,) = Bundle(path).json(SUMMARY)["disturbances"]["throttling"]
    build([path], tmp_path / "site")
    (page,) = (tmp_path / "site" / "runs").glob("*/index.html")
    assert (
        f"throttled: {digits(event['start_s'], 4)} s after run_start, for"
        f" {digits(event['held_s'], 3)} s" in page.read_text()
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
    assert list(disturbances({"disturbances": said})) == []


def test_a_wall_clock_that_was_set_is_a_sentence_too() -> None:
    throttling = [{"channel": "oc1", "start_s": 2.0, "held_s": None, "count": 3}]
    throttled, clock = disturbances(
        {
            "disturbances": {
                "throttling": throttling,
                "clock_steps": [{"at_s": 5.0, "step_s": -3600.0}],
            }
        }
    )
    assert throttled == f"oc1: {digits(2.0, 4)} s after run_start, 3 times"
    assert clock.startswith(
        f"the wall clock was set by {digits(-3600.0, 4)} s, {digits(5.0, 4)} s after run_start"
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
