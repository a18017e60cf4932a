"""Figures of load, clocks, memory, disk, page cache and disturbances: known readings give known
figures, missing ones a reason."""

import pandas
import pytest

from suite.bundle.channels import Channels, no_channels
from suite.bundle.readings_table import channels_of_frame
from suite.metrics.machine_figures import (
    channel_statistics,
    machine_figures,
    recorded_disturbances,
    resident_ratio,
)

SECOND = 10**9
RUN = (10 * SECOND, 30 * SECOND)
COLUMNS = ["t_ns", "source", "channel", "value", "unit"]


def table(*series: tuple[str, str, str, dict[float, float]]) -> Channels:
    """Readings: source, channel, unit, and values by second."""
    rows = [
        (round(second * SECOND), source, channel, value, unit)
        for source, channel, unit, values in series
        for second, value in values.items()
    ]
    return channels_of_frame(pandas.DataFrame(rows, columns=COLUMNS))


def every_second(value, start: int = 0, stop: int = 40) -> dict[float, float]:
    """A value, or a function of the second, once a second."""
    return {
        second: float(value(second) if callable(value) else value)
        for second in range(start, stop + 1)
    }


def test_only_readings_during_the_run_count() -> None:
    readings = table(
        (
            "cpu",
            "utilisation.total",
            "%",
            every_second(lambda second: 60 if 10 <= second <= 30 else 100),
        )
    )
    figures = machine_figures(readings, RUN)
    assert (
        figures["cpu_utilisation"].value,
        figures["cpu_utilisation"].count,
        figures["cpu_utilisation_max"].value,
    ) == (60, 21, 60)
    assert figures["cpu_utilisation"].period_s == 1.0


def test_the_frequency_of_all_cores_is_one_mean_and_each_core_has_its_own_line() -> None:
    readings = table(
        ("cpu", "frequency.core0", "Hz", every_second(1e9)),
        ("cpu", "frequency.core1", "Hz", every_second(2e9)),
    )
    assert machine_figures(readings, RUN)["cpu_frequency_hz"].value == 1.5e9
    lines = {line["channel"]: line for line in channel_statistics(readings, RUN)}
    assert (
        lines["frequency.core0"]["mean"],
        lines["frequency.core1"]["maximum"],
        lines["frequency.core1"]["count"],
    ) == (1e9, 2e9, 21)


def test_gpu_figures_use_the_preferred_source() -> None:
    both = table(
        ("tegrastats", "gpu.utilisation", "%", every_second(90)),
        ("tegra", "gpu.utilisation", "%", every_second(80)),
    )
    assert machine_figures(both, RUN)["gpu_utilisation"].value == 80
    figure = machine_figures(table(("nvml", "gpu0.utilisation", "%", every_second(70))), RUN)[
        "gpu_utilisation"
    ]
    assert (figure.value, figure.method) == (70, "nvml: gpu0.utilisation")


def test_of_several_gpus_the_busiest_is_the_one_that_trained() -> None:
    """CUDA counts from the fastest, NVML by slots: a display's card may be its first. Before round
    v0.3 the figures were of that."""
    readings = table(
        ("nvml", "gpu0.utilisation", "%", every_second(1)),
        ("nvml", "gpu0.frequency", "Hz", every_second(3e8)),
        ("nvml", "gpu1.utilisation", "%", every_second(97)),
        ("nvml", "gpu1.frequency", "Hz", every_second(2e9)),
    )
    figures = machine_figures(readings, RUN)
    names = ("gpu_utilisation", "gpu_utilisation_max", "gpu_frequency_hz")
    assert [figures[name].value for name in names] == [97, 97, 2e9]
    assert figures["gpu_frequency_hz"].method == "nvml: gpu1.frequency"
    before = machine_figures(readings, RUN, is_before_v03=True)
    assert [before[name].value for name in names] == [1, 1, 3e8]


def test_the_hottest_sensor_makes_the_temperature() -> None:
    readings = table(
        ("temperature", "CPU-therm", "degC", every_second(55)),
        ("temperature", "GPU", "degC", every_second(lambda second: 40 + second)),
    )
    assert machine_figures(readings, RUN)["temperature_max_degc"].value == 70


def test_a_graphics_card_is_a_sensor_beside_those_of_the_machine() -> None:
    """Before round v0.3 it counted only where the machine has none."""
    readings = table(
        ("temperature", "coretemp Package id 0", "degC", every_second(61)),
        ("nvml", "gpu1.temperature", "degC", every_second(88)),
    )
    figure = machine_figures(readings, RUN)["temperature_max_degc"]
    assert (figure.value, figure.method) == (
        88,
        "temperature: coretemp Package id 0; nvml: gpu1.temperature",
    )
    before = machine_figures(readings, RUN, is_before_v03=True)["temperature_max_degc"]
    assert (before.value, before.method) == (61, "temperature: coretemp Package id 0")


def test_disk_rates_are_the_increase_of_the_counters_over_the_time_of_the_run() -> None:
    readings = table(
        ("disk", "read_operations", "operations", every_second(lambda second: 1000 + 50 * second)),
        ("disk", "read_bytes", "B", every_second(lambda second: 4096 * 50 * second)),
    )
    figures = machine_figures(readings, (10_500_000_000, 20_250_000_000))
    assert figures["disk_read_ops_per_s"].value == pytest.approx(50, rel=1e-9)
    assert figures["disk_read_bytes_per_s"].value == pytest.approx(4096 * 50, rel=1e-9)
    assert figures["disk_write_ops_per_s"].value is None


def test_a_run_too_short_for_the_disks_counters_has_no_rate() -> None:
    readings = table(("disk", "read_operations", "operations", every_second(lambda second: second)))
    figure = machine_figures(readings, (10 * SECOND, 13 * SECOND))["disk_read_ops_per_s"]
    assert figure.value is None
    assert "shorter than 5 reading periods" in str(figure.reason)


def test_residency_is_the_nearest_reading_and_unknown_if_that_is_too_far() -> None:
    readings = table(("page-cache", "resident", "ratio", {9.5: 0.0, 12: 0.4, 29.7: 1.0, 33: 0.9}))
    figures = machine_figures(readings, RUN)
    assert (figures["page_cache_start_ratio"].value, figures["page_cache_end_ratio"].value) == (
        0.0,
        1.0,
    )
    assert resident_ratio(readings, 20 * SECOND) is None
    assert resident_ratio(readings, 13 * SECOND, window_s=20) == 0.4
    # it is in the middle of such an epoch, not at its end
    assert resident_ratio(readings, 13 * SECOND, window_s=8) is None


def test_a_throttled_run_has_events_with_times() -> None:
    flag = every_second(lambda second: 14 <= second < 17)
    counter = every_second(lambda second: 3 if second < 20 else 5)
    readings = table(
        ("throttling", "throttled", "active", flag),
        ("throttling", "over_current.oc1", "events", counter),
    )
    assert machine_figures(readings, RUN)["throttled_events"].value == 3
    assert recorded_disturbances(readings, RUN, False)["throttling"] == [
        {"channel": "throttled", "start_s": 4.0, "held_s": 3.0, "count": 1},
        {"channel": "over_current.oc1", "start_s": 10.0, "held_s": None, "count": 2},
    ]


def test_throttling_is_0_only_where_a_throttling_channel_was_read() -> None:
    assert (
        machine_figures(table(("throttling", "throttled", "active", every_second(0))), RUN)[
            "throttled_events"
        ].value
        == 0
    )
    figure = machine_figures(table(("cpu", "utilisation.total", "%", every_second(0))), RUN)[
        "throttled_events"
    ]
    assert (figure.value, figure.reason) == (None, "no source on this machine reports throttling")


@pytest.mark.parametrize("read_until", [9, 15], ids=["before the run only", "in a part of it"])
def test_what_was_not_read_during_the_whole_run_is_not_0(read_until: int) -> None:
    read = every_second(0, stop=read_until)
    readings = table(
        ("throttling", "throttled", "active", read), ("wall-clock", "drift", "s", read)
    )
    figures = machine_figures(readings, RUN)
    for name, what in (("throttled_events", "throttling"), ("clock_steps", "the wall clock")):
        assert figures[name].value is None and str(figures[name].reason).startswith(what)


def test_a_wall_clock_that_was_set_is_counted_with_its_moment_and_size() -> None:
    readings = table(
        ("wall-clock", "drift", "s", every_second(lambda second: 3600 if second >= 25 else 0))
    )
    assert machine_figures(readings, RUN)["clock_steps"].value == 1
    assert recorded_disturbances(readings, RUN, False)["clock_steps"] == [
        {"at_s": 15.0, "step_s": 3600.0}
    ]


def test_counters_have_no_mean() -> None:
    readings = table(
        ("disk", "read_bytes", "B", every_second(1)),
        ("rapl", "package-0", "J", every_second(1)),
        ("counters", "cycles.enabled", "s", every_second(1)),
    )
    assert channel_statistics(readings, RUN) == []


@pytest.mark.parametrize("window", [RUN, None])
def test_without_readings_every_figure_is_unknown_with_a_reason(window) -> None:
    for name, figure in machine_figures(no_channels(), window).items():
        assert figure.value is None, name
        assert figure.reason, name


def test_peak_memory_of_one_process_is_its_own_peak_and_of_several_their_proportional_sets() -> (
    None
):
    size = ("memory", "process_tree_size", "processes", every_second(1))
    peak, rss = (
        ("memory", name, "B", every_second(value))
        for name, value in (("largest_process_peak_rss", 700), ("process_tree_rss", 650))
    )
    alone = machine_figures(table(size, peak, rss), RUN)
    assert (alone["peak_memory_bytes"].value, alone["resident_sum_max_bytes"].value) == (700, 650)
    several = ("memory", "process_tree_size", "processes", every_second(3))
    pss = ("memory", "process_tree_pss", "B", every_second(lambda second: 800 + second, 10, 30))
    assert machine_figures(table(several, peak, rss, pss), RUN)["peak_memory_bytes"].value == 830
    before_steps = ("memory", "process_tree_pss", "B", {10: 300.0})
    least, old = (
        machine_figures(table(several, peak, rss, before_steps), RUN, is_before_v03=is_old)
        for is_old in (False, True)
    )
    assert least["peak_memory_bytes"].value == 700, "as much as one of them"
    assert old["peak_memory_bytes"].value == 300, "as it was recorded before round v0.3"
    unread = machine_figures(table(several, peak, rss), RUN)["peak_memory_bytes"]
    assert unread.value is None and "smaps_rollup" in str(unread.reason)
    early = ("memory", "process_tree_pss", "B", {5: 300.0})
    missed = machine_figures(table(several, peak, rss, early), RUN)["peak_memory_bytes"]
    assert missed.value is None and str(missed.reason).endswith("are read rarely")
    between_readings = machine_figures(table(), RUN)["peak_memory_bytes"]
    assert between_readings.value is None and "shorter than the meter's period" in str(
        between_readings.reason
    )


def test_a_gpus_memory_is_a_figure_where_the_driver_was_asked() -> None:
    readings = table(
        ("nvml", "gpu0.memory_used", "B", every_second(lambda second: second)),
        ("nvml", "gpu1.memory_used", "B", every_second(7)),
    )
    assert machine_figures(readings, RUN)["gpu_memory_max_bytes"].value == 30, "until run_stop"
    assert "gpu_memory_max_bytes" not in machine_figures(no_channels(), RUN)
