"""The campaign that measures what a reading costs."""

import time
from collections.abc import Mapping
from pathlib import Path

from proofs.meter_cost import __main__ as campaign
from suite.meters.background import BackgroundMeter

COST_S = 0.002


class Waiting(BackgroundMeter):
    """Its readings take this long, in its own thread."""

    name, period_s = "waiting", 3600.0

    def measure(self) -> Mapping[str, tuple[float, str]]:
        """One channel."""
        end_s = time.thread_time() + COST_S
        while time.thread_time() < end_s:
            pass
        return {"level": (1.0, "V")}


def test_a_reading_costs_what_the_meter_s_own_thread_does(tmp_path: Path) -> None:
    """Not only what it takes to fetch it from there."""
    cost = campaign._cost(Waiting(tmp_path), 0, tmp_path, "here", 3)
    assert cost.readings == 1 and cost.median_s >= COST_S
