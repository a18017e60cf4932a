"""What real boards printed, read by our meters, each to the total that its power rule makes."""

import numpy as np
import pandas
import pytest

from suite.bundle.channels import channels_of_frame
from suite.catalog.power import load_power_rules, totals
from suite.meters.sources.rpi5_pmic import parse_pmic
from suite.meters.sources.tegrastats import parse_line
from suite.metrics.power import measure_totals
from tests.suite.meters.recorded import FOLDER, needs_recordings, tegrastats_lines, traces

pytestmark = needs_recordings

# board: rule, total W
TEGRASTATS = {
    "Nano JP4.6.1": ("POM_5V_IN", 1.750),
    "Xavier NX JP5.1.2": ("VDD_IN", 2.763),
    "TX2 R31": ("VDD_IN", 3.104),
    "AGX Xavier JP4": ("AGX Xavier rails", 32.850),
    "AGX Orin R36.4.4": ("AGX Orin rails", 8.726),
    "Orin NX JP5/6": ("VDD_IN", 5.299),
    "Orin Nano JP7 R39": ("VDD_IN", 4.832),
    "Thor R39 loaded": ("AGX Thor input", 124.486),
}
# AGX Orin trace: what its own recorder summed up for its rails without VDDQ_VDD2_1V8AO, J
TRACES = {"orin-svgg-cifar10-test": 2135.893, "orin-svgg-imagenet-test": 2515.084, "orin-vgg-cifar10-test": 2154.858}


def test_the_table_names_every_recorded_line_and_trace() -> None:
    assert set(tegrastats_lines()) == set(TEGRASTATS)
    assert set(traces()) == set(TRACES)


@pytest.mark.parametrize("board", TEGRASTATS)
def test_a_line_of_tegrastats_makes_the_boards_power(board: str) -> None:
    rule, power_w = TEGRASTATS[board]
    found = parse_line(tegrastats_lines()[board])
    (total,) = totals(load_power_rules(), (("tegrastats", channel) for channel in found))
    assert total.rule.name == rule
    assert sum(found[channel][0] for channel in total.channels) == pytest.approx(power_w)


def test_a_raspberry_pi_5s_rails_make_an_estimate_of_its_input() -> None:
    rails = parse_pmic((FOLDER / "rpi5-pmic_read_adc.txt").read_text(encoding="utf-8"))
    rows = [(second * 10**9, "rpi5-pmic", channel, value, unit) for second in range(11) for channel, (value, unit) in rails.items()]
    channels = channels_of_frame(pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"]))
    (measured,) = measure_totals(channels, load_power_rules(), (0, 10 * 10**9))
    assert sum(value for value, unit in rails.values() if unit == "W") == pytest.approx(1.90, abs=0.01)
    assert measured.energy.energy_j == pytest.approx(28.0, abs=0.1)  # 2.80 W for ten seconds
    assert measured.energy.uncertainty is not None
    assert measured.energy.uncertainty.gain == pytest.approx(2.8, abs=0.01)  # the calibration is of one board: a tenth


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_of_an_agx_orin_gives_the_energy_of_three_of_its_four_rails(name: str) -> None:
    t_s, rails = traces()[name]
    rows = [pandas.DataFrame({"t_ns": np.round(t_s * 1e9).astype(np.int64), "source": "ina3221", "channel": rail, "value": watts, "unit": "W"})
            for rail, watts in rails.items()]  # fmt: skip
    (measured,) = measure_totals(channels_of_frame(pandas.concat(rows)), load_power_rules(), (0, int(t_s[-1] * 1e9)))
    assert measured.total.rule.name == "AGX Orin rails"
    assert measured.energy.energy_j == pytest.approx(TRACES[name], rel=5e-4)


@pytest.mark.parametrize("name", TRACES)
def test_the_rails_step_as_the_rule_states(name: str) -> None:
    """Power of neighbouring codes at one voltage; the voltage itself varies by thousandths."""
    (rule,) = (rule for rule in load_power_rules() if rule.name == "AGX Orin rails")
    for rail, step_w in zip(rule.channels, rule.step, strict=True):
        differences = np.diff(np.unique(traces()[name][1][rail]))
        assert np.median(differences[differences > 0.05]) == pytest.approx(step_w, rel=0.03)
