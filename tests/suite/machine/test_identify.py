"""Machines are recognised by device tree, DMI or CPU model, and a recognised machine fits its
profile."""

import shutil
from pathlib import Path

import pytest

from suite.catalog.devices import Device, RecordedMachine, load_device
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.machine.identify import identify, resolve_device
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import set_device

GIB = 2**30
X86 = """
name = "nuc"
title = "A small PC"
source = "made up by tests"
storage_interfaces = ["NVMe"]

[identity]
{identity}

[cpu]
architecture = "Tiger Lake"
machine = ["x86_64"]
cores = 8
max_frequency_mhz = 4200

[memory]
sizes_gb = [16]

[recorded]
memory_gb = 16
dmi = ["product_name: NUC11TNKi5", "board_name: NUC11TNBi5"]
cpu_model = "11th Gen Intel(R) Core(TM) i5-1135G7 @ 2.40GHz"
"""


def machine(root: Path, recorded: RecordedMachine) -> Path:
    """A recorded tree of a machine that reports this."""
    (root / "proc/device-tree").mkdir(parents=True)
    (root / "sys/class/dmi/id").mkdir(parents=True)
    if recorded.compatible:
        (root / "proc/device-tree/compatible").write_bytes(
            b"".join(entry.encode() + b"\0" for entry in recorded.compatible)
        )
    for entry in recorded.dmi:
        name, _, content = entry.partition(": ")
        (root / "sys/class/dmi/id" / name).write_text(content + "\n")
    if recorded.cpu_model is not None:
        (root / "proc/cpuinfo").write_text(f"processor\t: 0\nmodel name\t: {recorded.cpu_model}\n")
    return root


def with_x86(root: Path, identity: str) -> Path:
    """A copy of the rules with a profile for an x86 machine."""
    shutil.copytree(repository_root() / "rules", root / "rules")
    (root / "rules/devices/nuc.toml").write_text(X86.format(identity=identity))
    return root


# As device trees of kernels, lists of GPIO libraries and users have them: variants, industrial
# modules, a family alone. Others are generic.
PUBLISHED = {
    "nvidia,p3971-0089+p3834-0008 nvidia,p3834-0008 nvidia,tegra264": "agx-thor",
    "nvidia,p3737-0000+p3701-0000 nvidia,p3701-0000 nvidia,tegra234": "orin",
    "nvidia,p3737-0000+p3701-0004 nvidia,p3701-0004 nvidia,tegra234": "orin",
    "nvidia,p3737-0000+p3701-0008 nvidia,p3701-0008 nvidia,tegra234": "orin",
    "nvidia,p3768-0000+p3767-0001-super nvidia,p3767-0001 nvidia,tegra234": "orin-nx",
    "nvidia,p3509-0000+p3767-0003 nvidia,p3767-0003 nvidia,tegra234": "orin-nano",
    "nvidia,p3509-0000+p3767-0005 nvidia,p3767-0005 nvidia,tegra234": "orin-nano",
    "nvidia,p2822-0000+p2888-0001 nvidia,jetson-xavier nvidia,tegra194": "agx-xavier",
    "nvidia,galen-industrial nvidia,jetson-xavier-industrial nvidia,tegra194": "agx-xavier",
    "nvidia,jetson-xavier nvidia,tegra194": "agx-xavier",
    "nvidia,p3509-0000+p3668-0001 nvidia,jetson-xavier-nx nvidia,tegra194": "xavier-nx",
    "nvidia,jetson-xavier-nx nvidia,tegra194": "xavier-nx",
    "nvidia,p2771-0000-0888 nvidia,quill nvidia,tegra186": "tx2",
    "nvidia,p3509-0000+p3636-0001 nvidia,p3636-0001 nvidia,tegra186": "tx2-nx",
    "nvidia,p3542-0000+p3448-0003 nvidia,jetson-nano-2gb nvidia,jetson-nano nvidia,tegra210": (
        "nano-2gb"
    ),
    "nvidia,p3450-0000 nvidia,tegra210": "nano",
    "nvidia,p2371-2180 nvidia,tegra210": "tx1",
    "raspberrypi,3-model-a-plus brcm,bcm2837": "raspberry-pi-3",
    "raspberrypi,3-model-b brcm,bcm2837": "raspberry-pi-3",
    "raspberrypi,model-zero-2-w brcm,bcm2837": "generic",
    "raspberrypi,400 brcm,bcm2711": "raspberry-pi-4",
    "raspberrypi,4-compute-module brcm,bcm2711": "raspberry-pi-4",
    "raspberrypi,4-compute-module-s brcm,bcm2711": "raspberry-pi-4",
    "raspberrypi,500 brcm,bcm2712": "raspberry-pi-5",
    "raspberrypi,5-compute-module brcm,bcm2712": "raspberry-pi-5",
    "xunlong,orangepi-5 rockchip,rk3588s": "rk3588",
    "friendlyarm,nanopi-r6s rockchip,rk3588s": "rk3588",
    "radxa,rock-5a rockchip,rk3588s": "rk3588",
    "radxa,zero3 rockchip,rk3566": "generic",
    "radxa,e52c rockchip,rk3582 rockchip,rk3588s": "generic",
    "nvidia,p4071-0000+p3834-0000 nvidia,p3834-0000 nvidia,tegra264": "generic",  # T4000
    "nvidia,p3740-0002+p3701-0008 nvidia,p3701-0008 nvidia,tegra234": "generic",  # IGX Orin
    "beagle,am67a-beagley-ai ti,j722s": "generic",
}


@pytest.mark.parametrize("entries", PUBLISHED)
def test_a_published_device_tree_is_recognised(entries: str, tmp_path: Path) -> None:
    tree = machine(
        tmp_path, RecordedMachine(memory_gb=8, compatible=tuple(entries.split()), tree=())
    )
    assert identify(tree).device.name == PUBLISHED[entries]


@pytest.mark.parametrize(
    ("product", "name"),
    [  # as kernels that were booted by ACPI print them
        ("Raspberry Pi 4 Model B", "raspberry-pi-4"),
        ("NVIDIA Jetson AGX Orin Developer Kit", "orin"),
        ("NVIDIA Jetson Orin Nano Developer Kit", "orin-nano"),
        ("NVIDIA IGX Orin Development Kit", "generic"),
    ],
)
def test_a_board_without_a_device_tree_is_recognised(
    product: str, name: str, tmp_path: Path
) -> None:
    tree = machine(
        tmp_path, RecordedMachine(memory_gb=8, dmi=(f"product_name: {product}",), tree=())
    )
    assert identify(tree).device.name == name


def on_device(path: Path, device: Device, evidence: str = "") -> None:
    """Let a bundle's run be of the device, as its profile and its recorded machine describe it."""
    bundle = EditableBundle(path)
    bundle.run["device_evidence"] = evidence
    set_device(device.name)(bundle)
    assert device.recorded is not None
    if device.cpu is not None:
        assert device.cpu.machine, (
            f"fill in cpu.machine of rules/devices/{device.name}.toml: what uname -m prints"
        )
        bundle.system.update(architecture=device.cpu.machine[0], cpu_cores=device.cpu.cores)
    bundle.system["memory_size_bytes"] = device.recorded.memory_gb * GIB
    bundle.save(recomputed=True)


def test_an_unknown_machine_is_generic(tmp_path: Path) -> None:
    assert identify(tmp_path).device.name == "generic"
    found = identify(machine(tmp_path / "board", RecordedMachine(4, compatible=("acme,board",))))
    assert found.device.name == "generic" and "device tree" in found.evidence
    found = identify(machine(tmp_path / "pc", RecordedMachine(4, dmi=("product_name: Acme 1",))))
    assert found.device.name == "generic" and "DMI" in found.evidence


@pytest.mark.parametrize(
    ("identity", "evidence"),
    [
        ('dmi = ["NUC11TN"]', "/sys/class/dmi/id/product_name holds 'NUC11TNKi5'"),
        (
            'cpu_model = ["i5-1135G7"]',
            "/proc/cpuinfo holds '11th Gen Intel(R) Core(TM) i5-1135G7 @ 2.40GHz'",
        ),
    ],
)
def test_an_x86_machine_is_recognised_and_its_run_complies(
    identity: str, evidence: str, good_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = with_x86(tmp_path / "checkout", identity)
    nuc = load_device("nuc", root)
    assert nuc.recorded is not None
    found = identify(machine(tmp_path / "pc", nuc.recorded), root)
    assert (found.device, found.evidence) == (nuc, evidence)

    monkeypatch.setattr("suite.catalog.definitions.rules_folder", lambda _: root / "rules")
    on_device(good_bundle, nuc, evidence)
    assert check_bundle(good_bundle).findings == ()


def test_a_run_of_another_instruction_set_does_not_fit(
    good_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = with_x86(tmp_path / "checkout", 'dmi = ["NUC11TN"]')
    monkeypatch.setattr("suite.catalog.definitions.rules_folder", lambda _: root / "rules")
    on_device(
        good_bundle, load_device("nuc", root), "/sys/class/dmi/id/product_name holds 'NUC11TNKi5'"
    )
    bundle = EditableBundle(good_bundle)
    bundle.system["architecture"] = "aarch64"
    bundle.save()
    finding = next(
        finding
        for finding in check_bundle(good_bundle).findings
        if finding.check == "machine-fits-profile"
    )
    assert finding.observed == "'aarch64'" and "x86_64" in finding.expected


def test_the_device_tree_decides_before_dmi(tmp_path: Path) -> None:
    root = with_x86(tmp_path / "checkout", 'dmi = ["NUC11TN"]')
    both = RecordedMachine(
        8, compatible=("raspberrypi,5-model-b",), dmi=("product_name: NUC11TNKi5",)
    )
    assert identify(machine(tmp_path / "board", both), root).device.name == "raspberry-pi-5"


def test_another_device_is_refused_with_what_was_found_and_what_to_type(tmp_path: Path) -> None:
    nano = load_device("nano").recorded
    assert nano is not None
    with pytest.raises(SuiteError, match=r"not the device 'orin'.*found 'nano'.*--device nano"):
        resolve_device("orin", machine(tmp_path, nano))
