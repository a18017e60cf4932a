"""Readings at the limits of the rules, in a run of 100 s on four cores that are half busy."""

from typing import Any

import numpy as np
import pytest

from suite.bundle.channels import Channel
from suite.catalog.power import load_power_rules
from suite.compliance.rule import BundleContext
from tests.checks_alone import channel, channels, found, log, node, steps, varied

TIMES_S = np.arange(100.0, 201.0)
GHZ = 1e9
RSS, PEAK, SIZE = (
    f"memory {name}"
    for name in ("process_tree_rss", "largest_process_peak_rss", "process_tree_size")
)


def flat(name: str, value: float, unit: str = "%") -> Channel:
    """A reading of this value in every second."""
    return channel(name, unit, TIMES_S, np.full(101, value))


def count(name: str, per_s: float, unit: str = "s") -> Channel:
    """A counter that rises by as much every second."""
    return channel(name, unit, TIMES_S, 7 + per_s * (TIMES_S - 100))


def few(name: str, *values: float, unit: str = "B", first_s: float = 110) -> Channel:
    """Readings ten seconds apart."""
    return channel(name, unit, first_s + 10 * np.arange(len(values)), values)


def events(name: str, per_s: float) -> Channel:
    """A count of the processor."""
    return count(f"counters {name}.count", per_s, "events")


def meter(name: str, **stated: Any) -> dict[str, Any]:
    """A meter's record."""
    return {"name": name, "available": True, "failures": 0, **stated}


CORES = [flat(f"cpu utilisation.core{core}", 50) for core in range(4)]
HALF = [*CORES, flat("cpu utilisation.total", 50)]
FULL = [*CORES, flat("cpu utilisation.total", 100)]


def used(per_s: float) -> Channel:
    """The implementation's CPU time."""
    return count("cpu process_tree", per_s)


def load(busy: float, own: float, steal: float = 0) -> list[Channel]:
    """By the meter of the load."""
    return [
        count(f"load {name}", per_s)
        for name, per_s in (("busy", busy), ("own", own), ("steal", steal))
    ]


def electric(source: str, volts: float, amperes: float, watts: float) -> list[Channel]:
    """What a power meter reads."""
    units = {"voltage": (volts, "V"), "current": (amperes, "A"), "power": (watts, "W")}
    return [flat(f"{source} {name}", *read) for name, read in units.items()]


COSTS = [meter("cpu", cost_s=10), meter("disk", cost_s=20), meter("recorder", cost_s=900)]
ONE_S = {"period_s": 1.0, "achieved_period_s": 1.0}
GAP = channel("disk busy", "s", [*range(100, 150), *range(160, 201)], np.arange(91.0))
STEADY_W = np.where(np.arange(101) % 40 == 0, 4.0, np.where(np.arange(101) % 8 == 0, 5.0, 6.0))
CLIPPED_W = np.minimum(6.0 + 0.1 * np.sin(np.arange(101.0) ** 2), 6.05)
PEAKS = [few(PEAK, 6e6, 100e6), few(SIZE, 1, 2)]
CASES: dict[str, tuple[str, list[Channel], list[dict[str, Any]], int]] = {
    "more CPU time than was busy, by a tenth and a tenth of a core": (
        "cpu-time-possible",
        [*HALF, used(2.29)],
        [],
        0,
    ),
    "a whisker more": ("cpu-time-possible", [*HALF, used(2.31)], [], 1),
    "more than all cores have": ("cpu-time-possible", [*HALF, used(4.51)], [], 2),
    "a task clock that differs by a tenth of 2 s and a tenth": (
        "cpu-time-agrees",
        [used(2), events("task_clock", 2.29e9)],
        [],
        0,
    ),
    "by more": ("cpu-time-agrees", [used(2), events("task_clock", 2.31e9)], [], 1),
    "by less than nothing": ("cpu-time-agrees", [used(2), events("task_clock:u", 1.69e9)], [], 1),
    "a total 5 % above the mean of the cores": (
        "cpu-total",
        [*CORES, flat("cpu utilisation.total", 55)],
        [],
        0,
    ),
    "more below": ("cpu-total", [*CORES, flat("cpu utilisation.total", 44.9)], [], 1),
    "the suite had all that was busy, and 0.3": ("load-possible", [*HALF, *load(2, 2.29)], [], 0),
    "and more": ("load-possible", [*HALF, *load(2, 2.31)], [], 1),
    "less than the implementation alone": (
        "load-possible",
        [*HALF, used(2.31), *load(2, 2)],
        [],
        1,
    ),
    "busy and stolen time make the utilisation, but for 0.4": (
        "load-possible",
        [*HALF, *load(1.2, 1, 0.41)],
        [],
        0,
    ),
    "but for more": ("load-possible", [*HALF, *load(1.2, 1, 0.39)], [], 1),
    "the suite had the implementation's, a tenth, 0.1 and its meters'": (
        "own-load",
        [used(1), *load(2, 1.49)],
        COSTS,
        0,
    ),
    "and more of it": ("own-load", [used(1), *load(2, 1.51)], COSTS, 1),
    "two threads, no worker and half a core": ("cpu-time-threads", [used(2.74)], [], 0),
    "more threads than that": ("cpu-time-threads", [used(2.76)], [], 1),
    "two processes in the median": ("processes-requested", [few(SIZE, 2, 2, 9)], [], 0),
    "three": ("processes-requested", [few(SIZE, 3, 3, 1)], [], 1),
    "half a busy core, a quarter of its own": (
        "cpu-busy",
        [*CORES, flat("cpu utilisation.total", 12.6), used(0.26)],
        [],
        0,
    ),
    "less of both": ("cpu-busy", [*CORES, flat("cpu utilisation.total", 12.4), used(0.24)], [], 2),
    "less while the machine swapped": (
        "cpu-busy",
        [
            *CORES,
            flat("cpu utilisation.total", 12.4),
            used(0.24),
            few("memory swap_used", 0, 2**27),
        ],
        [],
        0,
    ),
    "less of its own among others on all cores": (
        "cpu-busy",
        [*CORES, flat("cpu utilisation.total", 100), used(0.24), *load(3.7, 0.3)],
        [],
        0,
    ),
    "though others had cores left": (
        "cpu-busy",
        [*CORES, flat("cpu utilisation.total", 90), used(0.24), *load(3.5, 0.3)],
        [],
        1,
    ),
    "1.1 cycles a tick of four cores at 1 GHz": (
        "counts-possible",
        [*CORES, flat("cpu frequency.core0", GHZ, "Hz"), events("cycles", 4.39e9)],
        [],
        0,
    ),
    "more cycles": (
        "counts-possible",
        [*CORES, flat("cpu frequency.core0", GHZ, "Hz"), events("cycles", 4.41e9)],
        [],
        1,
    ),
    "twelve instructions a cycle": (
        "counts-possible",
        [events("cycles", 1e6), events("instructions", 12e6)],
        [],
        0,
    ),
    "more instructions": (
        "counts-possible",
        [events("cycles", 1e6), events("instructions", 12.1e6)],
        [],
        1,
    ),
    "a tenth more branches than instructions": (
        "counts-possible",
        [events("instructions", 100), events("branches", 109)],
        [],
        0,
    ),
    "misses beyond accesses": (
        "counts-possible",
        [events("l1d_access", 100), events("l1d_refill", 111)],
        [],
        1,
    ),
    "no switch in five seconds": (
        "switches-fit",
        [events("context_switches", 0), events("task_clock", 0.05e9)],
        [],
        0,
    ),
    "1.1 migrations a switch and twenty": (
        "switches-fit",
        [events("context_switches", 1), events("cpu_migrations", 1.29)],
        [],
        0,
    ),
    "more migrations": (
        "switches-fit",
        [events("context_switches", 1), events("cpu_migrations", 1.31)],
        [],
        1,
    ),
    "1.05 of the peak in each of two processes": (
        "memory-fits",
        [few(RSS, 5e6, 209e6), *PEAKS],
        [],
        0,
    ),
    "more of it": ("memory-fits", [few(RSS, 5e6, 211e6), *PEAKS], [], 1),
    "4 MiB at its largest": ("memory-fits", [few(RSS, 1, 2**22)], [], 0),
    "less memory": ("memory-fits", [few(RSS, 1, 2**22 - 1)], [], 1),
    "a sum of memory that changes by a hundredth": (
        "memory-adds-up",
        [few("memory used", 50, 60), few("memory available", 49.1, 40)],
        [],
        0,
    ),
    "by more than that": (
        "memory-adds-up",
        [few("memory used", 50, 60), few("memory available", 48.9, 40)],
        [],
        1,
    ),
    "a disk busy for 1.05 times ten seconds and one": (
        "disk-fits",
        [few("disk busy", 9, 20.4, unit="s")],
        [],
        0,
    ),
    "busier": ("disk-fits", [few("disk busy", 9, 20.6, unit="s")], [], 1),
    "256 MiB in no busy time, read and written": (
        "disk-fits",
        [
            few("disk busy", 9, 9),
            few("disk read_bytes", 9, 9 + 2**27),
            few("disk write_bytes", 9, 9 + 2**27),
        ],
        [],
        0,
    ),
    "a byte more": (
        "disk-fits",
        [
            few("disk busy", 9, 9),
            few("disk read_bytes", 9, 9 + 2**27),
            few("disk write_bytes", 9, 10 + 2**27),
        ],
        [],
        1,
    ),
    "a counter of 32 bits that begins again": (
        "counters-never-fall",
        [few("network eth0.sent", 2**31 + 2**20, 2**20)],
        [],
        0,
    ),
    "a fall of less than half its range": (
        "counters-never-fall",
        [few("network eth0.sent", 2**31 + 2**20 - 1, 2**20)],
        [],
        1,
    ),
    "one of more bits": ("counters-never-fall", [few("network eth0.sent", 2**32, 2**20)], [], 1),
    "a peak that falls by a twentieth": (
        "peak-memory-rises",
        [few(PEAK, 100, 95), few(SIZE, 1)],
        [],
        0,
    ),
    "by more of it": ("peak-memory-rises", [few(PEAK, 100, 94.9), few(SIZE, 1)], [], 1),
    "of several processes": ("peak-memory-rises", [few(PEAK, 100, 9), few(SIZE, 1, 2)], [], 0),
    "-60 to 150 degrees": ("silicon-possible", [few("thermal soc", -60, 150, unit="degC")], [], 0),
    "colder": ("silicon-possible", [few("thermal soc", -60.1, 150, unit="degC")], [], 1),
    "hotter": ("silicon-possible", [few("thermal soc", -60, 150.1, unit="degC")], [], 1),
    "a table that ends two seconds late": (
        "meter-clock",
        [few("meter-csv power", 1, 1, first_s=192), HALF[0]],
        [],
        0,
    ),
    "later": ("meter-clock", [few("meter-csv power", 1, 1, first_s=192.1), HALF[0]], [], 1),
    "the last reading five seconds after the log, the first at its start": (
        "readings-end",
        [few("cpu a", 1), few("cpu b", 1, first_s=204.9)],
        [],
        0,
    ),
    "even later": (
        "readings-end",
        [few("cpu a", 1, first_s=90), few("cpu b", 1, first_s=215.1)],
        [],
        1,
    ),
    "ten periods of silence": ("readings-gaps", [GAP], [meter("disk", period_s=1.1)], 0),
    "more silence": ("readings-gaps", [GAP], [meter("disk", period_s=1.0)], 1),
    "a period that differs by a twenty-fifth": (
        "meter-periods",
        [HALF[0]],
        [meter("cpu", achieved_period_s=1.04)],
        0,
    ),
    "a longer one": ("meter-periods", [HALF[0]], [meter("cpu", achieved_period_s=1.05)], 1),
    "an unknown one": ("meter-periods", [HALF[0]], [meter("cpu")], 1),
    "a gap of 1.5 times what is stated, and 50 ms": (
        "meter-gaps",
        [GAP, HALF[0]],
        [meter("disk", longest_gap_s=7.31, period_s=1)],
        0,
    ),
    "a longer gap": (
        "meter-gaps",
        [GAP, HALF[0]],
        [meter("disk", longest_gap_s=7.29, period_s=1)],
        1,
    ),
    "a gap of every meter": (
        "meter-gaps",
        [GAP, few("cpu a", 1, 1)],
        [meter("disk", longest_gap_s=2, period_s=1)],
        0,
    ),
    "of a meter that failed": (
        "meter-gaps",
        [GAP, HALF[0]],
        [meter("disk", longest_gap_s=2, period_s=1, failures=1)],
        0,
    ),
    "readings from ten seconds after the start": (
        "meter-gaps",
        [few("disk busy", *range(10))],
        [meter("disk", longest_gap_s=10, period_s=1)],
        0,
    ),
    "from later on": (
        "meter-gaps",
        [few("disk busy", *range(9), first_s=116)],
        [meter("disk", longest_gap_s=10, period_s=1)],
        1,
    ),
    "one of two channels from later on": (
        "meter-gaps",
        [few("disk busy", *range(10)), few("disk read", *range(9), first_s=116)],
        [meter("disk", longest_gap_s=10, period_s=1)],
        0,
    ),
    "116 calls in the time of 101, failures included": (
        "meter-failures",
        [HALF[0]],
        [meter("cpu", **ONE_S, failures=14)],
        0,
    ),
    "117": ("meter-failures", [HALF[0]], [meter("cpu", **ONE_S, failures=15)], 1),
    "more readings than calls, which another rule finds": (
        "meter-failures",
        [HALF[0]],
        [meter("cpu", period_s=2, failures=1)],
        0,
    ),
    "0.1 W of direct current beside 5 % and 2 mA": (
        "power-as-current",
        electric("um25c", 5, 1, 5.25),
        [],
        0,
    ),
    "too much": ("power-as-current", electric("um25c", 5, 1, 5.27), [], 1),
    "too little": ("power-as-current", electric("um25c", 5, 1, 4.73), [], 1),
    "as little of mains": ("power-as-current", electric("shelly", 230, 1, 99), [], 0),
    "an energy counter within a twentieth, a late second and 3.6 J": (
        "power-as-energy",
        [count("um25c energy", 5, "J"), flat("um25c power", 5.34, "W")],
        [],
        0,
    ),
    "beyond them": (
        "power-as-energy",
        [count("um25c energy", 5, "J"), flat("um25c power", 5.36, "W")],
        [],
        1,
    ),
    "0.1 W": ("power-possible", [flat("um25c power", 0.1001, "W")], [], 0),
    "less power": ("power-possible", [flat("um25c power", 0.0999, "W")], [], 1),
    "whole watts of a plug under a steady load": (
        "power-unclipped",
        [channel("tasmota power", "W", TIMES_S, STEADY_W)],
        [],
        0,
    ),
    "of a meter that resolves a milliwatt": (
        "power-unclipped",
        [channel("um25c power", "W", TIMES_S, STEADY_W)],
        [],
        1,
    ),
    "a rail in steps of 0.4 W": (
        "power-unclipped",
        [
            channel("ina3221 VDD_CPU_CV", "W", TIMES_S, STEADY_W / 5),
            flat("ina3221 VDD_GPU_SOC", 8, "W"),
            flat("ina3221 VIN_SYS_5V0", 3, "W"),
        ],
        [],
        0,
    ),
    "whole watts in a table": (
        "power-unclipped",
        [channel("meter-csv board.analyser", "W", TIMES_S, STEADY_W)],
        [],
        0,
    ),
    "an analyser whose range ends below the load": (
        "power-unclipped",
        [channel("meter-csv board.analyser", "W", TIMES_S, CLIPPED_W)],
        [],
        1,
    ),
    "both processors take what one of them takes": (
        "whole-above-part",
        [flat("meter-csv chips.analyser", 6, "W"), flat("nvml gpu0.power", 6, "W")],
        [],
        0,
    ),
    "less than one of them": (
        "whole-above-part",
        [flat("meter-csv chips.analyser", 6, "W"), flat("nvml gpu0.power", 7, "W")],
        [],
        1,
    ),
    "more than their module": (
        "whole-above-part",
        [flat("meter-csv chips.analyser", 6, "W"), flat("attached module.analyser", 5, "W")],
        [],
        1,
    ),
}
"""Readings and meters' records, by the check that judges them, with the number of findings."""


@pytest.mark.parametrize(("check", "given", "meters", "expected"), [*CASES.values()], ids=CASES)
def test_readings(
    check: str,
    given: list[Channel],
    meters: list[dict[str, Any]],
    expected: int,
    context: BundleContext,
) -> None:
    assert len(found(check, read(context, given, meters))) == expected


def read(
    context: BundleContext, given: list[Channel], meters: list[dict[str, Any]], **run: Any
) -> BundleContext:
    """Of two threads, and no workers, one of which computes all the time."""
    table = channels(*given)
    return varied(
        context,
        run=run,
        log=log(("run_start", 100, 0), ("run_stop", 200, 0)),
        steps=steps(1, compute_s=[50, 50]),
        nodes=(node(table, meters=meters, on_own_clock=table),),
        power_rules=load_power_rules(),
    )


QUARTER = [*CORES, flat("cpu utilisation.total", 8), used(0.24)]


@pytest.mark.parametrize(
    ("check", "settings", "given", "expected"),
    [
        ("own-load", {"neighbours": "1"}, [used(1), *load(2, 1.95)], 0),
        ("own-load", {"neighbours": "0"}, [used(1), *load(2, 1.95)], 1),
        ("cpu-busy", {"neighbours": "8"}, [*FULL, used(0.2), *load(3.9, 3.8)], 0),
        ("cpu-busy", {}, [*FULL, used(0.2), *load(3.9, 3.8)], 1),
        ("cpu-busy", {"cpu_quota": "0.25"}, QUARTER, 0),
        ("cpu-busy", {}, QUARTER, 2),
    ],
)
def test_what_a_study_does_to_a_run_is_no_fault_of_its_readings(
    check: str,
    settings: dict[str, str],
    given: list[Channel],
    expected: int,
    context: BundleContext,
) -> None:
    """It trains neighbours beside it, whose time is the suite's, or throttles it."""
    study = {"title": "", "settings": settings, "warm_up_steps": 0}
    assert len(found(check, read(context, given, [], study=study))) == expected


@pytest.mark.parametrize(("collective", "expected"), [("native", 0), ("mpi", 2)])
def test_a_rank_that_waits_in_the_frameworks_own_exchange_needs_no_core(
    collective: str, expected: int, context: BundleContext
) -> None:
    """Its compute times contain the waiting for other nodes."""
    parallel = {"parallel": {"ranks": 2, "nodes": 2, "collective": collective}}
    waiting = [*CORES, flat("cpu utilisation.total", 4), used(0.1)]
    among = read(varied(context, request=parallel), waiting, [])
    assert len(found("cpu-busy", among)) == expected


@pytest.mark.parametrize(
    ("processes", "resident_bytes", "proportional_bytes", "count"),
    [(1, 4.4e9, 2.2e9, 1), (5, 6.8e9, 2.2e9, 0), (5, 6.8e9, 4.4e9, 1)],
)
def test_memory_that_processes_share_is_in_use_once(
    processes: int,
    resident_bytes: float,
    proportional_bytes: float,
    count: int,
    context: BundleContext,
) -> None:
    given = channels(
        few(SIZE, processes),
        few(RSS, resident_bytes),
        few("memory process_tree_pss", proportional_bytes),
    )
    made = varied(context, nodes=(node(given, system={"memory_size_bytes": 4 * 2**30}),))
    assert len(found("readings-fit-machine", made)) == count
