"""`suite concurrent tune` over a simulated board: its nvpmodel and its power sensor decide which
mode is chosen, and everything is put back.

The trials' recordings are simulated: their training rate follows the cores that the board has on
line, their power is read from its sensor.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from suite.errors import SuiteError
from suite.extensions.concurrent.measuring import experiment, trials
from suite.extensions.concurrent.measuring.experiment import Plan
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.extensions.concurrent.measuring.trial_modes import held_for_trials, modes_of
from suite.extensions.concurrent.measuring.trials import Choices, Instruments, candidates, tune_here
from suite.extensions.concurrent.measuring.tuning import Aim, Goal, Tuned
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.records import Recording
from suite.launch.turns import Side
from suite.machine.nvpmodel import read_mode
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters
from tests.builders import Scenario, make_request
from tests.extensions.concurrent.conftest import Simulated
from tests.simulated_board import settings_of, simulated_board

RAIL = "sys/bus/i2c/drivers/ina3221x/1-0040/iio:device0/in_power1_input"
CPU_MW = {"MAXN": 30_000, "MODE_30W_ALL": 16_000, "MODE_15W": 6_000}
STEP_NS = 100_000_000
MODES = ("MAXN", "MODE_15W", "MODE_30W_ALL")


@dataclass(frozen=True)
class Sensor:
    """The board's INA3221, read by the suite's own meter."""

    board: Path

    def recording(self) -> AbstractContextManager[None]:
        return nullcontext()

    def mean_w(self, window_ns: tuple[int, int]) -> float | None:
        (meter,) = (each for each in open_meters(self.board) if each.name == "ina3221")
        meter.open(MeteredProcess(1, self.board))
        return sum(reading.value for reading in meter.read() if reading.unit == "W")


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated: Simulated) -> Path:
    """A Jetson AGX Xavier whose CPU rail follows its mode, and whose trials take no time."""
    root, recordings = simulated_board(tmp_path / "board"), dict[Path, Recording]()

    def measured(
        plan: Plan,
        batch: int,
        folder: Path,
        during: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        (root / RAIL).write_text(f"{CPU_MW[read_mode(root).name or '']}\n")
        found = simulated(plan.arrivals, batch, 0.001)
        on_line = [
            file
            for file in root.glob("sys/devices/system/cpu/cpu[0-9]*/online")
            if file.read_text().strip() == "1"
        ]
        ends = np.arange(STEP_NS, found.setting.window_ns, STEP_NS)
        samples = np.full(len(ends), len(on_line))
        with during():
            recordings[folder] = replace(found, steps=np.stack([ends - 1, ends, samples], 1))

    monkeypatch.setattr(trials, "measure_both", measured)
    monkeypatch.setattr(trials, "read_recording", recordings.__getitem__)
    monkeypatch.setattr(experiment, "warm_up_ns", lambda plan, batch: 1_000_000)
    return root


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "request").mkdir()
    side = Side(make_request(tmp_path / "request", Scenario()), "none", Path(sys.executable))
    return Plan(
        side,
        side,
        Arrivals(ArrivalKind.UNIFORM, 50, 8),
        (1, 4),
        None,
        ScheduleKind.CONCURRENT,
        1,
        0.5,
        tmp_path / "out",
    )


def tuned(board: Path, plan: Plan, aim: Aim, modes: tuple[str, ...] = MODES) -> Tuned:
    with held_for_trials(board) as set_mode:
        return tune_here(
            plan,
            Choices((1,), modes_of(modes, board)),
            aim,
            lambda line: None,
            Instruments(lambda folder: Sensor(board), set_mode),
        )


def test_time_wants_the_mode_with_most_cores_and_energy_the_frugal_one(
    board: Path, plan: Plan
) -> None:
    """The board takes 30.5 W beside its CPU: 80 samples/s at 60.5 W in MAXN, at 46.5 W in
    MODE_30W_ALL, and 40 at 36.5 W in MODE_15W."""
    before = settings_of(board)
    assert tuned(board, plan, Aim(1.0), ("MAXN", "MODE_15W")).best.power_mode == "MAXN"
    least = tuned(board, plan, Aim(1.0, goal=Goal.ENERGY))
    assert least.best.power_mode == "MODE_30W_ALL"
    assert least.energy_j == pytest.approx(46.5 / 80, rel=0.01)
    after = settings_of(board)
    assert {**after, RAIL: ""} == {
        **before,
        RAIL: "",
    }, "everything is as it was but the sensor's reading"


def test_a_limit_of_power_leaves_the_modes_that_keep_it(board: Path, plan: Plan) -> None:
    found = tuned(board, plan, Aim(1.0, power_w=40.0))
    assert found.best.power_mode == "MODE_15W"
    assert {trial.candidate.power_mode for trial in found.trials} == set(MODES)


def test_modes_are_put_back_when_tuning_is_interrupted(
    board: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = settings_of(board), list[str | None]()

    def interrupted(*_: object) -> int:
        seen.append(read_mode(board).name)
        if seen[-1] != "MAXN":
            raise KeyboardInterrupt
        return 1_000_000

    monkeypatch.setattr(experiment, "warm_up_ns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuned(board, plan, Aim(1.0))
    assert seen == ["MAXN", "MAXN", "MODE_15W"]
    assert settings_of(board) == before


def test_a_mode_has_no_more_threads_than_cores(board: Path, plan: Plan) -> None:
    found = candidates(plan, Choices((1, 8), modes_of(MODES, board)))
    assert {each.power_mode for each in found if each.train_threads == 8} == {
        "MAXN",
        "MODE_30W_ALL",
    }
    with pytest.raises(SuiteError, match="No power mode has 8 cores online; use fewer --threads"):
        candidates(plan, Choices((8,), modes_of(("MODE_15W",), board)))


def test_modes_that_the_board_lacks_are_said_at_once(board: Path) -> None:
    with pytest.raises(SuiteError) as refused:
        modes_of(("MAXM", "MODE_15W", "30W"), board)
    assert "did you mean 'MAXN'" in str(refused.value) and "no power mode '30W'" in str(
        refused.value
    )
    with pytest.raises(SuiteError, match="--power-modes has an empty name"):
        modes_of(("MAXN", ""), board)


def test_steps_that_are_too_long_for_a_rate_are_said(
    board: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "STEP_NS", 2 * 10**9)
    with pytest.raises(
        SuiteError,
        match="Within 8 s too few training steps ended to know the rate; use a longer --duration",
    ):
        tuned(board, plan, Aim(1.0), ("MAXN",))


def test_a_batch_that_a_trace_fills_at_once_is_measured(board: Path, plan: Plan) -> None:
    """64 images at the beginning of every second: at equal gaps their batch would take a second."""
    times = tuple(float(second) for second in range(8) for _ in range(64))
    bursts = replace(plan, arrivals=Arrivals(ArrivalKind.TRACE, 64, 8, 0, times), batches=(64,))
    assert tuned(board, bursts, Aim(0.3), ("MAXN",)).left_out == ()
