from pathlib import Path

import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import Coverage, load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.rapl import RaplMeter
from suite.metrics.energy import energy_of
from suite.metrics.power_totals import measure_totals, totals_that_count

RANGE_UJ = 262_143_328_850


def zone(folder: str, name: str, energy_uj: int, range_uj: int = RANGE_UJ) -> dict[str, str]:
    """A powercap zone."""
    base = f"sys/class/powercap/{folder}"
    return {
        f"{base}/name": f"{name}\n",
        f"{base}/energy_uj": f"{energy_uj}\n",
        f"{base}/max_energy_range_uj": f"{range_uj}\n",
    }


def machine(package_uj: int, dram_uj: int = 0, range_uj: int = RANGE_UJ) -> dict[str, str]:
    """A package with cores and memory, shown once more through memory-mapped registers."""
    return {
        "sys/class/powercap/intel-rapl/enabled": "1\n",
        **zone("intel-rapl:0", "package-0", package_uj % range_uj, range_uj),
        **zone("intel-rapl:0:0", "core", 1000),
        **zone("intel-rapl:0:1", "dram", dram_uj),
        **zone("intel-rapl-mmio:0", "package-0", package_uj % range_uj, range_uj),
    }


def test_a_counter_that_wraps_twice_gives_the_energy_all_the_same(tree, replay) -> None:
    range_uj, watts = 250_000_000, 90.0  # a narrow counter, to wrap within three seconds
    start_uj = range_uj - 5_000_000
    states = [
        lambda second=second: tree(
            machine(start_uj + round(second * watts * 1e6), second * 1_000_000, range_uj)
        )
        for second in range(8)
    ]
    readings = replay(RaplMeter(tree(machine(start_uj, 0, range_uj))), states)
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[0]
    assert energy_of(channels_of_frame(readings), total, 0, 7 * 10**9).energy_j == pytest.approx(
        7 * (watts + 1.0), rel=1e-9
    )


@pytest.mark.parametrize("glitch_uj", [0, RANGE_UJ - 1], ids=["back to nothing", "far ahead"])
def test_a_counter_that_jumps_leaves_no_energy_rather_than_a_wrong_one(
    tree, replay, glitch_uj: int
) -> None:
    counts = [10**9 + second * 30_000_000 for second in range(10)]
    # set back: not read any more; far ahead: the step back from there is taken for a wrap, and both
    # are gaps
    counts[6] = glitch_uj
    readings = replay(
        RaplMeter(tree(machine(0))), [lambda count=count: tree(machine(count)) for count in counts]
    )
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[-1]
    energy = energy_of(channels_of_frame(readings), total, 0, 9 * 10**9)
    assert energy.energy_j is None


@pytest.mark.proof
def test_a_counter_that_is_set_back_in_a_long_run_leaves_no_energy(tree, replay) -> None:
    """Taken for a wrap, it would add 257 kJ, which is less than 2 kW over the ten minutes that
    follow."""
    counts = [5 * 10**9 + second * 10_000_000 for second in range(60)] + [
        second * 10_000_000 for second in range(600)
    ]
    readings = replay(
        RaplMeter(tree(machine(0))), [lambda count=count: tree(machine(count)) for count in counts]
    )
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[-1]
    assert energy_of(channels_of_frame(readings), total, 0, 659 * 10**9).energy_j is None


def test_a_counter_that_a_suspend_reset_is_no_wrap(tree) -> None:
    """From 40 kJ of 65.5 to 10 mJ would be 25 kJ, within half a second."""
    root = tree(machine(40_000_000_000, range_uj=65_532_610_987))
    meter = RaplMeter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    assert "package-0" in {reading.channel for reading in meter.read()}
    (root / "sys/class/powercap/intel-rapl:0/energy_uj").write_text("10000\n")
    assert "package-0" not in {reading.channel for reading in meter.read()}


@pytest.mark.parametrize(
    ("range_uj", "before_uj", "after_uj"),
    [(0, 900, 100), (1000, 5000, 100)],
    ids=["no range", "above its range"],
)
def test_a_counter_that_falls_and_cannot_have_wrapped_is_not_read(
    range_uj: int, before_uj: int, after_uj: int, tree
) -> None:
    root = tree(zone("intel-rapl:0", "package-0", before_uj, range_uj))
    meter = RaplMeter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    assert [reading.value for reading in meter.read()] == [pytest.approx(before_uj * 1e-6)]
    (root / "sys/class/powercap/intel-rapl:0/energy_uj").write_text(f"{after_uj}\n")
    with pytest.raises(OSError, match="counters were reset"):
        meter.read()


def test_packages_and_memory_are_added_and_shown_twice_counts_once(tree, replay) -> None:
    states = [
        lambda second=second: tree(machine(second * 30_000_000, second * 4_000_000))
        for second in range(5)
    ]
    readings = replay(RaplMeter(tree(machine(0))), states)
    assert set(readings["channel"]) == {"package-0", "core-0", "dram-0"}
    best, packages = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )
    assert (best.rule.name, best.rule.coverage) == ("RAPL packages and memory", Coverage.CHIP)
    assert energy_of(channels_of_frame(readings), best, 0, 4 * 10**9).energy_j == pytest.approx(
        4 * 34.0
    )
    assert energy_of(
        channels_of_frame(readings), packages, 500_000_000, 1_500_000_000
    ).energy_j == pytest.approx(30.0)


def test_two_packages_and_a_platform_counter_keep_their_names_apart(tree, replay) -> None:
    zones = [
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0:0", "dram"),
        ("intel-rapl:1", "package-1"),
        ("intel-rapl:1:0", "dram"),
        ("intel-rapl:2", "psys"),
    ]
    files = {path: text for folder, name in zones for path, text in zone(folder, name, 7).items()}
    readings = replay(RaplMeter(tree(files)), [lambda: tree(files)])
    assert sorted(readings["channel"]) == ["dram-0", "dram-1", "package-0", "package-1", "psys"]
    assert (
        totals_of_channels(
            load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
        )[0].rule.coverage
        is Coverage.BOARD
    )


def test_two_dies_of_two_packages_keep_their_memory_apart_and_all_are_added(tree, replay) -> None:
    names = [f"package-{package}-die-{die}" for package in (0, 1) for die in (0, 1)]

    def state(second: int) -> dict[str, str]:
        files: dict[str, str] = {}
        for number, name in enumerate(names):
            files |= zone(f"intel-rapl:{number}", name, second * 20_000_000) | zone(
                f"intel-rapl:{number}:0", "dram", second * 3_000_000
            )
        return files

    readings = replay(
        RaplMeter(tree(state(0))),
        [lambda second=second: tree(state(second)) for second in range(6)],
    )
    assert set(readings["channel"]) == {
        *names,
        *(name.replace("package", "dram") for name in names),
    }
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[0]
    assert energy_of(channels_of_frame(readings), total, 0, 5 * 10**9).energy_j == pytest.approx(
        5 * 4 * 23.0
    )


@pytest.mark.parametrize(
    ("vendor", "channels", "watts"), [("AuthenticAMD", 1, 68.0), ("GenuineIntel", 2, 136.0)]
)
def test_the_dies_of_an_amd_package_show_one_counter_and_intels_have_one_each(
    vendor: str, channels: int, watts: float, tree, replay
) -> None:
    """An idle Threadripper 1950X showed 68 W for each of its two dies and drew 125 W at the plug
    (codecarbon's documentation, page "RAPL")."""

    def state(second: int) -> dict[str, str]:
        files = {"proc/cpuinfo": f"processor\t: 0\nvendor_id\t: {vendor}\n"}
        for number, start_uj in ((0, 10_360_237_493), (1, 10_359_908_363)):
            files |= zone(
                f"intel-rapl:{number}",
                f"package-0-die-{number}",
                start_uj + second * 68_000_000,
                65_532_610_987,
            )
            files |= zone(f"intel-rapl:{number}:0", "core", second * 3_770_000)
        return files

    readings = replay(
        RaplMeter(tree(state(0))),
        [lambda second=second: tree(state(second)) for second in range(6)],
    )
    total = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )[0]
    assert (total.rule.name, len(total.channels)) == ("RAPL packages", channels)
    assert len(set(readings["channel"])) == 2 * channels
    assert energy_of(channels_of_frame(readings), total, 0, 5 * 10**9).energy_j == pytest.approx(
        5 * watts
    )


def test_zones_that_the_kernel_names_alike_keep_apart_by_their_number(tree, replay) -> None:
    files = (
        zone("intel-rapl:0", "package-0", 7)
        | zone("intel-rapl:0:0", "dram", 7)
        | zone("intel-rapl:0:1", "dram", 9)
    )
    readings = replay(RaplMeter(tree(files)), [lambda: tree(files)])
    assert sorted(readings["channel"]) == ["dram-0:0:0", "dram-0:0:1", "package-0"]


def test_a_platform_counter_that_stands_still_gives_no_energy_and_the_packages_count(
    tree, replay
) -> None:
    def state(second: int) -> dict[str, str]:
        return zone("intel-rapl:0", "package-0", second * 30_000_000) | zone(
            "intel-rapl:1", "psys", 0
        )

    readings = replay(
        RaplMeter(tree(state(0))),
        [lambda second=second: tree(state(second)) for second in range(6)],
    )
    platform, packages = measure_totals(
        channels_of_frame(readings), load_power_rules(), (0, 5 * 10**9)
    )
    assert (platform.total.rule.name, platform.energy.energy_j) == ("RAPL platform", None)
    assert "psys: the counter stood still at 0 J" in str(platform.energy.reason)
    assert totals_that_count((platform, packages)) == (packages.total,)
    assert packages.energy.energy_j == pytest.approx(150.0)


def test_counters_that_only_root_may_read_have_a_remedy(tree) -> None:
    files = {
        name: "\n" if name.endswith("energy_uj") else text for name, text in machine(0).items()
    }
    availability = RaplMeter(tree(files)).availability()
    assert "root only" in availability.reason
    assert "chmod" in availability.remedy
