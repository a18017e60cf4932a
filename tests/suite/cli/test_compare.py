"""`suite compare`, `export` and `figure`: figures of runs side by side, and as files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from typer.testing import CliRunner

from suite.cli.app import app
from suite.cli.compare_runs import _compared, _incomparable, _statistics
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.metrics.comparisons import OTHER_INSTRUMENTS
from tests.builders import Scenario, make_bundle
from tests.reporter.gallery import make_template, many_entries


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs with batches of 16 and three with 64, in a folder each."""

    for batch_size in (16, 64):
        for seed in (1, 2, 3):
            name = f"lenet-pytorch-20270115T080000Z-{batch_size:05}{seed}"
            scenario = Scenario(name=name, seed=seed, batch_size=batch_size)
            make_bundle(tmp_path / "runs" / str(batch_size) / str(seed), scenario)
    return tmp_path / "runs"


def printed(*words: object) -> str:
    answer = CliRunner().invoke(app, [str(word) for word in words])
    if answer.exception:
        raise answer.exception
    return answer.output


@pytest.mark.usefixtures("builds_a_site")
def test_the_ratio_of_recorded_runs_is_that_of_the_values_beside_it() -> None:
    """Their times to target differ by half: the two kinds of mean are apart."""
    recorded = repository_root() / "submissions"
    paths = [recorded / version / "reference/lenet/tensorflow" for version in ("v0.1", "v0.2")]
    rows = json.loads(printed("compare", *paths, "--json"))["compared"]
    ratios = {row["figure"]: row for row in rows if row["ratio"] is not None}
    assert "time_to_target_s" in ratios
    assert ratios["best_accuracy"]["high"] < 1.02  # no session makes it as uncertain as a time
    assert "communicating" not in printed("compare", *paths)  # 0 in both: one rank each
    for row in ratios.values():
        assert row["ratio"] == pytest.approx(row["value"] / row["base_value"])


@pytest.mark.usefixtures("builds_a_site")
def test_single_runs_have_a_ratio_without_a_verdict_and_other_workloads_none(
    runs: Path, tmp_path: Path
) -> None:
    said = printed("compare", runs / "16" / "1", runs / "64" / "1")
    assert (
        "an interval needs 3 runs per configuration; one configuration has only 1" in said
        and "99 %" not in said
    )
    assert "best accuracy                  99.0 % / 99.0 %" in said
    digits = make_bundle(tmp_path / "digits", Scenario(division="open", data="digits"))
    said = printed("compare", runs / "16" / "1", digits)
    assert "another data" in said and " = " not in said
    of_three = json.loads(printed("compare", runs / "16", runs / "64", digits, "--json"))
    with_ratio = {row["group"] for row in of_three["compared"] if row["ratio"] is not None}
    assert with_ratio == {str(runs / "64")}, "what a third one differs in does not count"
    with pytest.raises(SuiteError, match="Only one path was given"):
        printed("compare", runs)
    with pytest.raises(SuiteError, match="given twice"):
        printed("compare", digits, f"{digits}/")
    with pytest.raises(SuiteError, match=r"several configurations \(batch size: 16, 64\)"):
        printed("compare", runs, digits)


def test_frameworks_of_two_machines_without_a_profile_compare_as_on_pages() -> None:
    differs = {"framework": ["a", "b"], "accelerator": ["cpu", "cuda"]}
    assert _incomparable(differs) is not None
    assert _incomparable({**differs, "cpu_model": ["A", "B"]}) is None


def test_energies_compare_within_one_tier_and_coverage_and_as_surely_as_it_measures(
    tmp_path: Path,
) -> None:
    """All readings are in files of one name: that does not make two meters one."""
    frames = many_entries(make_template(tmp_path / "run"), 1)
    figures = frames.figures.assign(tier="wall meter", covers="board")
    meter, poor, estimate = (
        ("runs", replace(frames, figures=each))
        for each in (
            figures.assign(high=1.01 * figures["value"]),
            figures.assign(high=1.50 * figures["value"]),
            figures.assign(tier="estimate"),
        )
    )
    first = figures["run_id"] == figures["run_id"].iloc[0]
    mixed = figures.assign(tier=first.map({True: "estimate", False: "wall meter"}))
    both = "runs", replace(frames, figures=mixed)
    for other in (estimate, both):
        assert _compared("energy_j", meter, other, {}).reason == OTHER_INSTRUMENTS
    assert _compared("energy_j", both, both, {}).reason == OTHER_INSTRUMENTS
    assert (
        _compared("energy_j", estimate, estimate, {}).reason
        == "the instrument's error is not known"
    )
    good, bad = (_compared("energy_j", each, each, {}) for each in (meter, poor))
    assert good.ratio == bad.ratio == 1.0
    assert good.high is not None and bad.high is not None and good.high < 1.2 < bad.high


@pytest.mark.usefixtures("builds_a_site")
def test_a_run_that_cannot_be_read_is_said_to_be_left_out(runs: Path, tmp_path: Path) -> None:
    (runs / "16" / "1" / "run.json").write_text("{}")
    table = tmp_path / "t.csv"
    for words in (("compare", runs / "16", runs / "64"), ("export", runs, "--output", table)):
        answer = CliRunner().invoke(app, [str(word) for word in words])
        assert answer.exit_code == 0 and "left out: " in answer.stderr
    with pytest.raises(SuiteError, match="has no run that can be read"):
        printed("export", runs / "16" / "1", "--output", tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.usefixtures("builds_a_site")
def test_runs_are_exported_for_a_spreadsheet_and_unknown_is_empty(
    runs: Path, tmp_path: Path
) -> None:
    for ending in ("csv", "parquet", "json"):
        assert "6 rows of runs" in printed("export", runs, "--output", tmp_path / f"t.{ending}")
    with (tmp_path / "t.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    objects = json.loads((tmp_path / "t.json").read_text())
    read = pandas.read_parquet(tmp_path / "t.parquet")
    assert [row["batch_size"] for row in rows] == [str(row["batch_size"]) for row in objects]
    assert list(read["time_to_epoch_s"]) == [row["time_to_epoch_s"] for row in objects]
    assert {row["gpu_utilisation"] for row in rows} == {""} and objects[0]["gpu"] is None
    with pytest.raises(SuiteError, match=r"t\.csv exists; .* --force"):
        printed("export", runs, "--output", tmp_path / "t.csv")
    assert "6 rows" in printed("export", runs, "--output", tmp_path / "t.csv", "--force")
    clients = tmp_path / "clients.json"
    assert "2 rows" in printed("export", runs, "--client-profiles", "--output", clients)
    assert [
        (row["device"], row["batch_size"], row["time_per_1000_samples_s_runs"])
        for row in json.loads(clients.read_text())
    ] == [("generic", 16, 3), ("generic", 64, 3)]
    for options in (("--table", "epochs", "--output", clients), ("--output", tmp_path / "folder")):
        with pytest.raises(SuiteError, match="leave --table out, and give --output a name"):
            printed("export", runs, "--client-profiles", *options)
    with pytest.raises(SuiteError, match=r"must end with one of \.csv, \.parquet, \.json"):
        printed("export", runs, "--output", tmp_path / "t.xlsx")


@pytest.mark.usefixtures("builds_a_site")
def test_an_export_for_tensorboard_replaces_no_run_directory(tmp_path: Path) -> None:
    """Run directories are named as the folders of the export are."""
    run = make_bundle(tmp_path / "runs" / Scenario().name, Scenario())
    before = sorted(run.iterdir())
    with pytest.raises(SuiteError, match=f"{run} has other files than an export's; choose another"):
        printed("export", run.parent, "--output", run.parent, "--force")
    assert sorted(run.iterdir()) == before


@pytest.mark.parametrize(
    "options",
    [("--output", "a.svg", "--caption", "a.svg"), ("--format", "pdf", "--output", "a.txt")],
)
def test_a_caption_does_not_replace_its_figure(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_bundle(tmp_path / "run", Scenario())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("suite.api.figure", lambda *_, **__: pytest.fail("it was drawn"))
    with pytest.raises(SuiteError, match=r"a\.\w+ cannot hold both the figure and its caption"):
        printed("figure", "stalls", run, *options)


@pytest.mark.parametrize("output", [".", "/"])
def test_a_figure_is_not_written_over_a_folder(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match=f"{output} is a folder; name a file with --output"):
        printed("figure", "stalls", tmp_path, "--output", output)


@pytest.mark.usefixtures("builds_a_site")
def test_a_spreadsheet_computes_nothing_of_an_exported_run(tmp_path: Path) -> None:
    run = make_bundle(tmp_path / "run", Scenario(division="open", data="digits"))
    system = json.loads((run / "system.json").read_text())
    (run / "system.json").write_text(json.dumps({**system, "board": "=1+1"}))
    printed("export", run, "--output", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["board"] == "'=1+1"


def test_runs_of_one_session_are_one_value_of_a_time_and_of_an_energy(tmp_path: Path) -> None:
    """As on leaderboards: what a start of the machine does, it does to all of them."""
    frames = many_entries(make_template(tmp_path / "run"), 1)
    ((entry, scores),) = frames.scores.items()
    sessions = dict(zip(frames.runs["run_id"], "aab", strict=True))
    separated = replace(frames, scores={entry: replace(scores, sessions=sessions)})
    figures = ("time_to_epoch_s", "energy_j", "best_accuracy")
    values = [[_statistics(name, each).runs for each in (frames, separated)] for name in figures]
    assert values == [[3, 2], [3, 2], [3, 3]]
