"""A student that gets no CPU time says so: after ten seconds, then once a minute, and not while it
computes."""

from suite.experiments.machine_load import LoadWatch
from suite.extensions.viewpoint.measuring.waiting import WaitReporter


class Busy(LoadWatch):
    """Other programs that keep both cores busy."""

    def __init__(self) -> None:
        pass

    def foreign_cores(self) -> float:
        return 1.96


def said(cpu_s: list[float | None]) -> list[tuple[int, str]]:
    """The second and the line of each report; ``cpu_s`` is the process's CPU time after 0, 10, 20,
    … seconds."""
    seconds, lines = iter(range(10 * len(cpu_s))), list[tuple[int, str]]()
    now = [next(seconds)]
    reporter = WaitReporter(
        "the student",
        lambda: cpu_s[now[0] // 10],
        lambda line: lines.append((now[0], line)),
        lambda: float(now[0]),
        Busy,
    )
    for now[0] in seconds:
        reporter.tick()
    return lines


def test_a_student_that_computes_says_nothing() -> None:
    assert said([0.0, 9.0, 18.0, 27.0]) == []


def test_a_student_that_waits_says_so_once_a_minute() -> None:
    lines = said([0.0, *[0.2] * 14])
    assert [second for second, _ in lines] == [10, 70, 130]
    assert (
        lines[0][1]
        == "the student waits until the machine is idle: in the last 10 s, the student had 0.2 s of"
        " CPU time, and other programs used 2.0 cores"
    )


def test_a_student_that_has_ended_says_nothing() -> None:
    assert said([0.0, None, None]) == []
