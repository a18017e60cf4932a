"""Contract of every device profile: on its recorded machine device, power mode, clocks, identity
and power are read, and a run can be planned."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.devices import Device, load_device, load_devices
from suite.catalog.power import load_power_rules
from suite.catalog.workloads import load_workload
from suite.compliance.checker import check_bundle
from suite.datasets.prepare import generate_data_set
from suite.files.json_file import write_json
from suite.machine.identify import identify, resolve_device
from suite.machine.power_settings import read_power_settings
from suite.machine.system import Software, describe_system
from suite.metrics.power_totals import power_totals
from tests.boards import SERIAL_NUMBER, planted, readings_of
from tests.every_case import one_of_each
from tests.faults.edits.editable_bundle import EditableBundle

DEVICES = load_devices()
every_device = pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)


def test_profiles_state_where_their_recorded_machine_is_from_and_what_is_read_from_it() -> None:
    machines = {device.name: device.recorded for device in DEVICES}
    lacking = [
        name
        for name, machine in machines.items()
        if machine is None
        or not machine.origin
        or not machine.tree
        or not machine.expected.power_mode
    ]
    assert lacking == [], (
        "state in [recorded] its origin, in [[recorded.tree]] the machine's files, and in"
        " [recorded.expected] the power mode that is read"
    )


@every_device
def test_the_device_is_found_by_its_recorded_machine(device: Device, tmp_path: Path) -> None:
    root = planted(tmp_path, device)
    assert identify(root).device == device
    assert {resolve_device(name, root).device for name in (device.name, "auto")} == {device}


@every_device
def test_mode_and_clocks_are_read(device: Device, tmp_path: Path) -> None:
    settings = read_power_settings(planted(tmp_path, device))
    assert device.recorded is not None
    assert settings.label == device.recorded.expected.power_mode
    assert not settings.is_custom and settings.differences == ()
    if not device.recorded.tree:
        return
    assert settings.clocks and all(clock.max_hz and clock.governor for clock in settings.clocks)
    assert settings.cores_online is not None
    online = sorted(core for clock in settings.clocks for core in clock.cores)
    assert tuple(online) == settings.cores_online
    if device.power_modes:
        assert settings.source == "nvpmodel" and settings.mode in [
            mode.name for mode in device.power_modes
        ]


@every_device
def test_the_caps_that_are_read_are_those_of_the_profile_s_mode(
    device: Device, tmp_path: Path
) -> None:
    settings = read_power_settings(planted(tmp_path, device))
    mode = next((mode for mode in device.power_modes if mode.name == settings.mode), None)
    if mode is None:
        assert device.power_modes == ()
        return
    assert settings.cores_online is not None and len(settings.cores_online) == mode.cpu_cores
    for kind, megahertz in (("cpu", mode.cpu_frequency_mhz), ("gpu", mode.gpu_frequency_mhz)):
        highest_hz = max(clock.max_hz or 0 for clock in settings.clocks if clock.kind == kind)
        assert megahertz == pytest.approx(highest_hz / 1e6, rel=0.01)


@every_device
def test_total_power_is_read_where_the_board_has_a_sensor(device: Device, tmp_path: Path) -> None:
    assert device.recorded is not None
    expected = device.recorded.expected
    rows = readings_of(planted(tmp_path, device))
    channels = channels_of_frame(
        pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    )
    totals = power_totals(channels, load_power_rules(), None)
    assert (" + ".join(total.rule.name for total in totals) or None) == expected.power_total
    if totals and expected.power_w is not None:
        read_w = sum(
            channels.get(total.source, name).mean for total in totals for name in total.channels
        )
        assert read_w == pytest.approx(expected.power_w, abs=0.02)


@every_device
def test_a_sensor_that_a_program_reads_has_a_power_rule(device: Device) -> None:
    assert device.recorded is not None
    total = device.recorded.expected.program_total
    assert total is None or total in [rule.name for rule in load_power_rules()]


@every_device
def test_boards_of_one_kind_are_told_apart_and_no_serial_number_is_written(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    trees = [
        planted(tmp_path / "first", device),
        planted(tmp_path / "second", device, "4207120008816"),
    ]
    described = [
        describe_system(device.name, Software(), tmp_path, root) for root in (*trees, trees[0])
    ]
    digests = [each.board_digest for each in described]
    assert digests[0] is not None and digests[0] != digests[1] and digests[0] == digests[2]
    write_json(tmp_path / "system.json", described[0])
    assert (
        SERIAL_NUMBER not in (tmp_path / "system.json").read_text()
        and "board_digest" not in described[0].notes
    )
    nameless = describe_system(device.name, Software(), tmp_path, trees[0], with_identity=False)
    assert (
        nameless.board_digest is None
        and nameless.notes["board_digest"] == "left out by --no-identity"
    )


@pytest.mark.parametrize(
    "device",
    one_of_each(DEVICES, lambda device: (bool(device.power_modes), device.cpu is None)),
    ids=lambda device: device.name,
)
def test_an_honest_run_complies(device: Device, good_bundle: Path, tmp_path: Path) -> None:
    """A run on the recorded machine breaks no rule: not for its mode, its memory or its cores."""
    from tests.faults.edits.log_edits import set_device

    root = planted(tmp_path, device)
    described = json.loads(
        json.dumps(
            asdict(describe_system(device.name, Software(), tmp_path, root, with_identity=False))
        )
    )
    bundle = EditableBundle(good_bundle)
    set_device(device.name)(bundle)
    kept = (
        "board",
        "compatible",
        "cpu_model",
        "memory_size_bytes",
        "power_mode",
        "power_settings",
        "power_changes",
    )
    bundle.system.update({name: described[name] for name in kept})
    notes = {name: note for name, note in bundle.system["notes"].items() if name not in kept}
    bundle.system["notes"] = {
        **notes,
        **{name: note for name, note in described["notes"].items() if name in kept},
    }
    if device.cpu is not None:
        bundle.system["architecture"] = device.cpu.machine[0]
    bundle.save(recomputed=True)
    found = {finding.check: finding.observed for finding in check_bundle(good_bundle).findings}
    rules = (
        "machine-fits-profile",
        "machine-variant",
        "board-fits-profile",
        "system-described",
        "system-possible",
        "power-mode-known",
        "power-mode-listed",
        "power-mode-steady",
    )
    assert {rule: found[rule] for rule in rules if rule in found} == {}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the suite with generated data for LeNet-5."""
    path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUITE_HOME", str(path))
        generate_data_set(load_workload("lenet").data, 10, 1)
    return path


@every_device
def test_a_dry_run_on_the_device_plans_its_closed_workloads(
    device: Device,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from suite.catalog.divisions import Division
    from suite.cli.run import run

    monkeypatch.setenv("SUITE_HOME", str(home))
    root = planted(tmp_path, device)
    for module in ("suite.cli.run", "suite.execution.resolve"):
        monkeypatch.setattr(f"{module}.resolve_device", partial(resolve_device, system_root=root))
    run(
        division=Division.OPEN, device=device.name, workload="lenet", data="synthetic", dry_run=True
    )
    (request,) = json.loads(capsys.readouterr().out)["rows"]
    assert request["request"]["platform"] == device.name
    assert request["request"]["accelerator"] == ("cpu" if device.gpu is None else "cuda")


@pytest.mark.parametrize(
    ("model", "name"),
    [("Intel(R) N95", "n100"), ("Intel(R) N200", "n100"), ("Intel(R) N950", "generic")],
)
def test_a_number_in_a_processor_s_name_is_no_part_of_a_longer_one(
    model: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\nmodel name\t: {model}\n")
    assert identify(tmp_path).device.name == name


def test_a_container_without_the_link_to_the_device_tree_is_recognised(tmp_path: Path) -> None:
    folder = tmp_path / "sys/firmware/devicetree/base"
    folder.mkdir(parents=True)
    (folder / "compatible").write_bytes(
        b"nvidia,p3768-0000+p3767-0005-super\0nvidia,p3767-0005\0nvidia,tegra234\0"
    )
    assert identify(tmp_path).device.name == "orin-nano"


def test_the_sizes_of_a_raspberry_pi_3_include_the_a_plus() -> None:
    memory = load_device("raspberry-pi-3").memory
    assert memory is not None and memory.sizes_gb == (0.5, 1)
