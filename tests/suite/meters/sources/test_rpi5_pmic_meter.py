from pathlib import Path

import pytest

from suite.catalog.power import Tier, load_power_rules, totals
from suite.meters.meter import MeteredProcess
from suite.meters.sources.rpi5_pmic import Rpi5PmicMeter, parse_pmic

# written for the test in the shape of the firmware's answers: currents first, voltages later, indices that do not pair
WITH_INDEX = """\
 3V7_WL_SW_A current(0)=0.00976000A
   3V3_SYS_A current(1)=0.10000000A
  VDD_CORE_A current(7)=2.00000000A
 3V7_WL_SW_V volt(8)=3.70000000V
   3V3_SYS_V volt(9)=3.30000000V
  VDD_CORE_V volt(15)=0.87500000V
     EXT5V_V volt(24)=5.09000000V
      BATT_V volt(25)=0.00000000V
"""
PLAIN = """\
EXT5V_V=5.0900V
3V7_WL_SW_A=0.00976A
3V7_WL_SW_V=3.7V
3V3_SYS_A=0.1A
3V3_SYS_V=3.3V
VDD_CORE_A=2A
VDD_CORE_V=0.875V
"""
POWER_W = 0.00976 * 3.7 + 0.33 + 1.75


def install(root: Path, script: str) -> Path:
    """A vcgencmd that answers by a script."""
    tool = root / "usr/bin/vcgencmd"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return root


@pytest.mark.parametrize("answer", [WITH_INDEX, PLAIN], ids=["with index", "plain"])
def test_both_formats_give_the_same_rails(answer: str) -> None:
    found = parse_pmic(answer)
    assert set(found) == {"3V7_WL_SW.power", "3V3_SYS.power", "VDD_CORE.power", "EXT5V.voltage"}
    assert sum(value for value, unit in found.values() if unit == "W") == pytest.approx(POWER_W)
    assert found["EXT5V.voltage"] == (5.09, "V")


@pytest.mark.parametrize("answer", ["", 'error=1 error_msg="Command not registered"\n', " BATT_V volt(25)=nanV\n", "VDD_CORE_A current(7)=1.2.3A\n"])
def test_an_answer_without_rails_is_none(answer: str) -> None:
    assert parse_pmic(answer) == {}


def test_the_sum_of_rails_is_an_estimate(tmp_path: Path, eventually) -> None:
    meter = Rpi5PmicMeter(install(tmp_path, f"cat <<'END'\n{WITH_INDEX}END"))
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    readings = eventually(meter.read)
    meter.close()
    (total,) = totals(load_power_rules(), ((reading.source, reading.channel) for reading in readings))
    assert total.rule.tier is Tier.ESTIMATE
    assert sum(reading.value for reading in readings if reading.channel in total.channels) == pytest.approx(POWER_W)
    assert meter.helper_cost_s() > 0  # a program was started


def test_a_raspberry_pi_4_has_the_program_but_not_the_sensor(tmp_path: Path) -> None:
    availability = Rpi5PmicMeter(install(tmp_path, "echo 'error=1 error_msg=\"Command not registered\"'")).availability()
    assert "only the Raspberry Pi 5" in availability.reason


def test_a_firmware_that_cannot_be_opened_says_how_to_get_the_right(tmp_path: Path) -> None:
    availability = Rpi5PmicMeter(install(tmp_path, 'echo "Can\'t open device file: /dev/vcio"; exit 255')).availability()
    assert "/dev/vcio" in availability.reason
    assert "group video" in availability.remedy


def test_a_rail_slightly_below_zero_stays_in_the_sum() -> None:
    lines = (
        "VDD_CORE_A current(7)=1.0A", "VDD_CORE_V voltage(15)=0.9V", "HDMI_A current(22)=-0.00200000A", "HDMI_V volt(23)=5.0V",
        "DDR_A current(1)=nanA", "DDR_V volt(2)=1.1V",
    )  # fmt: skip
    assert parse_pmic("\n".join(lines)) == {"VDD_CORE.power": (pytest.approx(0.9), "W"), "HDMI.power": (pytest.approx(-0.01), "W")}
