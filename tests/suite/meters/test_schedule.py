import random

from suite.meters.schedule import ReadingSchedule


def turns(
    schedule: ReadingSchedule, until_s: float, work_s: dict[str, float]
) -> list[tuple[str, float]]:
    """Who had a turn when, if each turn takes its name's time."""
    now_ns, taken = 0, []
    while True:
        name, due_ns = schedule.next_due()
        now_ns = max(now_ns, due_ns)
        if now_ns > until_s * 1e9:
            return taken
        taken.append((name, now_ns / 1e9))
        now_ns += round(work_s[name] * 1e9)
        schedule.mark_read(name, now_ns)


def test_everything_is_due_at_once_and_then_at_multiples_of_its_own_period() -> None:
    schedule = ReadingSchedule({"fast": 1.0, "slow": 2.5}, start_ns=0)
    expected = [
        ("fast", 0),
        ("slow", 0),
        ("fast", 1),
        ("fast", 2),
        ("slow", 2.5),
        ("fast", 3),
        ("fast", 4),
        ("fast", 5),
        ("slow", 5),
    ]
    assert sorted(turns(schedule, 5, {"fast": 0, "slow": 0})) == sorted(expected)


def test_work_that_takes_time_does_not_shift_later_turns() -> None:
    moments_s = [
        moment_s for _, moment_s in turns(ReadingSchedule({"meter": 1.0}, 0), 100, {"meter": 0.3})
    ]
    assert moments_s == [float(second) for second in range(101)]


def test_missed_turns_are_skipped_not_made_up_for() -> None:
    schedule = ReadingSchedule({"meter": 2.0}, start_ns=1_500_000_000)
    schedule.mark_read("meter", now_ns=1_500_000_000)  # the turn itself is over, however quickly
    assert schedule.next_due() == ("meter", 3_500_000_000)
    schedule.mark_read("meter", now_ns=7_000_000_000)
    assert schedule.next_due() == ("meter", 7_500_000_000)


def test_a_turn_that_ends_exactly_on_the_next_one_does_not_lose_it() -> None:
    schedule = ReadingSchedule({"meter": 1.0}, start_ns=0)
    schedule.mark_read("meter", now_ns=1_000_000_000)
    assert schedule.next_due() == ("meter", 1_000_000_000)


def test_at_random_there_is_one_turn_in_each_period_at_any_of_its_moments() -> None:
    taken = [
        moment_s
        for _, moment_s in turns(
            ReadingSchedule({"meter": 0.5}, 0, ("meter",), random.Random(3).random),
            1000,
            {"meter": 0.001},
        )
    ]
    assert [int(moment_s / 0.5) for moment_s in taken] == list(range(len(taken)))
    phases = sorted(moment_s % 0.5 for moment_s in taken)
    # evenly distributed
    assert (
        max(abs(phase / 0.5 - (place + 0.5) / len(phases)) for place, phase in enumerate(phases))
        < 0.04
    )


def test_a_late_name_at_random_skips_the_periods_that_went_by() -> None:
    schedule = ReadingSchedule({"meter": 1.0}, 500_000_000, ("meter",), lambda: 0.25)
    assert schedule.next_due() == ("meter", 750_000_000)
    schedule.mark_read("meter", now_ns=4_600_000_000)
    assert schedule.next_due() == ("meter", 4_750_000_000)


def test_names_on_the_clock_stay_on_it_beside_one_at_random() -> None:
    schedule = ReadingSchedule({"clock": 1.0, "meter": 1.0}, 0, ("meter",), lambda: 0.5)
    assert turns(schedule, 2, {"clock": 0, "meter": 0}) == [
        ("clock", 0),
        ("meter", 0.5),
        ("clock", 1),
        ("meter", 1.5),
        ("clock", 2),
    ]
