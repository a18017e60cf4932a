"""Power of a run beside the power before it: honest runs comply, whatever else the machine did."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.metrics.counted_time import START
from tests.builders import RICH, make_bundle
from tests.checks_alone import context_of, found
from tests.faults.edits.editable_bundle import EditableBundle


@pytest.mark.parametrize(("idle_w", "is_found"), [(5.5, False), (5.98, True)])
def test_the_mean_power_of_a_run_is_that_of_its_counted_time(
    idle_w: float, is_found: bool, tmp_path: Path
) -> None:
    """A sixth of a run of 6 W is not counted, nor is its energy."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", replace(RICH, idle_w=idle_w)))
    for number in range(3):
        bundle.event(START, number)["metadata"]["mono_ns"] -= 1_500_000_000
    bundle.save()
    stated_w = [
        float(each.observed.split()[4])
        for each in found("power-above-idle", context_of(bundle.path))
    ]
    assert stated_w == pytest.approx([6.0] * is_found, abs=0.02)
