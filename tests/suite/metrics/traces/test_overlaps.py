"""Columns and series that measure the same power are not added; those that do not overlap are."""

from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.reading import read_trace
from suite.metrics.traces.sniffing import recognise_format


def power_of(path: Path, columns: dict[str, float], **options: object) -> float:
    """The first power of a file whose columns have these numbers, a little more in each row."""
    rows = "".join(
        f"{n},{','.join(f'{watts * (1 + n % 7 / 10):.4f}' for watts in columns.values())}\n"
        for n in range(30)
    )
    path.write_text(f"t [s],{','.join(columns)}\n{rows}", encoding="utf-8")
    named = TraceOptions(power=tuple(columns), **options)  # type: ignore[arg-type]
    return float(read_trace(path, recognise_format(path, named)).trace.power_w[0])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"CPU Power": 3.0, "GPU Power": 1.2, "Total Power": 4.3}, "'Total Power' includes"),
        ({"power_w": 3.0, "total_power_w": 6.5}, "'total_power_w' includes 'power_w'"),
        ({"power.draw [W]": 66.0, "power.limit [W]": 350.0}, "is a limit, not a measurement"),
        ({"power.draw [W]": 66.0, "power.draw.instant [W]": 65.1}, "is the same power as"),
        ({"GPU-IN_POWER": 66.0, "GPU-AVG_POWER": 65.1}, "is the same power as"),
        ({"P_min [W]": 2.4, "P_avg [W]": 2.9, "P_max [W]": 3.5}, "is the same power as"),
        ({"Power (W)": 3.1, "Power (mW)": 3100.0}, "is the same power as"),
        ({"CPU Package Power [W]": 4.1, "IA Cores Power [W]": 2.9}, "includes 'IA Cores Power"),
        ({"PkgWatt": 4.1, "CorWatt": 2.9}, "'PkgWatt' includes 'CorWatt'"),
        ({"carrier [W]": 7.1, "cpu [W]": 4.0, "ram [W]": 3.1}, "'carrier .W.' is the sum of"),
    ],
)
def test_a_total_a_limit_and_two_statistics_of_one_power_do_not_add_up(
    columns: dict[str, float], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError, match=f"{said}.*they cannot be added up"):
        power_of(tmp_path / "trace.csv", columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"cpu_power [W]": 3.0, "gpu_power [W]": 3.0},
        {"CPU Package Power [W]": 4.1, "Total DRAM Power [W]": 1.9},
        {"VDD_GPU Current (W)": 2.0, "VDD_CPU Current (W)": 1.5, "VIN_SYS Current (W)": 1.2},
        {"System_Power_W": 3.0, "GPU_Power_W": 4.5},
    ],
)
def test_rails_that_do_not_overlap_add_up(columns: dict[str, float], tmp_path: Path) -> None:
    assert power_of(tmp_path / "trace.csv", columns) == pytest.approx(sum(columns.values()))


def test_a_total_that_is_written_for_each_device_is_not_added(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [
        f"{n},cpu{socket},{20 + socket + n % 3},{41 + 2 * (n % 3)}\n"
        for n in range(30)
        for socket in (0, 1)
    ]
    path.write_text("t [s],sensor,own_w,total_w\n" + "".join(rows), encoding="utf-8")

    def first_w(column: str, **options: object) -> float:
        named = TraceOptions(power=(column,), **options)  # type: ignore[arg-type]
        return float(read_trace(path, recognise_format(path, named)).trace.power_w[0])

    with pytest.raises(SuiteError, match=r"'cpu0' and 'cpu1' have the same values.*a total"):
        first_w("total_w", sum=True)
    with pytest.raises(SuiteError, match=r"Add --series 'cpu0'"):
        first_w("total_w", series=("cpu0", "cpu1"))
    assert first_w("total_w", series=("cpu0",)) == first_w("own_w", sum=True) == 41.0
