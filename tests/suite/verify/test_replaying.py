"""How long a replay may take."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.verify import replaying
from suite.verify.replaying import replay_in_float64, replay_steps
from tests.builders import Scenario, make_request

HOUR_S = 3600.0


@pytest.mark.parametrize("replay", [replay_steps, replay_in_float64])
def test_a_replay_may_take_a_day(
    replay: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def too_slow(command: object, folder: object, what: str, timeout_s: float, **more: Any) -> None:
        raise SuiteError(f"{what} did not finish within {timeout_s / HOUR_S} hours")

    python = SimpleNamespace(interpreter="python")
    monkeypatch.setattr(replaying, "find_environment", lambda framework: python)
    monkeypatch.setattr(replaying, "run_to_end", too_slow)
    with pytest.raises(SuiteError, match=r"did not finish within 24\.0 hours"):
        replay(make_request(tmp_path, Scenario()), load_framework("pytorch"))


@pytest.mark.parametrize(("takes_hours", "is_ended"), [(20, False), (30, True)])
def test_the_run_s_own_program_may_take_a_day_for_its_epoch(
    takes_hours: int, is_ended: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = SimpleNamespace(hours=0)
    passing = SimpleNamespace(
        monotonic=lambda: clock.hours * HOUR_S,
        sleep=lambda seconds: setattr(clock, "hours", clock.hours + 1),
    )
    monkeypatch.setattr(replaying, "time", passing)
    for name in ("release_process", "terminate_session"):
        monkeypatch.setattr(replaying, name, lambda process: None)
    monkeypatch.setattr(replaying, "_is_over", lambda *of: clock.hours >= takes_hours)
    process: Any = SimpleNamespace(poll=lambda: None)
    ended = pytest.raises(SuiteError, match="did not train epoch 2 within 86400 s")
    with ended if is_ended else nullcontext():
        replaying._end_after(process, tmp_path, 2, "The program")
