"""The float64 replay of a run of several ranks: whether one rank can stand for them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls import replay
from reference_impls.contract import FROZEN, UPDATED, Trains
from tests.builders import Scenario, make_request


@pytest.mark.parametrize(("statistics", "by_shares"), [(UPDATED, True), (FROZEN, False)])
def test_shares_are_normalised_alone_unless_the_statistics_are_frozen(
    statistics: str, by_shares: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = make_request(tmp_path, Scenario(ranks=2, nodes=1))
    request = request._replace(trains=Trains(["*"], statistics))
    model: Any = SimpleNamespace(
        parameters=dict, statistics=lambda: {"bn1.running_mean": np.zeros(2)}
    )
    monkeypatch.setattr(replay, "assign_start", lambda *_: {})
    monkeypatch.setattr(replay, "_steps", lambda *_: iter(()))
    assert replay.replay(request, lambda _: model)[1] is by_shares
