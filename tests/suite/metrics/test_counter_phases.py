import pandas
import pytest

from suite.bundle.channels import Channels
from suite.bundle.readings_table import channels_of_frame
from suite.metrics.event_counts import count_phases

SECOND = 10**9


def table(channels: dict[str, float], seconds: int = 20, unit: str = "events") -> Channels:
    """Readings once a second of counters that increase at constant rates per second."""
    rows = [
        (second * SECOND, "counters", name, rate * second, unit)
        for second in range(seconds + 1)
        for name, rate in channels.items()
    ]
    return channels_of_frame(
        pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    )


HARDWARE = {
    "cycles.count": 1000,
    "cycles.enabled": 2,
    "cycles.running": 2,
    "instructions.count": 400,  # counted a quarter of the time
    "instructions.enabled": 2,
    "instructions.running": 0.5,
    "l1d_access.count": 500,
    "l1d_access.enabled": 2,
    "l1d_access.running": 2,
    "page_faults:u.count": 7,
}


def test_a_phases_count_is_interpolated_at_its_ends() -> None:
    phases = count_phases(
        table(HARDWARE), {"run": (0, 20 * SECOND), "epoch 1": (1_500_000_000, 14_000_000_000)}
    )
    assert phases["run"].events["cycles"].count == pytest.approx(20_000)
    assert phases["epoch 1"].events["cycles"].count == pytest.approx(12_500)


def test_user_mode_only_is_marked() -> None:
    run = count_phases(table(HARDWARE), {"run": (0, 10 * SECOND)})["run"]
    assert run.events["page_faults"].count == pytest.approx(70)
    assert run.events["page_faults"].includes_kernel is False
    assert run.events["cycles"].includes_kernel is True


def test_a_phase_too_short_for_the_readings_is_none() -> None:
    event = count_phases(table(HARDWARE), {"epoch 1": (5 * SECOND + SECOND // 2, 14 * SECOND)})[
        "epoch 1"
    ].events["cycles"]
    assert (event.count, event.reason) == (
        None,
        "the window is shorter than 10 reading periods of 1 s",
    )


def test_a_counter_that_stopped_during_the_phase_is_none() -> None:
    run = count_phases(table(HARDWARE, seconds=5), {"run": (0, 20 * SECOND)})["run"]
    assert run.events["cycles"].count is None
    assert "before the end" in (run.events["cycles"].reason or "")


def test_an_event_that_never_ran_is_none_not_zero() -> None:
    starved = {"cycles.count": 0, "cycles.enabled": 2, "cycles.running": 0}
    event = count_phases(table(starved), {"run": (0, 10 * SECOND)})["run"].events["cycles"]
    assert (event.count, event.reason) == (None, "the processor never counted it in this phase")


def test_a_short_phase_that_was_read_at_its_edges_has_a_count() -> None:
    window = (5 * SECOND + SECOND // 20, 14 * SECOND)
    (phase,) = count_phases(table(HARDWARE), {"epoch 1": window}).values()
    assert phase.events["cycles"].count == pytest.approx(8950)
    assert (phase.start_distance_s, phase.stop_distance_s) == (pytest.approx(-0.05), 0.0)
    assert phase.events["cycles"].uncertainty == pytest.approx(50.0)  # 0.05 s at 1000 a second
    (of_schema_1,) = count_phases(table(HARDWARE), {"epoch 1": window}, at_edges=False).values()
    assert of_schema_1.events["cycles"].count is None


def test_a_burst_right_before_an_edge_is_within_the_uncertainty() -> None:
    """Between two readings the counter stands still, then jumps: the interpolated count is off by
    less than the stated uncertainty."""
    moments = [0.0, 1.0, 2.0, 2.001, 3.0, 12.0, 12.002, 13.0]
    counts = [0.0, 100.0, 100.0, 5100.0, 6000.0, 50000.0, 50400.0, 51000.0]
    rows = [
        (round(moment * SECOND), "counters", "cycles.count", count, "events")
        for moment, count in zip(moments, counts, strict=True)
    ]
    channels = channels_of_frame(
        pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    )
    event = count_phases(channels, {"epoch 1": (2_000_500_000, 12_001_000_000)})["epoch 1"].events[
        "cycles"
    ]
    truth = 50200.0 - 100.0
    assert event.count is not None and event.uncertainty is not None
    assert abs(event.count - truth) <= event.uncertainty


TWO_KINDS = {
    "cycles@big.count": 600,
    "cycles@big.enabled": 3,
    "cycles@big.running": 2,
    "cycles@little.count": 200,
    "cycles@little.enabled": 3,
    "cycles@little.running": 1,
    "instructions@big.count": 1200,
    "instructions@big.enabled": 3,
    "instructions@big.running": 1,
    "instructions@little.count": 100,
    "instructions@little.enabled": 3,
    "instructions@little.running": 0.5,
    "l1d_access@big.count": 500,
    "l1d_access@big.enabled": 3,
    "l1d_access@big.running": 2,
}


def test_big_and_little_cores_are_counted_apart_and_together() -> None:
    run = count_phases(table(TWO_KINDS), {"run": (0, 20 * SECOND)})["run"]
    cycles, instructions = run.events["cycles"], run.events["instructions"]
    assert (cycles.count, cycles.by_unit, cycles.running_ratio) == (
        16_000,
        {"big": 12_000, "little": 4_000},
        1.0,
    )
    # multiplexed: 1.5 of 3 s, whichever core the threads ran on
    assert instructions.running_ratio == pytest.approx(0.5)
    assert instructions.by_unit == pytest.approx({"big": 48_000, "little": 4_000})
    assert run.ratios_by_unit is not None
    assert {
        unit: ratios["instructions_per_cycle"] for unit, ratios in run.ratios_by_unit.items()
    } == pytest.approx({"big": 4.0, "little": 1.0})


def test_an_event_that_one_kind_of_core_lacks_has_no_total() -> None:
    event = count_phases(table(TWO_KINDS), {"run": (0, 20 * SECOND)})["run"].events["l1d_access"]
    assert (event.count, event.reason) == (
        None,
        "little cores do not count it, so their work is missing",
    )


def test_a_raw_event_that_only_counts_0_is_unsupported() -> None:
    """Kernels that do not list a unit's events open what it lacks."""
    zero = {
        "l1d_refill.count": 0,
        "l1d_refill.enabled": 1,
        "l1d_refill.running": 1,
        "page_faults.count": 0,
    }
    run = count_phases(table(zero), {"run": (0, 20 * SECOND)})["run"]
    assert (run.events["l1d_refill"].count, run.events["l1d_refill"].reason) == (
        None,
        "the count stayed 0: the processor lacks this event",
    )
    assert run.events["page_faults"].count == 0
