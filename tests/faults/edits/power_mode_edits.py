"""Edits of a bundle's board and power mode."""

from suite.catalog.devices import load_device
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, edit
from tests.faults.edits.file_edits import set_node
from tests.faults.edits.log_edits import set_device

SOURCE = "power-mode"
GIB = 2**30
LOWERED = (("nvpmodel", 0.0, 1.0, "id"), ("policy0.max", 2.2e9, 1.1e9, "Hz"))


def claim_orin_on_raspberry_pi(bundle: EditableBundle) -> None:
    """Claim an AGX Orin on a machine with the device tree of a Raspberry Pi 5."""
    set_device("orin")(bundle)
    bundle.system.update(
        architecture="aarch64", compatible=["raspberrypi,5-model-b", "brcm,bcm2712"]
    )


def _describe_as(bundle: EditableBundle, device: str) -> None:
    """Claim a device, and describe the machine as its profile's sample."""
    profile = load_device(device)
    assert profile.cpu is not None and profile.recorded is not None
    set_device(device)(bundle)
    bundle.run["device_evidence"] = (
        f"/proc/device-tree/compatible holds {profile.recorded.compatible[0]!r}"
    )
    described = {
        "board": profile.title,
        "cpu_model": profile.cpu.architecture,
        "architecture": profile.cpu.machine[0],
        "kernel": "6.12.34",
    }
    bundle.system.update(
        described,
        compatible=list(profile.recorded.compatible),
        memory_size_bytes=profile.recorded.memory_gb * GIB,
    )
    for name in described:
        bundle.system["notes"].pop(name, None)


@edit
def claim_jetson(bundle: EditableBundle, device: str, label: object, /, **settings: object) -> None:
    """Claim a Jetson with this power mode, the description of the machine made to fit.

    ``settings`` are fields of power_settings, by default those of an unchanged mode of this name.
    """
    _describe_as(bundle, device)
    stated = {
        "source": "nvpmodel",
        "mode": label,
        "mode_id": 0,
        "is_custom": False,
        "clocks": [{"kind": "cpu", "max_hz": 1}],
        **settings,
    }
    bundle.system.update(power_mode=label, power_settings=stated)
    bundle.system["notes"].pop("power_mode", None)


@edit
def claim_variant(bundle: EditableBundle, device: str, /, **described: object) -> None:
    """Claim a board, the description of the machine made to fit but for ``described``."""
    _describe_as(bundle, device)
    bundle.system.update(**described)
    for name in described:
        bundle.system["notes"].pop(name, None)


def lower_limits_in_mid_run(bundle: EditableBundle) -> None:
    """Let the meter of the power mode read another mode and a lower clock limit from the second
    epoch on."""
    import pandas  # start-up: slow to load

    before_ns, after_ns = (
        bundle.event("init_start")["metadata"]["mono_ns"],
        bundle.event("epoch_stop", 0)["metadata"]["mono_ns"],
    )
    rows = [
        (t_ns, SOURCE, name, value, unit)
        for name, first, later, unit in LOWERED
        for t_ns, value in ((before_ns, first), (after_ns, later))
    ]
    more = pandas.DataFrame(rows, columns=list(bundle.readings.columns))
    bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    bundle.run["meters"].append(
        {"name": SOURCE, "period_s": 1.0, "available": True, "reason": "", "readings": len(rows)}
    )


def without_mode_on_second_node(edit_first: Edit) -> Edit:
    """Apply an edit, then let the second node's power mode be unknown."""

    def change(bundle: EditableBundle) -> None:
        edit_first(bundle)
        set_node(1, system={"power_mode": None})(bundle)

    return change
