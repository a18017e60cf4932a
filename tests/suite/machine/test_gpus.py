"""The GPUs of a machine, as NVIDIA's driver lists them, and machines that differ in them."""

from pathlib import Path

from suite.bundle.machines import different_fields
from suite.machine.system import Software, describe_system, nvidia_gpus

INFORMATION = (
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t"
    " GPU-00000000-0000-0000-0000-000000000000\nVideo BIOS: \t 96.00.a5.00.1a\n"
)
"""Lines of driver 580.159.04, its identifier replaced."""


def plant(root: Path, address: str, text: str) -> None:
    folder = root / "proc/driver/nvidia/gpus" / address
    folder.mkdir(parents=True)
    (folder / "information").write_text(text)


def test_a_machine_without_the_driver_has_none(tmp_path: Path) -> None:
    assert nvidia_gpus(tmp_path) == ()


def test_they_are_named_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    plant(tmp_path, "0000:41:00.0", INFORMATION.replace("H200", "L4"))
    plant(tmp_path, "0000:00:06.0", INFORMATION)
    plant(tmp_path, "0000:42:00.0", "IRQ: 1\n")
    assert nvidia_gpus(tmp_path) == ("NVIDIA H200", "NVIDIA L4")
    described = describe_system("generic", Software(), tmp_path, tmp_path, with_identity=False)
    assert described.gpus == nvidia_gpus(tmp_path) and "00000000" not in str(described)


def test_a_bundle_that_names_none_is_of_any_machine_without_one() -> None:
    """Earlier versions did not record them."""
    assert different_fields({}, {"gpus": []}, ["gpus"]) == []
    assert different_fields({"gpus": ["NVIDIA H200"]}, {"gpus": []}, ["gpus"]) == ["gpus"]
