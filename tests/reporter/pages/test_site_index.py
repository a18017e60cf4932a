"""What programs are told of a site: its leaderboards with their files."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.pages import site_index

NAMES = {
    **{"slug": "lenet-open", "workload": "lenet", "division": "open", "data": "mnist"},
    **{"round": "v0.2", "precision": "", "own_data": True},
}


def test_a_leaderboard_is_listed_with_its_sentence_and_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site_index, "newest_day", lambda _: "")
    monkeypatch.setattr(site_index, "board_title", lambda _: "LeNet-5 on MNIST")
    monkeypatch.setattr(site_index, "headline", lambda _: SimpleNamespace(text="A is first."))
    board = SimpleNamespace(**NAMES, accepted=(1, 2, 3), refused=(4,))
    contents: Any = SimpleNamespace(frames=None, boards=[board], address=None)
    (index,) = site_index.site_index(contents, None)  # type: ignore[arg-type]
    assert index.place == "data/index.json"
    (found,) = json.loads(str(index.content))["leaderboards"]
    ends = (".csv", ".json", ".parquet", "-comparisons.json", "-devices.json")
    assert found == {
        **NAMES,
        **{"title": "LeNet-5 on MNIST", "entries": 3, "headline": "A is first."},
        "page": "boards/lenet-open.html",
        "files": [f"data/lenet-open{end}" for end in ends],
    }
