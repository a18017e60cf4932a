"""Misconfigurations of a board or a run are named by a sentence that says what to do.

The recordings that the rules find are good bundles with one record edited (`tests/faults`), made up
by the authors; tests/suite/compliance/test_rules.py judges them.
"""

from pathlib import Path

import pytest

from suite.bundle.layout import SUMMARY
from suite.catalog.throttling import remedy
from suite.cli import doctor
from suite.cli.results import show_result
from suite.compliance.registry import find_rule
from suite.execution.run import RunResult
from suite.experiments.machine_load import MachineLoad
from suite.files.json_file import read_json, write_json
from suite.machine.power_settings import CPUFREQ, PowerSettings
from tests.builders import Scenario, make_bundle
from tests.faults import all_faults

FOUND = {
    "a background load": ("foreign-load", "stop other programs"),
    "a load while the idle machine was measured": ("baseload-idle", "stop other programs"),
    "a meter that covers another part": ("whole-above-part", "what else it measures"),
    "two meters that contradict each other": ("meters-agree", "leave it out"),
    "a logger whose clock is wrong": ("power-follows-load", "the meter's clock is right"),
    "a range that the board exceeds": ("power-unclipped", "choose a measuring range"),
    "another meter for the idle machine": ("baseload-meter", "use one meter"),
    "a meter that was late": ("readings-gaps", "find out what delayed the meter"),
    "a power mode that changed": ("power-mode-steady", "do not change governor or power mode"),
    "a power mode that nobody may read": ("power-mode-known", "/etc/nvpmodel.conf"),
    "another board": ("machine-fits-profile", "run on a machine of the profile"),
    "a container that hides the sensors": ("board-sensors", "outside of a container"),
    "more threads than were stated": ("cpu-time-threads", "--threads"),
    "another data set": ("data-as-defined", "name the data set that was used"),
    "a wall clock that is set late": ("wall-clock", "let NTP set the clock"),
    "an overclocked board": ("clocks-possible", "at the vendor's clock rates"),
}


@pytest.mark.parametrize("misconfiguration", FOUND)
def test_a_rule_finds_it_and_says_what_to_do(misconfiguration: str) -> None:
    check, words = FOUND[misconfiguration]
    assert all_faults()[check] and words in find_rule(check).fix


def container(folder: Path) -> doctor.Diagnosis:
    (folder / doctor.CGROUP).mkdir(parents=True)
    (folder / doctor.CGROUP / "cpu.max").write_text("150000 100000\n")
    (limit,) = doctor.diagnose_share(folder)
    return limit


def test_the_doctor_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert not list(doctor.diagnose_share(tmp_path))
    assert doctor.diagnose_memory(2**30, 0).there
    for diagnosis, words in (
        (container(tmp_path), "without a CPU limit"),
        (doctor.diagnose_memory(2**30, 2**28), "end other programs"),
        (doctor.diagnose_power_mode(PowerSettings(CPUFREQ, "powersave")), "performance"),
        (doctor.diagnose_load(MachineLoad(1.0, 4, 2.0, 0.0, None, ())), "stop other programs"),
    ):
        assert not diagnosis.there and words in diagnosis.remedy


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("under_voltage", "supply"),
        ("over_current.1", "supply"),
        ("cooling.3.throttle_oc1", "supply"),
        ("cooling.4.soc1-throttle", "cool the board"),
        ("soft_temperature_limit", "cool the board"),
        ("cooling.0.cpufreq-cpu0", "cool the board"),
    ],
)
def test_what_held_a_board_back_has_a_remedy(channel: str, words: str) -> None:
    assert words in remedy(channel)


def test_the_end_of_a_run_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_bundle(tmp_path / "run", Scenario(throttled_s=0.5))
    summary = read_json(run / SUMMARY)
    figures = summary["figures"]
    figures["time_to_epoch_s"]["value"], figures["fetch_stall_s"]["value"] = 10.0, 5.0
    write_json(run / SUMMARY, summary)
    show_result(RunResult(run, "finished", None), json=False)
    said = capsys.readouterr().out
    assert "cool the board" in said and "use a faster card or disk" in said
