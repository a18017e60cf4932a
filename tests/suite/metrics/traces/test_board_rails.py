"""Rails that the power rules know are labelled as the rules say, against what is typed."""

from pathlib import Path

import pytest

from suite.catalog.power import Coverage, Tier
from suite.errors import SuiteError
from suite.metrics.traces.board_rails import labels_of
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.sniffing import recognise_format
from suite.metrics.traces.trace_format import TraceFormat

RAILS = {
    "Orin Nano": ("VDD_IN 4500mW/4500mW VDD_SOC 1350mW/1350mW", "VDD_IN", Coverage.MODULE),
    "AGX Thor": (
        "VDD_GPU 6280mW/1mW VDD_CPU_SOC_MSS 5233mW/1mW VIN_SYS_5V0 4187mW/1mW VIN 20935mW/1mW",
        "VIN",
        Coverage.BOARD,
    ),
}


def read(path: Path, rails: str, *power: str) -> TraceFormat:
    line = f"11-27-2026 10:00:{{n:02d}} RAM 2448/7771MB CPU [1%@1510] {rails}\n"
    path.write_text("".join(line.format(n=n) for n in range(30)), encoding="utf-8")
    return recognise_format(path, TraceOptions(power=power))


@pytest.mark.parametrize("board", RAILS)
@pytest.mark.parametrize("is_named", [False, True])
def test_a_rail_covers_what_the_power_rules_say(board: str, is_named: bool, tmp_path: Path) -> None:
    rails, name, covers = RAILS[board]
    how = read(tmp_path / "tegrastats.txt", rails, *([f"{name} [mW]"] if is_named else []))
    assert labels_of(how, covers, None) == (covers, Tier.ON_BOARD)
    for other in {Coverage.MODULE, Coverage.BOARD, Coverage.WALL, Coverage.CHIP} - {covers}:
        with pytest.raises(SuiteError, match=f"{name} measures the {covers.value}.*give --covers"):
            labels_of(how, other, None)
    with pytest.raises(SuiteError, match="by an on-board sensor, not by a wall meter"):
        labels_of(how, covers, Tier.WALL_METER)


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("", "11-27-2026 10:00:{n:02d} RAM 2448/7771MB CPU [1%@1510] VDD_5V 900mW/900mW\n"),
        ("time,uptime,CPU1,Power SOC,Power TOT\n", "2026-11-27 10:00:{n:02d}.5,1 day,0,13,45\n"),
    ],
    ids=["tegrastats", "jtop"],
)
def test_rails_that_no_rule_knows_are_read_by_the_board_s_sensors_too(
    head: str, row: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(head + "".join(row.format(n=n) for n in range(30)))
    how = recognise_format(path, TraceOptions())
    for covers in (Coverage.MODULE, Coverage.BOARD):
        assert labels_of(how, covers, None) == (covers, Tier.ON_BOARD)
    with pytest.raises(SuiteError, match="by an on-board sensor, not by a wall meter: leave"):
        labels_of(how, Coverage.BOARD, Tier.WALL_METER)


@pytest.mark.parametrize("name", ["VIN [mW]", "Power (mW)"])
def test_other_rails_are_labelled_as_stated(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"t [s],{name}\n" + "".join(f"{n},4000\n" for n in range(30)))
    how = recognise_format(path, TraceOptions())
    assert labels_of(how, Coverage.WALL, None) == (Coverage.WALL, Tier.WALL_METER)
    assert labels_of(how, Coverage.CHIP, Tier.ON_BOARD) == (Coverage.CHIP, Tier.ON_BOARD)
