"""``counters.json``: every phase, and the figures of the training region; unsupported is unknown
with a reason, never 0."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas
import pytest

from suite.bundle import frames
from suite.bundle.layout import COUNTERS, MANIFEST, READINGS
from suite.bundle.reader import Bundle
from suite.bundle.readings_table import channels_of_frame
from suite.files.json_file import read_json
from suite.metrics.event_counts import count_phases, counter_figures, derive_counters, phase_windows
from suite.metrics.summary import derive_summary
from tests.builders import START_NS, Scenario, make_bundle

SECOND = 10**9
RATES = {
    "instructions": 3e9,
    "cycles": 2e9,
    "l1d_access": 1e9,
    "l1d_refill": 5e7,
    "branches": 4e8,
    "branch_mispredicts": 8e6,
}


def counted(
    start_ns: int, seconds: int, running: float = 1.0, software: bool = True
) -> pandas.DataFrame:
    """Counters of constant rate, read twice a second; hardware events run part of the time."""
    rows = []
    for half in range(2 * seconds + 1):
        t_ns, elapsed_s = start_ns + half * SECOND // 2, half / 2
        for name, rate in RATES.items():
            rows.append((t_ns, "counters", f"{name}.count", rate * elapsed_s * running, "events"))
            rows.append((t_ns, "counters", f"{name}.enabled", elapsed_s, "s"))
            rows.append((t_ns, "counters", f"{name}.running", elapsed_s * running, "s"))
        if software:
            rows.append((t_ns, "counters", "task_clock.count", 1.5e9 * elapsed_s, "ns"))
            rows.append((t_ns, "counters", "page_faults.count", 100 * elapsed_s, "events"))
    return pandas.DataFrame(rows, columns=list(frames.READING_TYPES)).astype(frames.READING_TYPES)


def test_ratios_of_the_training_region() -> None:
    run = count_phases(channels_of_frame(counted(0, 30)), {"run": (5 * SECOND, 25 * SECOND)})["run"]
    figures = counter_figures(run)
    expected = {
        "ipc": 1.5,
        "l1d_miss_ratio": 0.05,
        "branch_mispredict_ratio": 0.02,
        "counter_running_ratio": 1.0,
    }
    assert {name: figures[name].value for name in expected} == pytest.approx(expected, rel=1e-9)
    assert figures["instructions"].value == pytest.approx(6e10, rel=1e-9)
    assert figures["cpu_time_s"].value == pytest.approx(30.0, rel=1e-9)
    assert (
        figures["ipc"].method
        == "every thread and process of the implementation on this machine, kernel and user mode"
    )


def test_multiplexed_events_are_scaled_and_the_figure_has_their_coverage() -> None:
    run = count_phases(
        channels_of_frame(counted(0, 30, running=0.25)), {"run": (5 * SECOND, 25 * SECOND)}
    )["run"]
    figures = counter_figures(run)
    assert figures["instructions"].value == pytest.approx(6e10, rel=1e-9)
    assert (figures["instructions"].coverage, figures["counter_running_ratio"].value) == (
        pytest.approx(0.25),
        pytest.approx(0.25),
    )


def test_an_event_that_ran_longer_than_it_was_enabled_is_not_scaled_down() -> None:
    """The times are then no fraction: what was counted stands."""
    run = count_phases(
        channels_of_frame(counted(0, 30, running=1.2)), {"run": (5 * SECOND, 25 * SECOND)}
    )["run"]
    figures = counter_figures(run)
    assert figures["counter_running_ratio"].value == 1.0
    assert figures["instructions"].value == pytest.approx(7.2e10, rel=1e-9)


@dataclass(frozen=True)
class Recording:
    """What perf printed: scaled counts with the share of the time in which each was counted (%),
    and ratios of all cores."""

    origin: str
    counts: dict[str, tuple[float, float]]
    ratios: dict[str, float]


RECORDINGS = (
    Recording(
        "Raspberry Pi 5 4 GB, stress-ng --perf; github.com/raspberrypi/firmware/issues/1854",
        {"cycles": (81_220_668_668, 100), "instructions": (4_757_399_712, 100)},
        {"instructions_per_cycle": 0.059},
    ),
    Recording(
        "perf stat -d gzip, Linux 4.15 on x86; B. Gregg, Systems Performance, 2nd edition, 13.1",
        {
            "cycles": (14_863_135_172, 62.35),
            "instructions": (18_320_918_801, 74.90),
            "branches": (3_876_390_410, 74.90),
            "branch_mispredicts": (135_062_519, 74.97),
            "l1d_loads": (3_725_936_639, 75.09),
            "l1d_load_misses": (657_864_906, 75.16),
        },
        {
            "instructions_per_cycle": 1.23,
            "branch_mispredict_ratio": 0.0348,
            "l1d_load_miss_ratio": 0.1766,
        },
    ),
    Recording(  # one thread, almost always on cpu_core: the kinds share its time
        "perf stat, Alder Lake (cpu_atom is the core of Intel's N100); github.com/KargJonas/"
        "tiled-matmul, main.profile",
        {
            "cycles@cpu_atom": (3_642_649_330, 0.68),
            "cycles@cpu_core": (4_963_414_681, 78.79),
            "instructions@cpu_atom": (4_778_497_246, 0.85),
            "instructions@cpu_core": (11_012_810_078, 88.71),
        },
        {"instructions_per_cycle": 2.21},
    ),
    Recording(  # many threads: shares of more than 100 %, so each kind has a time of its own
        "the same, main.parallel6.profile",
        {
            "cycles@cpu_atom": (4_595_014_128, 51.32),
            "cycles@cpu_core": (3_410_196_830, 63.82),
            "instructions@cpu_atom": (7_731_553_172, 59.96),
            "instructions@cpu_core": (5_721_560_261, 72.05),
            "branches@cpu_atom": (300_735_333, 60.23),
            "branches@cpu_core": (260_513_209, 72.52),
            "branch_mispredicts@cpu_atom": (694_081, 60.03),
            "branch_mispredicts@cpu_core": (555_347, 72.36),
        },
        {"instructions_per_cycle": 1.68, "branch_mispredict_ratio": 0.0022},
    ),
)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.origin[:40])
def test_ratios_are_those_that_perf_printed_on_real_machines(recording: Recording) -> None:
    rows = []
    for second in range(21):
        for name, (count, percent) in recording.counts.items():
            t_ns, share = second * SECOND, percent / 100
            rows.append((t_ns, "counters", f"{name}.count", count * share * second / 20, "events"))
            rows.append((t_ns, "counters", f"{name}.enabled", second, "s"))
            rows.append((t_ns, "counters", f"{name}.running", second * share, "s"))
    readings = pandas.DataFrame(rows, columns=list(frames.READING_TYPES))
    channels = channels_of_frame(readings.astype(frames.READING_TYPES))
    run = count_phases(channels, {"run": (0, 20 * SECOND)})["run"]
    for name, ratio in recording.ratios.items():
        assert run.ratios[name] == pytest.approx(ratio, rel=0.012)
    if "cycles" in recording.counts:
        assert run.events["cycles"].count == pytest.approx(recording.counts["cycles"][0])


def test_an_unsupported_event_is_unknown_not_0() -> None:
    software_only = counted(0, 30)[
        lambda rows: rows["channel"].isin(["task_clock.count", "page_faults.count"])
    ]
    figures = counter_figures(
        count_phases(channels_of_frame(software_only), {"run": (5 * SECOND, 25 * SECOND)})["run"]
    )
    assert figures["page_faults"].value == pytest.approx(2000)
    for name in (
        "instructions",
        "cycles",
        "ipc",
        "l1d_miss_ratio",
        "branch_mispredict_ratio",
        "counter_running_ratio",
        "context_switches",
    ):
        assert figures[name].value is None
        assert "counted on this machine" in str(figures[name].reason)


def test_an_unfinished_run_has_no_training_region() -> None:
    assert {figure.reason for figure in counter_figures(None).values()} == {
        "the run was not finished"
    }


def test_a_bundle_has_init_run_and_every_epoch(good_bundle: Path) -> None:
    bundle = Bundle(good_bundle)
    found = phase_windows(bundle.log(), bundle.steps())
    assert list(found) == [
        "init",
        "run",
        *(f"{kind} {number}" for kind in ("epoch", "evaluation") for number in (1, 2, 3)),
    ]
    assert (
        found["epoch 1"][1]
        <= found["evaluation 1"][0]
        < found["evaluation 1"][1]
        <= found["epoch 2"][0]
    )
    assert (
        found["init"][1]
        <= found["run"][0]
        <= found["epoch 1"][0]
        < found["epoch 1"][1]
        <= found["epoch 2"][0]
        < found["run"][1]
    )


def test_a_bundles_counters_and_summary_agree_and_follow_from_its_readings(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "bundle", Scenario(step_s=0.0125))
    (path / READINGS).unlink()
    frames.write_table(counted(START_NS - SECOND, 90, running=0.5), path / READINGS)
    written, figures = derive_counters(Bundle(path)), derive_summary(Bundle(path)).figures
    for phase in ("run", "epoch 1", "epoch 2", "epoch 3"):
        assert written["phases"][phase]["ratios"]["instructions_per_cycle"] == pytest.approx(1.5)
        assert written["phases"][phase]["events"]["cycles"]["running_ratio"] == pytest.approx(0.5)
    assert (
        figures["instructions"].value == written["phases"]["run"]["events"]["instructions"]["count"]
    )
    assert (
        written["phases"]["init"]["events"]["cycles"]["reason"]
        == "the window is shorter than 10 reading periods of 0.5 s"
    )


def test_the_file_of_a_finished_run_is_part_of_the_sealed_bundle(good_bundle: Path) -> None:
    assert read_json(good_bundle / COUNTERS) == json.loads(
        json.dumps(derive_counters(Bundle(good_bundle)))
    )
    assert COUNTERS in (good_bundle / MANIFEST).read_text()
