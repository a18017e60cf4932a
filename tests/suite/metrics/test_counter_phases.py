import pandas
import pytest

from suite.bundle.channels import Channels, channels_of_frame
from suite.metrics.counters import count_phases

SECOND = 10**9


def table(channels: dict[str, float], seconds: int = 20, unit: str = "events") -> Channels:
    """Readings once a second of counters that increase at constant rates per second."""
    rows = [(second * SECOND, "counters", name, rate * second, unit) for second in range(seconds + 1) for name, rate in channels.items()]
    return channels_of_frame(pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"]))


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
    phases = count_phases(table(HARDWARE), {"run": (0, 20 * SECOND), "epoch 1": (1_500_000_000, 14_000_000_000)})
    assert phases["run"].events["cycles"].count == pytest.approx(20_000)
    assert phases["epoch 1"].events["cycles"].count == pytest.approx(12_500)


def test_a_multiplexed_event_is_scaled_and_carries_its_running_ratio() -> None:
    run = count_phases(table(HARDWARE), {"run": (0, 10 * SECOND)})["run"]
    assert run.events["instructions"].count == pytest.approx(16_000)
    assert run.events["instructions"].running_ratio == pytest.approx(0.25)
    assert run.ratios["instructions_per_cycle"] == pytest.approx(1.6)


def test_an_event_that_was_not_counted_is_none_with_a_reason_and_so_are_its_ratios() -> None:
    run = count_phases(table(HARDWARE), {"run": (0, 10 * SECOND)})["run"]
    assert (run.events["branches"].count, run.events["branches"].reason) == (None, "it was not counted on this machine")
    assert run.ratios["l1d_miss_ratio"] is None
    assert run.ratios["branch_mispredict_ratio"] is None


def test_user_mode_only_is_marked() -> None:
    run = count_phases(table(HARDWARE), {"run": (0, 10 * SECOND)})["run"]
    assert run.events["page_faults"].count == pytest.approx(70)
    assert run.events["page_faults"].includes_kernel is False
    assert run.events["cycles"].includes_kernel is True


def test_a_phase_too_short_for_the_readings_is_none() -> None:
    event = count_phases(table(HARDWARE), {"epoch 1": (5 * SECOND, 14 * SECOND)})["epoch 1"].events["cycles"]
    assert (event.count, event.reason) == (None, "the window is shorter than 10 periods of 1 s")


def test_a_counter_that_stopped_during_the_phase_is_none() -> None:
    run = count_phases(table(HARDWARE, seconds=5), {"run": (0, 20 * SECOND)})["run"]
    assert run.events["cycles"].count is None
    assert "before the end" in (run.events["cycles"].reason or "")


def test_an_event_that_never_ran_is_none_not_zero() -> None:
    starved = {"cycles.count": 0, "cycles.enabled": 2, "cycles.running": 0}
    event = count_phases(table(starved), {"run": (0, 10 * SECOND)})["run"].events["cycles"]
    assert (event.count, event.reason) == (None, "the processor never counted it in this phase")


def test_no_readings_at_all() -> None:
    run = count_phases(table({}), {"run": (0, SECOND)})["run"]
    assert all(event.count is None and event.reason for event in run.events.values())
