from suite.meters.schedule import Schedule


def turns(schedule: Schedule, until_s: float, work_s: dict[str, float]) -> list[tuple[str, float]]:
    """Who had a turn when, if each turn takes its name's time."""
    now_ns, taken = 0, []
    while True:
        name, due_ns = schedule.next()
        now_ns = max(now_ns, due_ns)
        if now_ns > until_s * 1e9:
            return taken
        taken.append((name, now_ns / 1e9))
        now_ns += round(work_s[name] * 1e9)
        schedule.taken(name, now_ns)


def test_everything_is_due_at_once_and_then_at_multiples_of_its_own_period() -> None:
    schedule = Schedule({"fast": 1.0, "slow": 2.5}, start_ns=0)
    expected = [("fast", 0), ("slow", 0), ("fast", 1), ("fast", 2), ("slow", 2.5), ("fast", 3), ("fast", 4), ("fast", 5), ("slow", 5)]
    assert sorted(turns(schedule, 5, {"fast": 0, "slow": 0})) == sorted(expected)


def test_work_that_takes_time_does_not_shift_later_turns() -> None:
    moments_s = [moment_s for _, moment_s in turns(Schedule({"meter": 1.0}, 0), 100, {"meter": 0.3})]
    assert moments_s == [float(second) for second in range(101)]


def test_missed_turns_are_skipped_not_made_up_for() -> None:
    schedule = Schedule({"meter": 1.0}, start_ns=0)
    schedule.taken("meter", now_ns=4_300_000_000)
    assert schedule.next() == ("meter", 5_000_000_000)


def test_a_turn_that_ends_exactly_on_the_next_one_does_not_lose_it() -> None:
    schedule = Schedule({"meter": 1.0}, start_ns=0)
    schedule.taken("meter", now_ns=1_000_000_000)
    assert schedule.next() == ("meter", 1_000_000_000)
