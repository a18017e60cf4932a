"""What is read of the recorded machine of every device profile, as kept outputs."""

from pathlib import Path
from typing import Any

import pytest

from suite.catalog.devices import load_devices
from suite.machine.identify import identify
from suite.machine.system import Software, describe_system
from suite.meters.registry import open_meters
from tests.boards import planted, readings_of
from tests.kept_outputs import in_short, kept, plain

OF_THIS_MACHINE = ("architecture", "kernel", "python", "cpu_cores", "storage_medium")


@pytest.mark.parametrize("device", load_devices(), ids=lambda device: device.name)
def test_what_is_read_of_a_recorded_machine(device: Any, tmp_path: Path) -> None:
    root = planted(tmp_path / "root", device)
    described = describe_system(device.name, Software(), tmp_path / "data", root)
    system = {
        name: value for name, value in plain(described).items() if name not in OF_THIS_MACHINE
    }
    system["notes"] = sorted(set(system["notes"]) - {*OF_THIS_MACHINE})
    readings = {
        f"{source} {channel}": [value, unit]
        for _, source, channel, value, unit in readings_of(root)
    }
    found = identify(root)
    kept(
        "machines",
        in_short(
            plain(
                {
                    "device": found.device.name,
                    "evidence": found.evidence,
                    "system": system,
                    "readings": readings,
                }
            )
        ),
        device.name,
    )


def test_how_often_every_meter_is_read(tmp_path: Path) -> None:
    kept("meters", {meter.name: meter.period_s for meter in open_meters(tmp_path)})
