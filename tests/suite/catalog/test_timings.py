"""Timings: which a run may have, and which without --timing."""

import pytest

from reference_impls.contract import TIMINGS
from reference_impls.definitions import TIMINGS as MEANINGS
from suite.catalog.frameworks import load_frameworks
from suite.catalog.timings import Timing, possible_timings

BOTH = (Timing.ASYNCHRONOUS, Timing.SYNCHRONISED)


def test_every_timing_is_defined_once() -> None:
    assert [timing.value for timing in Timing] == list(TIMINGS) == [name for name, *_ in MEANINGS]


@pytest.mark.parametrize(
    "framework",
    [each for each in load_frameworks() if each.needs_environment],
    ids=lambda each: each.name,
)
def test_a_run_on_an_accelerator_is_asynchronous_unless_it_is_asked_for_the_split(
    framework: object,
) -> None:
    on = framework.asynchronous_on  # type: ignore[attr-defined]
    assert possible_timings("cuda", False, on) == BOTH
    assert possible_timings("cuda", True, on) == (Timing.SYNCHRONISED,)
    assert possible_timings("cpu", False, on) == (Timing.SYNCHRONISED,)


def test_the_fake_framework_has_both_on_a_cpu_and_is_synchronised_unless_it_is_asked() -> None:
    assert possible_timings("cpu", False, ("cpu",)) == (Timing.SYNCHRONISED, Timing.ASYNCHRONOUS)


def test_an_implementation_that_declares_nothing_waits_in_every_step() -> None:
    assert possible_timings("cuda", False, ()) == (Timing.SYNCHRONISED,)
