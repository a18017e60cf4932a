"""Reference systems: what the project trained on a machine that no profile describes stands apart
from devices, and is never the answer."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import reporter
from reporter.board.boards import Leaderboard
from reporter.board.comparison import compare_entries
from reporter.board.making import make_boards
from reporter.board.systems import is_reference_system
from reporter.data.text import significant
from reporter.pages import templates
from reporter.pages.devices import MachinePage, device_pages
from reporter.pages.entry_lines import Dates, EntryLine
from reporter.pages.headlines import device_headline, headline
from reporter.pages.leaderboard import front_page_order, tabs_of
from reporter.pages.shared import board_title, make_contents
from reporter.pages.standings import standings_of
from reporter.pages.submitters import submitters_of
from reporter.site import build_site
from suite.files.paths import repository_root
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.open_round import SLUG

SERVER = Scenario(organization="reference", step_s=0.0002, learning_rate=0.01)
STRANGERS = Scenario(organization="acme", step_s=0.003, learning_rate=0.01)
"""A machine without a profile, too, which is slower."""


def runs_of(folder: Path, *scenarios: Scenario) -> Path:
    """Three seeds of each."""
    for number, scenario in enumerate(scenarios):
        for seed in (1, 2, 3):
            stamp = f"lenet-pytorch-2027011{5 + number}T080000Z-{seed:06}"
            made = replace(scenario, name=stamp, seed=seed, later_s=86400 * number, jitter=0.01)
            edited = EditableBundle(make_bundle(folder / stamp, made))
            edited.system["cpu_model"] = f"{scenario.organization} processor"
            edited.save()
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs_of(tmp_path_factory.mktemp("mixed"), STRANGERS, SERVER)


@pytest.fixture(scope="module")
def boards(mixed: Path) -> tuple[Leaderboard, Leaderboard]:
    devices, references = make_boards(reporter.load([mixed]))
    return devices, references


def test_a_reference_system_has_a_board_and_ranks_of_its_own(
    mixed: Path, boards: tuple[Leaderboard, Leaderboard]
) -> None:
    devices, references = boards
    assert [board.is_reference for board in boards] == [False, True]
    assert devices.slug == f"lenet-closed-mnist-{SLUG}"
    assert references.slug == f"{devices.slug}-reference"
    assert board_title(references) == f"{board_title(devices)}, reference systems"
    assert {row.entry["device"] for row in references.accepted} == {"generic"}
    assert [row.rank.place for row in devices.accepted] == [1], "no server is before it"
    (row,) = references.accepted
    standing = standings_of(reporter.load([mixed]), boards)[row.entry_id]
    assert standing.rank == "1st of 1 on reference systems"


@pytest.mark.parametrize(
    ("organization", "device", "is_reference"),
    [("reference", "generic", True), ("reference", "orin", False), ("acme", "generic", False)],
)
def test_a_board_of_the_project_and_a_stranger_s_machine_are_devices(
    organization: str, device: str, is_reference: bool
) -> None:
    assert is_reference_system({"organization": organization, "device": device}) == is_reference


def test_the_answer_is_a_device_also_where_a_reference_system_is_faster(
    boards: tuple[Leaderboard, Leaderboard],
) -> None:
    devices, references = boards
    assert max(reversed(boards), key=front_page_order) is devices
    assert headline(devices).who and headline(devices).who in headline(devices).text
    apart = headline(references)
    assert apart.text == "LeNet-5 on MNIST: reference systems, apart from devices."
    assert " trains LeNet-5 on MNIST to 99 %" in apart.lines[0]
    (row,) = references.accepted
    own = device_headline(references, frozenset({row.system})).text
    assert own.endswith(": the only reference system.")
    titles = [title for title, _, _ in tabs_of(devices, boards)]
    assert titles == ["LeNet-5 on MNIST", "LeNet-5 on MNIST: reference systems"]


def test_the_site_lists_them_below_devices(mixed: Path, tmp_path: Path) -> None:
    site = build_site([mixed], tmp_path / "site").parent
    front = (site / "index.html").read_text(encoding="utf-8")
    assert front.count("<h1") == 1 and "No device has a result yet" not in front
    listed = (site / "devices" / "index.html").read_text(encoding="utf-8")
    assert "<h1>1 device has results</h1>" in listed
    assert listed.index("<h1>") < listed.index("<h2>Reference systems</h2>")
    assert listed.count('<td class="n" data-label="entries">') == 2
    changes = (site / "changes.html").read_text(encoding="utf-8")
    assert re.findall("<h1.*<em>(.*), PyTorch</em>", changes) == ["acme"], "the server is later"
    about = " ".join((site / "about.html").read_text(encoding="utf-8").split())
    assert "has leaderboards of its own, and shares none with a device." in about
    index = json.loads((site / "data" / "index.json").read_text(encoding="utf-8"))
    assert [each["is_reference"] for each in index["leaderboards"]] == [False, True]


def test_the_boards_of_reference_systems_are_not_said_to_be_those_of_devices(
    mixed: Path, boards: tuple[Leaderboard, Leaderboard]
) -> None:
    """Where devices only have entries on other data than the workloads' own."""
    devices, references = boards
    others = replace(devices, own_data=False)
    contents = make_contents(reporter.load([mixed]), (others, references))
    listed = str(next(device_pages(contents, templates())).content)
    assert "<h1>1 device has results</h1>" in listed and "<h2>Reference systems</h2>" in listed
    assert "Each device is shown by its fastest setting in" not in listed


def test_a_stranger_s_refused_entry_makes_no_device_of_a_server(
    boards: tuple[Leaderboard, Leaderboard],
) -> None:
    devices, references = boards
    refused = replace(devices, accepted=(), refused=devices.accepted)
    lines = tuple(
        EntryLine(row, board, section, Dates("", "", 0.0), "")
        for board, section in ((refused, "refused"), (references, "accepted"))
        for row in board.rows
    )
    assert MachinePage("", "", None, lines).is_reference
    assert not MachinePage("", "", None, lines[:1]).is_reference


def test_a_site_of_reference_systems_only_says_that_no_device_has_a_result(tmp_path: Path) -> None:
    site = build_site([runs_of(tmp_path / "runs", SERVER)], tmp_path / "site").parent
    for page in ("index.html", "devices/index.html"):
        text = (site / page).read_text(encoding="utf-8")
        assert "<h1>No device has a result yet</h1>" in text and text.count("<h1") == 1
    changes = (site / "changes.html").read_text(encoding="utf-8")
    assert '<h1 class="answer">Results by date</h1>' in changes
    front = (site / "index.html").read_text(encoding="utf-8")
    assert "suite run --division closed --device auto" in front
    assert '<h2 class="answer">' in front, "the chart of reference systems stands below"


def test_beside_an_owner_s_run_reference_results_are_on_its_board(mixed: Path) -> None:
    frames = reporter.load([mixed])
    (board,) = make_boards(frames, beside_reference=True)
    assert len(board.accepted) == 2 and not board.is_reference
    (pair,) = compare_entries(frames, "score_s")
    assert pair.ratio is not None, "in Python, too, where no leaderboard compares them"


def test_the_project_s_reviews_of_its_own_runs_are_not_by_others() -> None:
    """They are shown, and counted for nothing."""
    own = "replayed by the project, which made the runs"
    frames = reporter.load([repository_root() / "submissions" / "v0.3" / "reference"])
    boards = tuple(make_boards(frames))
    assert {(row.provenance, row.is_vouched) for row in boards[0].accepted} == {(own, False)}
    assert f"TensorFlow: {own}." in headline(boards[0]).lines
    ((title, _, entries, vouched, _),) = submitters_of(make_contents(frames, boards))
    assert (entries, vouched) == (3, 0), title


def test_the_published_ratios_of_frameworks_are_those_of_the_submission() -> None:
    """In README.md and docs/results.md, over PyTorch."""
    frames = reporter.load([repository_root() / "submissions" / "v0.3" / "reference"])
    pairs = {
        (pair.entry.split(" · ")[0], pair.base.split(" · ")[0]): pair
        for pair in compare_entries(frames, "score_s")
    }
    said = [
        " ".join((repository_root() / name).read_text(encoding="utf-8").split())
        for name in ("README.md", "docs/results.md")
    ]
    for framework in ("TensorFlow", "Chainer"):
        if (framework, "PyTorch") in pairs:
            pair = pairs[framework, "PyTorch"]
            ends = (pair.ratio, pair.low, pair.high)
        else:
            pair = pairs["PyTorch", framework]
            ends = (1 / pair.ratio, 1 / pair.high, 1 / pair.low)
        ratio, low, high = (significant(end, 2) for end in ends)
        for text in said:
            (sentence,) = re.findall(rf"{framework} (?:trains|takes)[^;.]*?\d[^;]*?\)", text)[:1]
            assert ratio in sentence and f"{low} to {high}" in sentence, (framework, sentence)


@pytest.mark.parametrize(
    ("folder", "differs"), [("reference.vgg11", False), ("reference.adaptation", True)]
)
def test_published_pairs_of_frameworks_have_the_ratio_of_their_submission(
    folder: str, differs: bool
) -> None:
    frames = reporter.load([repository_root() / "submissions" / "v0.3" / folder])
    (pair,) = compare_entries(frames, "score_s")
    assert pair.entry.startswith("PyTorch") and pair.differs == differs
    ratio, low, high = (f"{end:.2f}" for end in (pair.ratio, pair.low, pair.high))
    scores = frames.entry_figures.query("figure == 'score_s'")["value"]
    first = sorted(scores, reverse=pair.ratio > 1)
    minutes = " and ".join(significant(value / 60) for value in first)
    text = " ".join((repository_root() / "docs/results.md").read_text(encoding="utf-8").split())
    assert re.search(rf"{minutes} min to [\d.]+ %; ratio {ratio}, {low} to {high}\)", text)
