"""Idle states: each measured with its clocks, all put back; what cannot be measured says why."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.errors import SuiteError
from suite.execution.baseload import recorded_baseload
from suite.extensions.idle_states import measuring as idle_states
from suite.extensions.idle_states.measuring import (
    FREE,
    HOW_TO_SUSPEND,
    LOCKED,
    LOGGED,
    NO_CLOCKS,
    QUIET,
    SUSPENDED,
    IdleState,
    clock_modes,
    measure_idle_states,
)
from suite.machine.modes.available_modes import AvailableModes, read_available_modes
from suite.machine.modes.requested_mode import RequestedMode
from suite.meters.meter import Meter
from suite.metrics.figure import unknown_figure
from tests.simulated_board import settings_of, simulated_board

POWER = {
    "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_0": "POM_5V_IN\n",
    "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input": "1900\n",
    "proc/stat": "cpu 1 0 1 9 0 0 0 0\n",
}


ATTEMPTS = 20


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_states, "SETTLE_S", 0.0)


def plant(root: Path) -> Path:
    """Files of a power sensor below ``root``."""
    for name, content in POWER.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def measured(root: Path) -> dict[str, IdleState]:
    """The states by name, measured again while a busy machine left gaps in the readings: the power
    is unknown then, as it should be."""
    for _ in range(ATTEMPTS):
        found = {one.state: one for one in measure_idle_states(1.0, root=root)}
        if not any(
            (one.power.reason or "").startswith("in this state: ") for one in found.values()
        ):
            break
    return found


def test_every_state_has_its_clocks_and_all_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = plant(simulated_board(tmp_path / "board"))
    before, held = settings_of(board), {}
    measure = idle_states._measure

    def noted(state: str, is_logged: bool, time_s: float, root: Path) -> idle_states.IdleState:
        held[state] = settings_of(root)["sys/class/devfreq/17000000.gv11b/min_freq"]
        return measure(state, is_logged, time_s, root)

    monkeypatch.setattr(idle_states, "_measure", noted)
    found = measured(board)
    assert list(found) == [LOGGED, QUIET, FREE, SUSPENDED]
    assert (
        held[LOGGED]
        == held[QUIET]
        != held[FREE]
        == before["sys/class/devfreq/17000000.gv11b/min_freq"]
    )
    assert settings_of(board) == before
    assert set(found[QUIET].meters) < set(found[LOGGED].meters)
    assert [found[state].power.value for state in (LOGGED, QUIET, FREE)] == pytest.approx(
        [1.9] * 3
    ), found
    assert found[SUSPENDED].power.reason == HOW_TO_SUSPEND


def test_clocks_that_cannot_be_set_are_said(tmp_path: Path) -> None:
    found = measured(plant(tmp_path))
    assert found[FREE].power.reason == NO_CLOCKS and found[QUIET].power.value == pytest.approx(1.9)
    assert found[QUIET].title == "idle, only power read, clocks as they were"
    assert " s in this state" in str(found[QUIET].power.method)


def test_clocks_that_were_locked_before_are_not_called_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(state: str, *_: object) -> IdleState:
        return IdleState(state, "", unknown_figure("W", "", "not read"), (), None, 1.0)

    monkeypatch.setattr(idle_states, "_measure", unread)
    board = plant(simulated_board(tmp_path))
    assert measured(board)[FREE].power.reason == "not read"
    subprocess.run([board / "usr/bin/jetson_clocks"], check=True)
    assert measured(board)[FREE].power.reason == LOCKED


def test_meters_are_read_when_the_machine_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list[object]()

    @contextmanager
    def recorded(meters: Sequence[Meter], folder: Path) -> Iterator[None]:
        events.append("meters opened")
        with recorded_baseload(meters, folder):
            yield

    monkeypatch.setattr(idle_states, "SETTLE_S", 5.0)
    monkeypatch.setattr(idle_states, "recorded_baseload", recorded)
    monkeypatch.setattr(idle_states, "time", SimpleNamespace(sleep=events.append))
    idle_states._measure(LOGGED, True, 60.0, plant(tmp_path))
    assert events == [5.0, "meters opened", 60.0]


def test_a_logger_recorded_the_suspended_machine(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "time (s),power (W)\n"
        + "".join(f"{second},{4.0 if second < 5 else 0.6}\n" for second in range(60))
    )
    *_, asleep = measure_idle_states(1.0, log, root=plant(tmp_path / "machine"))
    assert asleep.power.value == pytest.approx(0.6) and asleep.time_s == pytest.approx(59)


def test_a_logger_s_file_that_needs_options_is_to_be_written_so_that_it_needs_none(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.csv"
    rows = "".join(f"{second},{4.0 if second < 5 else 0.6}\n" for second in range(60))
    log.write_text(f"a,b\n{rows}")
    with pytest.raises(SuiteError, match=r"has none of the options .* columns time_s and power_w"):
        measure_idle_states(1.0, log, root=tmp_path)
    log.write_text(f"time_s,power_w\n{rows}")
    *_, asleep = measure_idle_states(1.0, log, root=plant(tmp_path / "machine"))
    assert asleep.power.value == pytest.approx(0.6)


def test_without_a_power_meter_nothing_is_measured(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="No power meter is available"):
        measure_idle_states(1.0, root=tmp_path)


def test_fixed_and_free_clocks_of_a_machine(tmp_path: Path) -> None:
    assert clock_modes(AvailableModes()) == (None, None)
    assert clock_modes(read_available_modes(simulated_board(tmp_path))) == (
        RequestedMode(jetson_clocks=True),
        RequestedMode(),
    )
    for governors, free in (
        (("powersave", "ondemand", "performance"), "ondemand"),
        (("powersave", "performance"), "powersave"),
        (("performance", "userspace"), None),
        (("schedutil",), None),
    ):
        domains: Any = tuple(SimpleNamespace(governors=(name,)) for name in governors)
        assert clock_modes(AvailableModes(domains=domains)) == (
            (RequestedMode(governor="performance"), RequestedMode(governor=free))
            if free
            else (None, None)
        )
