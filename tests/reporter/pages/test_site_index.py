"""What programs are told of a site: its leaderboards with their files, the day of its data, and how
a run is repeated."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.pages import run_page, site_index, with_commands
from reporter.pages.run_page import command_line

NAMES = {
    **{"slug": "lenet-open", "workload": "lenet", "division": "open", "data": "mnist"},
    **{"round": "v0.2", "precision": "", "is_reference": False, "own_data": True},
}


def test_a_leaderboard_is_listed_with_its_sentence_and_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site_index, "board_title", lambda _: "LeNet-5 on MNIST")
    monkeypatch.setattr(site_index, "headline", lambda _: SimpleNamespace(text="A is first."))
    board = SimpleNamespace(**NAMES, accepted=(1, 2, 3), refused=(4,))
    started_ms = [1_800_000_000_000, None, 1_800_200_000_000, 1_799_000_000_000]
    frames = SimpleNamespace(runs={"started_time_ms": started_ms})
    contents: Any = SimpleNamespace(frames=frames, boards=[board], address=None)
    (index,) = site_index.site_index(contents, None)  # type: ignore[arg-type]
    assert index.place == "data/index.json"
    content = json.loads(str(index.content))
    assert content["newest_run"] == "2027-01-17"
    (found,) = content["leaderboards"]
    ends = (".csv", ".json", ".parquet", "-comparisons.json", "-devices.json")
    assert found == {
        **NAMES,
        **{"title": "LeNet-5 on MNIST", "entries": 3, "headline": "A is first."},
        "page": "boards/lenet-open.html",
        "files": [f"data/lenet-open{end}" for end in ends],
    }


def test_a_run_s_command_is_safe_to_paste() -> None:
    typed = ["/opt/x/suite", "run", "--output", "runs/a b", "--org", "$(reboot)", "--data", "it's;"]
    assert command_line(typed) == """suite run --org '$(reboot)' --data 'it'"'"'s;'"""


def test_how_a_figure_was_obtained_names_the_share_of_time_that_readings_cover() -> None:
    row = {"method": "sum", "level": 2, "period_s": 0.5, "coverage": 0.987}
    assert run_page._method_words(row) == (
        "sum; EE HPC WG: 2; a reading every 0.500 s; 98.7 % of the time covered"
    )


def test_a_command_in_a_remedy_is_code_and_nothing_else_is_markup() -> None:
    assert with_commands("run `suite doctor <b>`, ` alone") == (
        "run <code>suite doctor &lt;b&gt;</code>, ` alone"
    )
