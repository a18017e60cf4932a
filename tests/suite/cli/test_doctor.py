"""`suite doctor` lists every source: available, or the reason and the remedy; a broken source does
not make it fail."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from suite.cli.doctor import Diagnosis, diagnose_load, diagnose_meters, doctor, folded
from suite.experiments.machine_load import MachineLoad, measure_load
from suite.meters.registry import meter_classes, open_meters
from suite.meters.sources.shelly import ShellyMeter


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the command with an empty home."""
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    app = typer.Typer()
    app.command()(doctor)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_every_meter_is_listed_with_the_rest_of_what_a_run_needs(run: Any) -> None:
    result = run("--json")
    lines = {line["what"]: line for line in json.loads(result.output)["rows"]}
    assert result.exit_code == 0
    assert {f"meter: {meter.name}" for meter in meter_classes()} <= set(lines)
    assert {"Python", "memory", "disk", "environment: pytorch", "data: mnist"} <= set(lines)
    assert lines["environment: pytorch"] == {
        "what": "environment: pytorch",
        "there": False,
        "found": "There is no environment for PyTorch",
        "remedy": "suite env create pytorch",
        "forbidden": False,
    }


def test_meters_that_are_not_here_are_one_line_unless_all_are_asked_for(run: Any) -> None:
    short, whole = run().output, run("--all").output
    assert " meters " in short and "suite doctor --all" in short
    assert len(short.splitlines()) + 5 < len(whole.splitlines())
    assert all(f"meter: {meter.name}" in whole for meter in meter_classes())


def test_a_meter_that_only_root_may_read_is_not_folded_with_those_of_other_boards() -> None:
    of_root = Diagnosis("meter: counters", False, "only root may count", "sudo …", forbidden=True)
    elsewhere = Diagnosis("meter: jtop", False, "no Jetson", "run on a Jetson")
    energy = Diagnosis("energy", True, "measured by rapl")
    assert [each.what for each in folded([of_root, elsewhere, energy])] == [
        "meter: counters",
        "1 meter",
        "energy",
    ]


def test_on_a_bare_machine_every_missing_source_has_a_reason_and_a_remedy(tmp_path: Path) -> None:
    for diagnosis in diagnose_meters(open_meters(tmp_path)):
        assert not diagnosis.there
        assert diagnosis.found
        assert diagnosis.remedy


def test_a_driver_that_breaks_does_not_hide_the_other_sources(tmp_path: Path) -> None:
    broken, sound = open_meters(tmp_path)[:2]
    broken.availability = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    first, second = diagnose_meters([broken, sound])
    assert (first.there, first.found) == (
        False,
        "the availability check failed: ZeroDivisionError: division by zero",
    )
    assert second.what == f"meter: {sound.name}"


def test_a_wrong_key_of_meters_toml_is_corrected_not_reported(tree: Any) -> None:
    root = tree({"etc/edge-training-suite/meters.toml": 'shelly = { adress = "10.0.0.7" }\n'})
    (found,) = diagnose_meters([ShellyMeter(root)])
    assert not found.there
    assert "there is no key 'adress'; did you mean 'address'" in found.found
    assert found.remedy == "correct /etc/edge-training-suite/meters.toml"


@pytest.mark.parametrize(
    ("compatible", "chip", "is_known", "found"),
    [
        ("nvidia,tegra264\0", "ina238", True, "measured by ina238"),
        (
            "raspberrypi,5-model-b\0",
            "ina219",
            False,
            "there is power from ina238, but nobody knows of what: energy will be reported as"
            " unknown",
        ),
    ],
    ids=["at the input of a board", "on a hat"],
)
def test_a_chip_of_which_nobody_knows_what_it_measures_measures_no_energy(
    compatible: str,
    chip: str,
    is_known: bool,
    found: str,
    run: Any,
    tree: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = "sys/class/hwmon/hwmon4"
    files = {f"{folder}/name": f"{chip}\n", f"{folder}/power1_input": "5000000\n"}
    root = tree({"proc/device-tree/compatible": compatible, **files})
    monkeypatch.setattr("suite.cli.doctor.open_meters", lambda: open_meters(root))
    lines = {line["what"]: line for line in json.loads(run("--json").output)["rows"]}
    assert lines["meter: ina238"]["there"]
    assert (lines["energy"]["there"], lines["energy"]["found"]) == (is_known, found)


def test_the_callers_own_children_are_not_foreign_and_not_named() -> None:
    burner = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    )
    assert burner.stdout is not None
    burner.stdout.readline()
    try:
        load = measure_load(0.5)
    finally:
        burner.kill()
        burner.wait()
    assert burner.pid not in {pid for _, pid, _ in load.programs}
    assert load.seconds >= 0.5 and 0 <= load.foreign <= load.cores * 1.1


@pytest.mark.parametrize(
    ("foreign", "stolen", "is_quiet", "words"),
    [
        (0.05, 0.0, True, "0.05 of 2 cores"),
        (0.9, 0.0, False, "stress (7) 0.90"),
        (0.0, 0.4, False, "0.40 taken by the hypervisor"),
    ],
)
def test_the_doctor_says_whether_the_machine_is_quiet(
    foreign: float, stolen: float, is_quiet: bool, words: str
) -> None:
    programs = (("stress", 7, foreign),) if foreign > 0.5 else ()
    diagnosis = diagnose_load(MachineLoad(1.0, 2, foreign, stolen, 0.25, programs))
    assert diagnosis.there is is_quiet
    assert words in diagnosis.found and "waited for a CPU 25% of the time" in diagnosis.found
    assert bool(diagnosis.remedy) is not is_quiet
