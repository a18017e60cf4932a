"""What programs are told of a site: its leaderboards with their files, and its pages."""

import json
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from reporter.pages import site_index
from reporter.pages.shared import Page

NAMES = {
    **{"slug": "lenet-open", "workload": "lenet", "division": "open", "data": "mnist"},
    **{"round": "v0.2", "precision": "", "own_data": True},
}


def pages(address: str | None, monkeypatch: pytest.MonkeyPatch) -> list[Page]:
    monkeypatch.setattr(site_index, "newest_day", lambda _: "")
    monkeypatch.setattr(site_index, "board_title", lambda _: "LeNet-5 on MNIST")
    monkeypatch.setattr(site_index, "headline", lambda _: SimpleNamespace(text="A is first."))
    board = SimpleNamespace(**NAMES, accepted=(1, 2, 3), refused=(4,))
    frames = SimpleNamespace(entries={"entry_id": ["0a", "1b"]})
    contents: Any = SimpleNamespace(frames=frames, boards=[board], address=address)
    return list(site_index.site_index(contents, None))  # type: ignore[arg-type]


def test_a_leaderboard_is_listed_with_its_sentence_and_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (index,) = pages(None, monkeypatch)
    assert index.place == "data/index.json"
    assert json.loads(str(index.content)) == {
        "schema": 1,
        "newest_run": None,
        "leaderboards": [
            {
                **NAMES,
                "title": "LeNet-5 on MNIST",
                "entries": 3,
                "headline": "A is first.",
                "page": "boards/lenet-open.html",
                "files": [
                    f"data/lenet-open{end}"
                    for end in (
                        *(".csv", ".json", ".parquet"),
                        *("-comparisons.json", "-devices.json"),
                    )
                ],
            }
        ],
    }


def test_a_site_with_an_address_lists_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    _, sitemap = pages("https://a.org/?x=1&y=/", monkeypatch)
    found = ElementTree.fromstring(str(sitemap.content).encode())
    assert [each[0].text for each in found] == [
        f"https://a.org/?x=1&y=/{place}"
        for place in (
            "index.html",
            "boards/lenet-open.html",
            "entries/0a.html",
            "entries/1b.html",
        )
    ]
