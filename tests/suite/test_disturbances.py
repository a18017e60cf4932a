"""A run that heat or low voltage held back says so wherever it is shown; one on a machine that cannot tell is not called undisturbed."""

from pathlib import Path

import pytest

from reporter.site import build
from suite.bundle import SUMMARY, Bundle
from suite.cli.run import _show_result
from suite.compliance.checker import check_bundle
from suite.run import RunResult
from tests.builders import Scenario, make_bundle

BADGE = '<span class="badge">throttled</span>'


@pytest.mark.parametrize(("throttled_s", "events"), [(0.5, 1), (0.0, 0), (None, None)], ids=["throttled", "watched", "not watched"])
def test_a_throttled_run_carries_a_badge(tmp_path: Path, throttled_s: float | None, events: int | None) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=throttled_s))
    assert Bundle(path).json(SUMMARY)["figures"]["throttled_events"]["value"] == events
    assert check_bundle(path).complies
    site = build([path], tmp_path / "site").parent
    assert any(BADGE in page.read_text() for page in site.rglob("*.html")) is bool(events)


def test_the_command_says_what_held_the_run_back_and_when(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_bundle(tmp_path / "run", Scenario(throttled_s=0.5))
    (event,) = Bundle(path).json(SUMMARY)["disturbances"]["throttling"]
    _show_result(RunResult(path, "finished", None), json=False)
    assert f"THROTTLED: throttled {event['start_s']:.1f} s after the start for 0.5 s" in capsys.readouterr().out
