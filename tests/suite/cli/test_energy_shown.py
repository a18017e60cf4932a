"""What `suite run` prints of a run: one sentence, its times, and of energies the interval, why
there is none, and the totals that do not count."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.bundle.reader import Bundle
from suite.cli.durations import duration_text
from suite.cli.results import ending_of, show_result
from suite.metrics import summary as summaries
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import remove_event


def show(path: Path, low: float | None, energies: list[dict[str, object]]) -> None:
    """Print a bundle whose summary has this energy, and the other totals."""
    summary = json.loads((path / "summary.json").read_text())
    high = None if low is None else 210.0
    summary["figures"]["energy_j"] |= {
        "value": 200.0,
        "reason": None,
        "low": low,
        "high": high,
        "uncertainty": {"possibly_aliased": low is None},
    }
    (path / "summary.json").write_text(json.dumps({**summary, "energies": energies}))
    show_result(SimpleNamespace(path=path, status="finished"), json=False)  # type: ignore[arg-type]


def test_an_energy_is_shown_with_its_interval_and_the_totals_beside_it(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {
        "source": "ina3221",
        "rule": "VDD_IN",
        "covers": "module",
        "counts": True,
        "energy_j": 200.0,
        "difference_ratio": None,
        "reason": None,
    }
    other = {
        **counts,
        "source": "tegrastats",
        "counts": False,
        "energy_j": 206.0,
        "difference_ratio": 0.03,
    }
    silent = {
        **counts,
        "source": "jtop",
        "counts": False,
        "energy_j": None,
        "reason": "2 plausible readings",
    }
    show(good_bundle, 190.0, [counts, other, silent])
    printed = capsys.readouterr().out
    assert "Energy: 200 J (95 %: 190 to 210)." in printed
    assert "cross-check                    tegrastats, VDD_IN (module): 206 J (+3.0%)" in printed
    assert (
        "cross-check                    jtop, VDD_IN (module): unknown: 2 plausible readings"
        in printed
    )
    assert "ina3221" not in printed


def summarise(path: Path, **figures: dict[str, object]) -> None:
    """Change figures of a bundle's summary."""
    summary = json.loads((path / "summary.json").read_text())
    for name, change in figures.items():
        summary["figures"][name] |= change
    (path / "summary.json").write_text(json.dumps(summary))


def test_a_run_ends_with_a_sentence_and_units_that_people_read(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summarise(
        good_bundle,
        time_to_target_s={"value": 637.2, "reason": None},
        energy_j={"value": None, "reason": "no power sensor was read"},
        compute_s={"value": None, "reason": "asynchronous"},
        fetch_stall_s={"value": None, "reason": "asynchronous"},
        time_to_epoch_s={"value": 310.0, "spread": 2.0, "reason": None},
    )
    show_result(SimpleNamespace(path=good_bundle, status="finished"), json=False)  # type: ignore[arg-type]
    sentence, _, *rows = capsys.readouterr().out.splitlines()
    assert sentence == (
        "99.05 % after 3 epochs, in 10 min 37 s: target reached."
        " Energy unknown: no power sensor was read."
    )
    assert "time of an epoch               5.17 min ± 0.03" in rows
    assert [row for row in rows if "asynchronous" in row] == [
        "unknown: waiting for data, computing: asynchronous"
    ]


def test_a_run_that_is_invalid_already_says_so(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = EditableBundle(good_bundle)
    remove_event("eval_accuracy", 1)(bundle)
    bundle.save()
    show_result(SimpleNamespace(path=good_bundle, status="finished"), json=False)  # type: ignore[arg-type]
    (row,) = (row for row in capsys.readouterr().out.splitlines() if "It breaks rules" in row)
    assert row.startswith("It breaks rules of the closed division: ")
    assert "events-in-order" in row


def test_a_run_that_missed_its_target_or_was_never_evaluated_says_so(good_bundle: Path) -> None:
    missed = {"value": None, "reason": "the target was not reached"}
    summarise(good_bundle, time_to_target_s=missed, gross_time_s={"value": 2.14, "reason": None})
    said = ending_of(Bundle(good_bundle))
    assert "after 3 epochs, in 2.1 s: the target was not reached (99 %)." in said
    summarise(good_bundle, best_accuracy={"value": None, "reason": "no evaluation"})
    assert "3 epochs, in 2.1 s; accuracy unknown: no evaluation." in ending_of(Bundle(good_bundle))
    summary = json.loads((good_bundle / "summary.json").read_text())
    summary["epochs"][2] |= {"is_whole": False, "steps": 30}
    (good_bundle / "summary.json").write_text(json.dumps(summary))
    assert ending_of(Bundle(good_bundle)).startswith("2 epochs and 30 steps, in 2.1 s; ")
    summary["epochs"] = summary["epochs"][2:]
    (good_bundle / "summary.json").write_text(json.dumps(summary))
    assert ending_of(Bundle(good_bundle)).startswith("30 steps, in 2.1 s; ")


def test_the_accuracy_is_of_the_last_epoch_and_a_better_one_names_its_own(tmp_path: Path) -> None:
    made = make_bundle(tmp_path / "run", Scenario(accuracies=(0.97, 0.985, 0.98)))
    said = ending_of(Bundle(made))
    assert said.startswith("98.00 % after 3 epochs, in ")
    assert " the target was not reached (99 %). Best: 98.50 % after epoch 2. Energy" in said


def test_a_resumed_run_counts_all_epochs_and_its_time_is_of_those_that_it_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_bundle(tmp_path / "run", Scenario(accuracies=(0.97, 0.985, 0.98)))
    monkeypatch.setattr(summaries, "resumption_of", lambda bundle: SimpleNamespace(epoch=4))
    said = ending_of(Bundle(made))
    assert "7 epochs (4 of them before the run was resumed), the other 3 in " in said


@pytest.mark.parametrize(
    ("time_s", "said"),
    [
        (2.54, "2.5 s"),
        (9.97, "10 s"),
        (59.96, "1 min"),
        (637.2, "10 min 37 s"),
        (7199, "2 h"),
        (9e4, "1 d 1 h"),
    ],
)
def test_a_duration_is_said_as_people_say_it(time_s: float, said: str) -> None:
    assert duration_text(time_s) == said


def test_an_energy_read_on_a_fixed_clock_says_why_it_has_no_interval(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(good_bundle, None, [])
    assert (
        "200 J (no interval: if the load repeats, readings at a fixed rate may always miss the same"
        " part of it)" in capsys.readouterr().out
    )
