"""Edits of a bundle's board and power mode."""

from suite.bundle.nodes import NODES
from suite.compliance.faults.editable_bundle import EditableBundle
from suite.compliance.faults.fault import Edit, edit
from suite.compliance.faults.file_edits import change_file
from suite.compliance.faults.log_edits import set_device

SOURCE = "power-mode"
LOWERED = (("nvpmodel", 0.0, 1.0, "id"), ("policy0.max", 2.2e9, 1.1e9, "Hz"))


def claim_orin_on_raspberry_pi(bundle: EditableBundle) -> None:
    """Claim an AGX Orin on a machine with the device tree of a Raspberry Pi 5."""
    set_device("orin")(bundle)
    bundle.system.update(architecture="aarch64", compatible=["raspberrypi,5-model-b", "brcm,bcm2712"])


@edit
def claim_jetson(bundle: EditableBundle, device: str, label: object, /, **settings: object) -> None:
    """Claim a Jetson with this power mode; ``settings`` are fields of power_settings, by default those of an unchanged mode of this name."""
    set_device(device)(bundle)
    stated = {"source": "nvpmodel", "mode": label, "mode_id": 0, "is_custom": False, "clocks": [{"kind": "cpu", "max_hz": 1}], **settings}
    bundle.system.update(architecture="aarch64", power_mode=label, power_settings=stated)


@edit
def claim_variant(bundle: EditableBundle, device: str, /, **described: object) -> None:
    """Claim an ARM board, and describe the machine otherwise."""
    set_device(device)(bundle)
    bundle.system.update(architecture="aarch64", **described)


def lower_limits_in_mid_run(bundle: EditableBundle) -> None:
    """Let the meter of the power mode read another mode and a lower clock limit from the second epoch on."""
    import pandas  # start-up: slow to load

    before_ns, after_ns = bundle.event("init_start")["metadata"]["mono_ns"], bundle.event("epoch_stop", 0)["metadata"]["mono_ns"]
    rows = [(t_ns, SOURCE, name, value, unit) for name, first, later, unit in LOWERED for t_ns, value in ((before_ns, first), (after_ns, later))]
    more = pandas.DataFrame(rows, columns=list(bundle.readings.columns))
    bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    bundle.run["meters"].append({"name": SOURCE, "period_s": 1.0, "available": True, "reason": "", "readings": len(rows)})


def without_mode_on_second_node(edit_first: Edit) -> Edit:
    """Apply an edit, then let the second node's power mode be unknown."""

    def change(bundle: EditableBundle) -> None:
        edit_first(bundle)
        change_file(NODES, lambda values: values["nodes"][1].update(system={"power_mode": None}))(bundle)

    return change
