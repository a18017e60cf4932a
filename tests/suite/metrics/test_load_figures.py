"""Foreign load, stolen time, pressure and the implementation's bytes: known readings give known
figures, missing ones a reason."""

import pytest

from suite.metrics.load_figures import LOAD_FIGURES, load_figures
from tests.suite.metrics.test_machine_figures import RUN, every_second, table

CORES = tuple(("cpu", f"utilisation.core{core}", "%", every_second(50)) for core in (0, 1))


def test_foreign_load_is_what_the_machine_was_busy_less_the_suites_own_processes() -> None:
    busy = ("load", "busy", "s", every_second(lambda second: 5000 + 1.75 * second))
    own = ("load", "own", "s", every_second(lambda second: 30 + 0.5 * second))
    figures = load_figures(table(busy, own, *CORES), RUN)
    foreign, share = figures["foreign_cpu_s"], figures["foreign_cpu_share"]
    assert (foreign.value, foreign.unit, foreign.period_s, foreign.coverage) == (
        pytest.approx(25.0),
        "s",
        1.0,
        pytest.approx(1.0),
    )
    assert share.value == pytest.approx(25 / 40)
    assert "machine, 35.00 s, minus that of the suite's processes, 10.00 s" in str(foreign.method)


def test_ticks_that_make_the_own_time_a_little_longer_are_no_negative_load() -> None:
    figures = load_figures(
        table(
            ("load", "busy", "s", every_second(lambda second: second)),
            ("load", "own", "s", every_second(lambda second: 1.001 * second)),
        ),
        RUN,
    )
    assert figures["foreign_cpu_s"].value == 0.0


def test_stolen_time_pressure_and_bytes() -> None:
    rates = {
        "steal": ("s", 0.25),
        "cpu.some": ("s", 0.5),
        "io.some": ("s", 0.1),
        "memory.some": ("s", 0.0),
        "read": ("B", 4096),
        "written": ("B", 512),
    }
    channels = table(
        *(
            ("load", name, unit, every_second(lambda second, rate=rate: rate * second))
            for name, (unit, rate) in rates.items()
        )
    )
    values = {
        name: figure.value
        for name, figure in load_figures(channels, RUN).items()
        if figure.value is not None
    }
    assert values == {
        "steal_cpu_s": pytest.approx(5.0),
        "cpu_pressure_ratio": pytest.approx(0.5),
        "io_pressure_ratio": pytest.approx(0.1),
        "memory_pressure_ratio": 0.0,
        "implementation_read_bytes_per_s": pytest.approx(4096),
        "implementation_written_bytes_per_s": pytest.approx(512),
    }


def test_without_readings_every_figure_has_a_reason() -> None:
    for window, reason in (
        (RUN, "the meter `load` did not read its channel `busy`"),
        (None, "the run was not finished"),
    ):
        figures = load_figures(table(), window)
        assert set(figures) == set(LOAD_FIGURES)
        assert all(figure.value is None and figure.reason for figure in figures.values())
        assert figures["foreign_cpu_s"].reason == reason
