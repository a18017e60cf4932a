"""`suite predict`: the table to fill in, the answer, the JSON, and what is said of a wrong command
line."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from suite import api
from suite.cli.app import main
from suite.extensions.prediction.command import FORMAT
from suite.files.paths import repository_root
from tests.extensions.prediction.boards import MODES, profile

Say = Callable[..., tuple[str, str, int]]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Types a command; returns standard output, standard error and the exit code."""

    def call(words: str) -> tuple[str, str, int]:
        monkeypatch.setattr("sys.argv", ["suite", "predict", *words.split()])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return printed.out, printed.err, int(end.value.code or 0)

    return call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Ten profiled modes of a board with 240, and the names of the others."""
    path, measured = tmp_path / "modes.csv", profile(list(range(0, 240, 25)))
    lines = [",".join((*MODES.names, "time_s", "power_w"))]
    lines += [
        ",".join(map(str, (*row, time_s, power_w)))
        for row, time_s, power_w in zip(
            measured.rows, measured.time_s, measured.power_w, strict=True
        )
    ]
    lines += [",".join(map(str, row)) + ",," for row in MODES.rows.tolist()]
    path.write_text("\n".join(lines))
    return path


def test_the_design_is_a_table_to_fill_in(say: Say) -> None:
    printed, _, code = say("--grid agx-xavier --design")
    rows = list(csv.reader(printed.splitlines()))
    assert (code, len(rows), rows[0]) == (
        0,
        8,
        ["cores", "cpu_mhz", "gpu_mhz", "emc_mhz", "time_s", "power_w"],
    )
    assert rows[1] == ["8", "2265.6", "1377", "2133", "", ""]


def test_an_answer_has_intervals_what_binds_and_what_to_profile_next(say: Say, table: Path) -> None:
    printed, _, code = say(f"{table} --max-watts 14 --front")
    assert code == 0
    assert (
        "10 modes profiled, 230 predicted; the intervals' nominal coverage is 90 %"
        " (extensions/prediction/README.md says how often an interval contained the true value)."
        in printed
    )
    assert "Smallest time with power at most 14 W: cores " in printed
    assert (
        "binding constraint: power limit; share of the time that depends on each resource: "
        in printed
    )
    assert "To narrow the intervals, profile next: cores " in printed
    assert "Pareto front of the profiled modes over time, power and energy" in printed


def test_times_alone_give_times_alone(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("threads,cpu_quota,time_s\n1,0.5,40\n1,1,20\n2,0.5,41\n2,2,11\n2,1.5,\n")
    printed, _, code = say(f"{path} --front --max-minutes 0.4 --minimise time")
    assert (code, " W" in printed, " J" in printed) == (0, False, False)
    assert "There is no Pareto front: the table has neither power_w nor energy_j." in printed
    assert json.loads(say(f"{path} --json")[0])["next"]["power_w"] is None
    assert say(f"{path} --output {tmp_path}/out.csv")[2] == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[
        0
    ] == "threads,cpu_quota,profiled,time_s,time_low_s,time_high_s"
    assert say(f"{path} --max-watts 5")[2] == 2


def test_a_limit_that_no_mode_keeps_is_said(say: Say, table: Path) -> None:
    printed, _, code = say(f"{table} --max-watts 1")
    assert code == 0
    assert "No mode is within the limits (power at most 1 W)" in printed


def test_json_has_the_keys_of_its_format(say: Say, table: Path) -> None:
    printed, _, code = say(f"{table} --max-minutes 20 --json")
    found = json.loads(printed)
    assert (code, set(found)) == (0, {"format", *FORMAT.keys})
    assert (found["limits"], found["minimised"]) == ({"time": 1200.0}, "energy")
    assert found["recommended"]["time_s"]["high"] >= found["recommended"]["time_s"]["low"]


def test_the_readmes_question_is_answered(say: Say, table: Path) -> None:
    page = (repository_root() / "README.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"`suite predict ([^`]*)`", page)
    assert say(words.replace("modes.csv", str(table)))[2] == 0


def test_every_mode_is_written(say: Say, table: Path, tmp_path: Path) -> None:
    assert say(f"{table} --output {tmp_path}/out.csv")[2] == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert (len(rows), sum(row["profiled"] == "yes" for row in rows)) == (240, 10)
    assert all(
        float(row["time_low_s"]) <= float(row["time_s"]) <= float(row["time_high_s"])
        for row in rows
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "There is no table of profiled modes; `suite predict --grid GRID --design`"),
        ("--design", "There are no modes to choose from; give --grid"),
        (
            "--grid xavier --design",
            "There is no grid 'xavier'; give a TOML file of axes, or one of agx-xavier",
        ),
        ("TABLE --minimise noise", "There is no quantity 'noise' to minimise"),
        ("TABLE --max-watts 0", "must be a finite number above 0"),
        ("TABLE --model oracle", "There is no model 'oracle'"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(say: Say, table: Path, words: str, said: str) -> None:
    _, error, code = say(words.replace("TABLE", str(table)))
    assert code == 2
    assert said in error


def test_the_library_answers_as_the_command(say: Say, table: Path) -> None:
    known, found = api.predict(table, max_watts=14)
    printed = json.loads(say(f"{table} --max-watts 14 --json")[0])
    assert found.recommended is not None
    assert printed["recommended"]["mode"] == found.recommended.mode
    assert known.samples.log_time.shape[1] == printed["modes"] == 240
