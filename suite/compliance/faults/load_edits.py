"""Edits of the machine's load: CPU time of other programs, of the hypervisor, and of the suite's own processes."""

from suite.compliance.faults.editable_bundle import EditableBundle
from suite.compliance.faults.fault import edit
from suite.compliance.faults.reading_edits import add_channel, scale_cpu_time, set_meter

SOURCE = "load"


@edit
def add_load(bundle: EditableBundle, busy: float, own: float, steal: float = 0.0) -> None:
    """Read the load during the run: CPU seconds a second of all programs, of the suite's processes, and stolen ones."""
    for channel, rate in (("busy", busy), ("own", own), ("steal", steal)):
        add_channel(SOURCE, channel, "s", lambda time_s, rate=rate: round(1000.0 + rate * time_s, 2))(bundle)  # type: ignore[misc]
    set_meter(SOURCE, longest_gap_s=1.0)(bundle)


@edit
def crowd(bundle: EditableBundle, factor: float, own: float) -> None:
    """Keep two cores busy all the time, scale the implementation's CPU time, and say how much of the load is the suite's own."""
    scale_cpu_time(factor)(bundle)
    add_load(busy=1.99, own=own)(bundle)
