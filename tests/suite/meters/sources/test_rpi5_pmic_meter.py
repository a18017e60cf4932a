from pathlib import Path

import pytest

from suite.meters.meter import MeteredProcess
from suite.meters.sources.rpi5_pmic import Rpi5PmicMeter, parse_pmic

# written for the test in the shape of the firmware's answers: currents first, voltages later,
# indices that do not pair
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
# A Raspberry Pi 5 whose four cores are busy, as the documentation of a stress test shows it (12 of
# its 26 lines have a pair that matters)
BUSY = """\
 3V7_WL_SW_A current(0)=0.05855580A
   3V3_SYS_A current(1)=0.06148359A
   1V8_SYS_A current(2)=0.13272650A
  DDR_VDD2_A current(3)=0.13955800A
  DDR_VDDQ_A current(4)=0.00980400A
   1V1_SYS_A current(5)=0.19811380A
    0V8_SW_A current(6)=0.34157550A
  VDD_CORE_A current(7)=5.03652000A
   3V3_DAC_A current(17)=0.00006105A
   3V3_ADC_A current(18)=0.00054945A
   0V8_AON_A current(16)=0.00531135A
      HDMI_A current(22)=0.02161170A
 3V7_WL_SW_V volt(8)=3.61069200V
   3V3_SYS_V volt(9)=3.29982600V
   1V8_SYS_V volt(10)=1.81684800V
  DDR_VDD2_V volt(11)=1.10109800V
  DDR_VDDQ_V volt(12)=0.60366240V
   1V1_SYS_V volt(13)=1.10292900V
    0V8_SW_V volt(14)=0.80292960V
  VDD_CORE_V volt(15)=0.89369880V
   3V3_DAC_V volt(20)=3.29944700V
   3V3_ADC_V volt(21)=3.30402600V
   0V8_AON_V volt(19)=0.79618980V
      HDMI_V volt(23)=4.92450000V
     EXT5V_V volt(24)=4.92450000V
      BATT_V volt(25)=0.00341880V
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


def test_a_published_answer_of_a_busy_board_has_all_twelve_rails() -> None:
    found = parse_pmic(BUSY)
    rails = [value for value, unit in found.values() if unit == "W"]
    assert len(rails) == 12 and found["EXT5V.voltage"] == (4.9245, "V")
    assert sum(rails) == pytest.approx(5.9216, abs=1e-4)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        'error=1 error_msg="Command not registered"\n',
        " BATT_V volt(25)=nanV\n",
        "VDD_CORE_A current(7)=1.2.3A\n",
    ],
)
def test_an_answer_without_rails_is_none(answer: str) -> None:
    assert parse_pmic(answer) == {}


def test_the_program_that_is_started_costs_something(tmp_path: Path, eventually) -> None:
    meter = Rpi5PmicMeter(install(tmp_path, f"cat <<'END'\n{WITH_INDEX}END"))
    meter.open(MeteredProcess(1, Path("/data")))
    eventually(meter.read)
    meter.close()
    assert meter.helper_cost_s() > 0


def test_a_raspberry_pi_4_has_the_program_but_not_the_sensor(tmp_path: Path) -> None:
    availability = Rpi5PmicMeter(
        install(tmp_path, "echo 'error=1 error_msg=\"Command not registered\"'")
    ).availability()
    assert "only the Raspberry Pi 5" in availability.reason


def test_a_firmware_that_cannot_be_opened_says_how_to_get_the_right(tmp_path: Path) -> None:
    availability = Rpi5PmicMeter(
        install(tmp_path, 'echo "Can\'t open device file: /dev/vcio"; exit 255')
    ).availability()
    assert "/dev/vcio" in availability.reason
    assert "group video" in availability.remedy


def test_a_rail_slightly_below_zero_stays_in_the_sum() -> None:
    lines = (
        "VDD_CORE_A current(7)=1.0A",
        "VDD_CORE_V voltage(15)=0.9V",
        "HDMI_A current(22)=-0.00200000A",
        "HDMI_V volt(23)=5.0V",
        "DDR_A current(1)=nanA",
        "DDR_V volt(2)=1.1V",
    )
    assert parse_pmic("\n".join(lines)) == {
        "VDD_CORE.power": (pytest.approx(0.9), "W"),
        "HDMI.power": (pytest.approx(-0.01), "W"),
    }


def test_the_cost_of_every_call_of_the_program_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([(PLAIN, 0.25), (PLAIN, 0.5), (WITH_INDEX, 1.0)])
    monkeypatch.setattr("suite.meters.sources.rpi5_pmic.run_tool", lambda words: next(answers))
    meter = Rpi5PmicMeter()
    for _ in range(3):
        meter.measure()
    assert meter.helper_cost_s() == 1.75
    assert parse_pmic("EXT5V_V=5.09V\n") == {}, "the input's voltage alone is no rail"
