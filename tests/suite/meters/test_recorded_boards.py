"""What real boards printed, read by our meters, each to the total that its power rule makes."""

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.sources.rpi5_pmic import parse_pmic
from suite.meters.sources.tegrastats import parse_line
from suite.metrics.power_totals import MeasuredTotal, measure_totals
from tests.suite.meters.recorded import FOLDER, needs_recordings, tegrastats_lines, traces

LINES, PMIC = "tegrastats.txt", "rpi5-pmic_read_adc.txt"
PMIC_S = 10


@dataclass(frozen=True)
class Recording:
    """A line, an answer or a trace: the rule that makes its total, the expected total, and ours, in
    ``unit`` with three decimals."""

    file: str
    name: str
    rule: str
    expected: float
    ours: float
    unit: str = "W"


# Expected: of a line, the board's input rail or the sum of the rails that make its total, as
# printed; of the Raspberry Pi, the public calibration of its rails' sum, 1.1327 x 1.9005 W + 0.6444
# W; of a trace, what its own recorder summed up for the rails without VDDQ_VDD2_1V8AO.
RECORDINGS = (
    Recording(LINES, "Nano JP4.6.1", "POM_5V_IN", 1.750, 1.750),
    Recording(LINES, "Xavier NX JP5.1.2", "VDD_IN", 2.763, 2.763),
    Recording(LINES, "TX2 R31", "VDD_IN", 3.104, 3.104),
    Recording(LINES, "AGX Xavier JP4", "AGX Xavier rails", 32.850, 32.850),
    Recording(LINES, "AGX Orin R36.4.4", "AGX Orin rails", 8.726, 8.726),
    Recording(LINES, "Orin NX JP5/6", "VDD_IN", 5.299, 5.299),
    Recording(LINES, "Orin Nano JP7 R39", "VDD_IN", 4.832, 4.832),
    Recording(LINES, "Thor R39 loaded", "AGX Thor input", 124.486, 124.486),
    Recording(PMIC, "Raspberry Pi 5, idle", "PMIC rails", 2.797, 2.797),
    Recording(
        "orin-svgg-cifar10-test.csv.gz",
        "AGX Orin, 193 s",
        "AGX Orin rails",
        2135.893,
        2135.929,
        "J",
    ),
    Recording(
        "orin-svgg-imagenet-test.csv.gz",
        "AGX Orin, 193 s",
        "AGX Orin rails",
        2515.084,
        2515.071,
        "J",
    ),
    Recording(
        "orin-vgg-cifar10-test.csv.gz", "AGX Orin, 174 s", "AGX Orin rails", 2154.858, 2154.937, "J"
    ),
)
TRACES = {one.file: one for one in RECORDINGS if one.unit == "J"}
each_recording = pytest.mark.parametrize(
    "one", RECORDINGS, ids=lambda one: f"{one.file} {one.name}"
)


@needs_recordings
def test_the_table_names_every_recording() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {one.file for one in RECORDINGS} | {
        "README.md"
    }
    assert set(tegrastats_lines()) == {one.name for one in RECORDINGS if one.file == LINES}
    assert {f"{name}.csv.gz" for name in traces()} == set(TRACES)


@needs_recordings
@each_recording
def test_a_recording_is_read_to_the_total_in_the_table(one: Recording) -> None:
    reader: Callable[[Recording], tuple[str, float]] = {LINES: of_line, PMIC: of_pmic}.get(
        one.file, of_trace
    )
    rule, total = reader(one)
    assert rule == one.rule
    assert f"{total:.3f}" == f"{one.ours:.3f}"
    assert one.ours == pytest.approx(one.expected, rel=5e-4)


def of_line(one: Recording) -> tuple[str, float]:
    """Rule and total of a line of tegrastats, W."""
    found = parse_line(tegrastats_lines()[one.name])
    (total,) = totals_of_channels(
        load_power_rules(), (("tegrastats", channel) for channel in found)
    )
    return total.rule.name, sum(found[channel][0] for channel in total.channels)


def of_pmic(one: Recording) -> tuple[str, float]:
    """Rule and mean power of the Raspberry Pi's answer, W."""
    measured = measured_pmic()
    return measured.total.rule.name, (measured.energy.energy_j or 0.0) / PMIC_S


def measured_pmic() -> MeasuredTotal:
    """The answer, read every second for ten seconds."""
    rails = parse_pmic((FOLDER / PMIC).read_text(encoding="utf-8"))
    rows = [
        (second * 10**9, "rpi5-pmic", channel, value, unit)
        for second in range(PMIC_S + 1)
        for channel, (value, unit) in rails.items()
    ]
    channels = channels_of_frame(
        pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    )
    (measured,) = measure_totals(channels, load_power_rules(), (0, PMIC_S * 10**9))
    return measured


def of_trace(one: Recording) -> tuple[str, float]:
    """Rule and energy of a trace, J."""
    t_s, rails = traces()[one.file.removesuffix(".csv.gz")]
    rows = [
        pandas.DataFrame(
            {
                "t_ns": np.round(t_s * 1e9).astype(np.int64),
                "source": "ina3221",
                "channel": rail,
                "value": watts,
                "unit": "W",
            }
        )
        for rail, watts in rails.items()
    ]
    (measured,) = measure_totals(
        channels_of_frame(pandas.concat(rows)), load_power_rules(), (0, int(t_s[-1] * 1e9))
    )
    return measured.total.rule.name, measured.energy.energy_j or 0.0


@needs_recordings
@pytest.mark.parametrize("file", TRACES)
def test_the_expected_energy_is_the_recorder_s_own(file: str) -> None:
    with gzip.open(FOLDER / file, "rt", encoding="utf-8", newline="") as stream:
        last = list(csv.reader(stream))[-1]
    assert sum(float(cell) for cell in last[1:4]) / 1000 == pytest.approx(
        TRACES[file].expected, abs=5e-4
    )


@needs_recordings
def test_the_estimate_of_a_raspberry_pi_5_has_the_error_of_its_calibration() -> None:
    rails = parse_pmic((FOLDER / PMIC).read_text(encoding="utf-8"))
    assert sum(value for value, unit in rails.values() if unit == "W") == pytest.approx(
        1.90, abs=0.01
    )
    uncertainty = measured_pmic().energy.uncertainty
    assert uncertainty is not None
    # J: the calibration is of one board, within a tenth
    assert uncertainty.gain == pytest.approx(2.8, abs=0.01)


@needs_recordings
@pytest.mark.parametrize("file", TRACES)
def test_the_rails_step_as_the_rule_states(file: str) -> None:
    """Power of neighbouring codes at one voltage; the voltage itself varies by thousandths."""
    (rule,) = (rule for rule in load_power_rules() if rule.name == "AGX Orin rails")
    for rail, step_w in zip(rule.channels, rule.step, strict=True):
        differences = np.diff(np.unique(traces()[file.removesuffix(".csv.gz")][1][rail]))
        assert np.median(differences[differences > 0.05]) == pytest.approx(step_w, rel=0.03)
