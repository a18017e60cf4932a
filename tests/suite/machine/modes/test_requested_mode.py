"""The steps that set a mode, from what a machine offers: which cores, which clock's step, which
value for on and off."""

from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.machine.clock_domains import CPU, GPU
from suite.machine.modes.available_modes import AvailableModes, Domain, Turbo
from suite.machine.modes.requested_mode import (
    Call,
    RequestedMode,
    Write,
    chosen_cores,
    cores_on_line,
    find_mode,
    mode_steps,
)
from suite.machine.nvpmodel import Model

KHZ = 1000
BIG = (600_000, 1_190_400, 1_210_000, 2_265_600)
MODES = (
    Model(0, "MAXN", ()),
    Model(
        10,
        "MODE_3",
        (
            *(("CPU_ONLINE", f"CORE_{core}", "01"[core < 3]) for core in range(5)),
            ("GPU_POWER_CONTROL_ENABLE", "GPU_PWR_CNTL_EN", "1"),
        ),
    ),
    Model(2, "MODE_15W", ()),
)


def clock(
    name: str, steps_khz: tuple[int, ...], ends_khz: tuple[int, int], governors: tuple[str, ...]
) -> Domain:
    return Domain(
        CPU,
        name,
        f"{name}/max",
        f"{name}/min",
        KHZ,
        tuple(step * KHZ for step in steps_khz),
        *(end * KHZ for end in ends_khz),
        f"{name}/governor",
        governors,
    )


AVAILABLE = AvailableModes(
    MODES,
    (0, 1, 2, 3, 4),
    {core: f"cpu{core}/online" for core in (0, 1, 3, 4)},
    (
        clock("big", BIG, (600_000, 2_265_600), ("powersave", "performance")),
        clock("small", (400_000, 900_000), (400_000, 900_000), ("powersave",)),
        Domain(GPU, "gpu", "gpu/max", None, 1, (), 114_000_000, 905_000_000),
    ),
    Turbo("no_turbo", "0", "1"),
    "pwm",
    "nvpmodel",
    "jetson_clocks",
)


def steps(root: Path, requested: RequestedMode) -> list[tuple[str, ...]]:
    return [
        (step.file, step.value) if isinstance(step, Write) else (step.program, *step.arguments)
        for step in mode_steps(requested, AVAILABLE, root)
    ]


def test_everything_is_set_in_an_order_that_the_kernel_accepts(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "big/min").write_text("1190401\n")
    (tmp_path / "small").mkdir()
    (tmp_path / "small/min").write_text("900000\n")
    everything = RequestedMode(
        "MAXN", "0,2-3", 1200, 500, None, "powersave", "off", "255", jetson_clocks=True
    )
    assert steps(tmp_path, everything) == [
        ("nvpmodel", "-m", "0"),
        ("cpu0/online", "1"),
        ("cpu3/online", "1"),
        ("no_turbo", "1"),
        ("big/governor", "powersave"),
        ("small/governor", "powersave"),
        ("big/min", "600000"),  # else the kernel refuses a maximum below the minimum
        ("big/max", "1190400"),
        ("small/max", "900000"),
        ("gpu/max", "500000000"),
        ("pwm", "255"),
        ("jetson_clocks",),
        ("cpu1/online", "0"),
        ("cpu4/online", "0"),
    ]
    assert steps(tmp_path, RequestedMode(turbo="on", governor="performance", fan="quiet")) == [
        ("no_turbo", "0"),
        ("big/governor", "performance"),
        ("nvpmodel", "-d", "quiet"),
    ]
    assert everything.label.startswith("MAXN, cores 0,2-3, cpu_mhz 1200, gpu_mhz 500, governor")
    assert everything.label.endswith("turbo off, fan 255, jetson_clocks")


@pytest.mark.parametrize(
    ("limit_mhz", "caps"),
    [
        (2266, ("2265600", "900000")),  # the small cores' next one below
        (1200, ("1190400", "900000")),  # two are near
        (1228, ("1210000", "900000")),  # as rounded as data sheets round: 1.5 %
        (1229, None),
        (601, ("600000", "400000")),
        (400, ("600000", "400000")),  # the big cores' lowest
        (399, ("600000", "400000")),  # a step is a MHz wide
        (380, None),
    ],
)
def test_a_limit_is_a_clocks_step(
    limit_mhz: int, caps: tuple[str, str] | None, tmp_path: Path
) -> None:
    if caps is None:
        with pytest.raises(
            SuiteError, match="no cpu clock has that frequency; the nearest are 400,"
        ):
            steps(tmp_path, RequestedMode(cpu_mhz=limit_mhz))
    else:
        found = steps(tmp_path, RequestedMode(cpu_mhz=limit_mhz))
        assert found == [("big/max", caps[0]), ("small/max", caps[1])]


def test_a_clock_that_lists_no_steps_has_any_limit_between_its_ends(tmp_path: Path) -> None:
    for limit_mhz, cap in ((114, "114000000"), (905, "905000000"), (300, "300000000")):
        assert steps(tmp_path, RequestedMode(gpu_mhz=limit_mhz)) == [("gpu/max", cap)]
    for limit_mhz in (113, 906):
        with pytest.raises(SuiteError, match="is not between 114 and 905 MHz"):
            steps(tmp_path, RequestedMode(gpu_mhz=limit_mhz))
    with pytest.raises(SuiteError, match="--emc-mhz 1: this machine offers no limit"):
        steps(tmp_path, RequestedMode(emc_mhz=1))


def test_a_number_of_cores_begins_with_those_that_are_always_on() -> None:
    assert chosen_cores("1", AVAILABLE) == (2,)
    assert chosen_cores("3", AVAILABLE) == (2, 0, 1)
    assert set(chosen_cores("5", AVAILABLE)) == {0, 1, 2, 3, 4}
    for cores, words in {
        "0": "There are no cores '0': this machine has 5, numbered 0 to 4",
        "6": "There are no cores '6'",
        "2-5": "There are no cores '2-5'",
        "0-1": "Core 2 cannot be taken offline",
        "two": "names no cores",
    }.items():
        with pytest.raises(SuiteError, match=words):
            chosen_cores(cores, AVAILABLE)
    assert cores_on_line(RequestedMode("MODE_3"), AVAILABLE) == 3
    assert cores_on_line(RequestedMode("MODE_3", cores="1"), AVAILABLE) == 1, "what is typed holds"
    assert cores_on_line(RequestedMode("MAXN"), AVAILABLE) is None
    assert cores_on_line(RequestedMode(fan="9"), AVAILABLE) is None


def test_a_mode_has_a_name_and_an_id() -> None:
    assert [find_mode(name, MODES).id for name in ("10", "MODE_15W", "2")] == [10, 2, 2]
    assert mode_steps(RequestedMode("MODE_3"), AVAILABLE) == (Call("nvpmodel", ("-m", "10")),)
    with pytest.raises(SuiteError, match="0 to 255"):
        mode_steps(RequestedMode(fan="256"), AVAILABLE)
