"""A board without readings of its own sensors: refused where nothing explains it."""

import pytest

from suite.catalog.meter_choice import LEFT_OUT
from suite.compliance.rule import BundleContext
from tests.checks_alone import channel, channels, found, node, varied

VENDORS, OTHERS = "6.6.31+rpt-rpi-2712", "6.1.0-18-arm64"


@pytest.mark.parametrize(
    ("kernel", "reason", "check", "fix"),
    [
        (VENDORS, "permission denied", "board-sensors", None),
        (OTHERS, "permission denied", "board-sensors-elsewhere", None),
        (
            VENDORS,
            LEFT_OUT,
            "board-sensors-elsewhere",
            "run again, and let --meters read temperature",
        ),
    ],
)
def test_a_raspberry_pi_without_temperatures(
    kernel: str, reason: str, check: str, fix: str | None, context: BundleContext
) -> None:
    read = channels(channel("throttling throttled", "active", [100, 101], [0, 0]))
    meters = [{"name": "temperature", "available": False, "reason": reason}]
    made = varied(
        context,
        request={"platform": "raspberry-pi-5"},
        nodes=(node(read, meters=meters, system={"kernel": kernel}),),
    )
    violations = {
        each: [one.fix for one in found(each, made)]
        for each in ("board-sensors", "board-sensors-elsewhere")
    }
    assert {each: fixes for each, fixes in violations.items() if fixes} == {check: [fix]}
