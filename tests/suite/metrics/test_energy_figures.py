"""Energy of a run, and its baseload."""

import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import Coverage, Tier, load_power_rules
from suite.metrics.counted_time import UncountedInterval
from suite.metrics.energy_figures import baseload_figures, energy_figures, epoch_energy, idle_power
from suite.metrics.figure import Figure, Sensor
from suite.metrics.power_totals import power_totals

SECOND = 10**9
RUN = (100 * SECOND, 120 * SECOND)
EPOCH = Figure(8.0, "s", "steps.parquet", 3)


def readings(
    power_w: float, start: int, stop: int, source: str = "ina3221", channel: str = "VDD_IN"
) -> pandas.DataFrame:
    """A rail once a second."""
    rows = [(second * SECOND, source, channel, power_w, "W") for second in range(start, stop + 1)]
    return pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])


def baseload(
    run: pandas.DataFrame, idle: pandas.DataFrame, epoch: Figure = EPOCH
) -> dict[str, Figure]:
    """The figures for twenty seconds of training."""
    channels = channels_of_frame(run)
    totals = power_totals(channels, load_power_rules(), RUN)
    return baseload_figures(
        idle_power(channels_of_frame(idle), totals),
        RUN,
        energy_figures(channels, totals, RUN, [])["energy_j"],
        epoch,
    )


def test_baseload_is_idle_power_times_time_and_its_share_of_the_energy() -> None:
    figures = baseload(readings(10.0, 90, 130), readings(4.0, 80, 89))
    assert figures["baseload_power_w"].value == pytest.approx(4.0, rel=1e-12)
    assert figures["baseload_per_epoch_j"].value == pytest.approx(32.0, rel=1e-12)
    assert figures["baseload_share"].value == pytest.approx(0.4, rel=1e-12)
    assert figures["baseload_power_w"].method == "idle for 9 s before the run"
    assert figures["baseload_power_w"].sensor == Sensor(
        ("ina3221",), ("VDD_IN",), Coverage.MODULE, Tier.ON_BOARD
    )


@pytest.mark.parametrize(
    ("run", "idle", "reason"),
    [
        (
            readings(10.0, 90, 130, "cpu", "utilisation.total"),
            readings(4.0, 80, 89),
            "no power sensor",
        ),
        (readings(10.0, 90, 130), readings(4.0, 80, 79), "the idle machine was not measured"),
        (
            readings(10.0, 90, 130),
            readings(4.0, 80, 89, "shelly", "power"),
            "before the run, not every channel of",
        ),
        (readings(10.0, 90, 130), readings(4.0, 80, 80), "before the run"),
    ],
)
def test_without_a_sensor_or_an_idle_window_it_is_unknown(
    run: pandas.DataFrame, idle: pandas.DataFrame, reason: str
) -> None:
    for figure in baseload(run, idle).values():
        assert figure.value is None
        assert reason in str(figure.reason)


def test_the_processors_load_while_idle_is_part_of_the_figure() -> None:
    load = readings(34.4, 80, 89, "cpu", "utilisation.total").assign(unit="%")
    figure = baseload(readings(10.0, 90, 130), pandas.concat([readings(4.0, 80, 89), load]))[
        "baseload_power_w"
    ]
    assert (figure.value, figure.method) == (
        pytest.approx(4.0),
        "idle for 9 s before the run, processor at 34 %",
    )


def test_an_epoch_shorter_than_the_sensors_period_has_no_energy_of_its_own() -> None:
    power = channels_of_frame(readings(10.0, 90, 130))
    totals = power_totals(power, load_power_rules(), RUN)
    assert epoch_energy(power, totals, 100 * SECOND + 100, 101 * SECOND - 100) is None
    energy = epoch_energy(power, totals, 100 * SECOND - 100, 101 * SECOND + 100)
    assert energy is not None
    assert energy.energy_j == pytest.approx(10.0, rel=1e-6)


def test_a_sensor_that_died_during_the_run_leaves_the_power_and_no_share() -> None:
    figures = baseload(readings(10.0, 90, 110), readings(4.0, 80, 89))
    assert figures["baseload_power_w"].value == pytest.approx(4.0)
    assert figures["baseload_share"].value is None
    assert "the last reading is 10 s before the end" in str(figures["baseload_share"].reason)


def test_without_a_later_epoch_there_is_no_baseload_per_epoch() -> None:
    figures = baseload(
        readings(10.0, 90, 130),
        readings(4.0, 80, 89),
        Figure(None, "s", "steps.parquet", 0, reason="too few epochs"),
    )
    assert figures["baseload_per_epoch_j"].reason == "too few epochs"
    assert figures["baseload_share"].value == pytest.approx(0.4)


def test_the_baseload_s_share_is_of_the_counted_time() -> None:
    """Five of the run's twenty seconds are not counted: 15 s at 2 W of 60 J."""
    power, energy = Figure(2.0, "W", "baseload", 3), Figure(60.0, "J", "power", 3)
    left_out = [UncountedInterval("kept state", 1, 103 * SECOND, 108 * SECOND, 9)]
    found = baseload_figures(power, RUN, energy, EPOCH, left_out)
    assert found["baseload_share"].value == pytest.approx(0.5)
    assert found["baseload_per_epoch_j"].value == pytest.approx(16.0)
