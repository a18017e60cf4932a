"""What is read of the recorded machine of every device profile, whole and with spoiled files, and
the steps that set its power modes, as kept outputs."""

from pathlib import Path
from typing import Any

import pytest

from suite.catalog.devices import load_device, load_devices
from suite.errors import SuiteError
from suite.machine.identify import identify
from suite.machine.modes.available_modes import read_available_modes
from suite.machine.modes.requested_mode import RequestedMode, mode_steps
from suite.machine.system import Software, describe_system
from suite.meters.registry import open_meters
from tests.boards import planted, readings_of
from tests.kept_outputs import in_short, kept, plain
from tests.spoiled import spoiled

OF_THIS_MACHINE = ("architecture", "kernel", "python", "cpu_cores", "storage_medium")


SPOILED = ("n100", "orin", "raspberry-pi-5", "xavier-nx")
MODES = [
    *({"mode": mode} for mode in ("MAXN", "2", "MODE_15W", "maxn?")),
    *({"cores": cores} for cores in ("1", "4", "0-1,3", "3-1", "0", "99", "1,1", "x")),
    *({name: mhz} for name in ("cpu_mhz", "gpu_mhz", "emc_mhz") for mhz in (1, 600, 1420, 99999)),
    *({"fan": fan} for fan in ("0", "255", "256", "quiet")),
    {"turbo": "on"}, {"turbo": "off"}, {"governor": "performance"}, {"governor": "fast"},
    {"jetson_clocks": True}, {"mode": "1", "cores": "2", "cpu_mhz": 1190, "jetson_clocks": True},
]  # fmt: skip


def read_all(root: Path, device: str) -> dict[str, Any]:
    """Of a machine: who it is, its description, what can be set, one reading of every channel."""
    described = describe_system(device, Software(), root.parent / "data", root)
    system = {
        name: value for name, value in plain(described).items() if name not in OF_THIS_MACHINE
    }
    system["notes"] = sorted(set(system["notes"]) - {*OF_THIS_MACHINE})
    readings = {
        f"{source} {channel}": [value, unit]
        for _, source, channel, value, unit in readings_of(root)
    }
    found = identify(root)
    name, evidence = found.device.name, found.evidence
    return {"device": name, "evidence": evidence, "system": system, "readings": readings}


@pytest.mark.parametrize("device", load_devices(), ids=lambda device: device.name)
def test_what_is_read_of_a_recorded_machine(device: Any, tmp_path: Path) -> None:
    root = planted(tmp_path / "root", device)
    kept("machines", in_short(plain(read_all(root, device.name))), device.name)


@pytest.mark.parametrize("name", SPOILED)
def test_what_is_read_of_a_machine_with_a_spoiled_file(name: str, tmp_path: Path) -> None:
    root = planted(tmp_path / "root", load_device(name))
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())

    def read() -> Any:
        return {**read_all(root, name), "available": read_available_modes(root)}

    kept("machines-spoiled", spoiled(root, read, files, 1), name)


@pytest.mark.parametrize("name", SPOILED)
def test_the_steps_that_set_a_mode(name: str, tmp_path: Path) -> None:
    root = planted(tmp_path / "root", load_device(name))
    found = {}
    for fields in MODES:
        requested = RequestedMode(**fields)
        try:
            found[requested.label] = plain(mode_steps(requested, read_available_modes(root), root))
        except SuiteError as error:
            found[requested.label] = str(error)
    kept("mode-steps", in_short(found), name)


def test_how_often_every_meter_is_read(tmp_path: Path) -> None:
    kept("meters", {meter.name: meter.period_s for meter in open_meters(tmp_path)})
