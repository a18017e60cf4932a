"""Closed rounds are judged and shown as before when a workload changes for a later round."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

import reporter
from reporter.board.making import make_boards
from reporter.figures.for_papers import entry_model
from reporter.pages.shared import board_title, target_percent, title_of
from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.catalog import workloads
from suite.catalog.reference_points import setting_of
from suite.catalog.rounds import current_round, judging_round, load_round, load_rounds
from suite.compliance.checker import find_bundles
from suite.compliance.paths import CheckResult, check_paths
from suite.errors import SuiteError
from suite.files import paths
from suite.files.digest import sha256
from suite.files.paths import repository_root
from tests.every_case import some
from tools.pin_round import EXAMPLES

CLOSED = [each for each in load_rounds() if each.closed]
RESULTS = [repository_root() / "submissions" / each.name for each in CLOSED]
SHOWN = [
    folder
    for results in RESULTS
    for folder in some(sorted(run.parent for run in results.glob("*/*/*/run_1")))
]
"""One framework's results of each round; in a proof all."""
CHANGES = {
    'title = "LeNet-5 on MNIST"': 'title = "LeNet-300 on digits"',
    'data = "mnist"': 'data = "digits"',
    "epochs = 10\n": "epochs = 4\n",
    "target_accuracy = 0.99\n": "",
    "parameters = 61706\n": "parameters = 61707\n",
    "forward_macs = 416520": "forward_macs = 1",
    "normalisation_statistics = false": "normalisation_statistics = true",
    "logits = [\n    -0.459954730387745": "logits = [\n    1.0",
    "bias_path = 1e-2": "bias_path = 1e-9",
}


@dataclass(frozen=True)
class Seen:
    """What is judged and shown of the results of closed rounds."""

    checked: CheckResult
    shown: tuple[object, ...]


def shown(home: Path) -> tuple[object, ...]:
    """Every column of entries and runs as it is now, and what pages say of them, with no cache of
    bundles that were read before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUITE_HOME", str(home))
        frames = reporter.load(SHOWN)
    boards, entries = make_boards(frames), frames.entries.to_dict("records")
    runs = [Bundle(path).run() for folder in SHOWN for path in find_bundles(folder)]
    return (
        *map(str, entries),
        *map(str, frames.runs.to_dict("records")),
        *(str(asdict(row.scores)) for board in boards for row in board.accepted),
        *((board_title(board), target_percent(board)) for board in boards),
        *((title_of(entry), entry_model(entry)) for entry in entries),
        *(setting_of(run.request, judging_round(run.round)) for run in runs),
    )


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    return shown(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def after(before: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """In a copy of the rules, in which LeNet-5 is another workload."""
    root = tmp_path_factory.mktemp("later")
    shutil.copytree(repository_root() / "rules", root / "rules")
    file = workloads.folder(root) / "lenet.toml"
    text = file.read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "repository_root", lambda: root)
        yield Seen(check_paths(RESULTS), shown(root / "home"))


def test_results_of_closed_rounds_comply_with_the_definitions_of_their_rounds(after: Seen) -> None:
    with pytest.raises(SuiteError, match=r"lenet\.toml differs from the workload"):
        current_round().workload("lenet")
    assert not after.checked.broken and [*after.checked.all_findings()] == []
    assert len(after.checked.submissions) == len(CLOSED)


def test_runs_that_come_with_the_suite_are_of_the_open_round_or_listed_in_theirs() -> None:
    folders = [repository_root() / folder for folder in EXAMPLES]
    for path in (path for folder in folders for path in find_bundles(folder)):
        of_round = load_round(str(Bundle(path).run().round))
        assert of_round.closed is None or sha256(path / MANIFEST) in of_round.examples, path


def test_pages_show_them_as_before(before: tuple[object, ...], after: Seen) -> None:
    assert len(before) > 2 * len(SHOWN) and after.shown == before
