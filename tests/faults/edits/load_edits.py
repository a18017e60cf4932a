"""Edits of the machine's load: CPU time of other programs, of the hypervisor, and of the suite's
own processes."""

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit
from tests.faults.edits.reading_edits import add_channel, scale_cpu_time, set_meter

SOURCE = "load"


@edit
def add_load(bundle: EditableBundle, busy: float, own: float, steal: float = 0.0) -> None:
    """Read the load during the run: CPU seconds a second of all programs, of the suite's processes,
    and stolen ones."""
    for channel, rate in (("busy", busy), ("own", own), ("steal", steal)):
        add_channel(
            SOURCE,
            channel,
            "s",
            lambda time_s, rate=rate: round(1000.0 + rate * time_s, 2),  # type: ignore[misc]
        )(bundle)
    set_meter(SOURCE, longest_gap_s=1.0)(bundle)


@edit
def alternate_load(bundle: EditableBundle, by: float = 0.2) -> None:
    """Let the utilisation alternate between 40 and 60 %, two seconds each, and the busy time in
    another rhythm; both have the mean that they had."""
    add_load(busy=1.0, own=0.55)(bundle)
    total, busy = bundle.at("cpu", "utilisation.total"), bundle.at(SOURCE, "busy")
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    bundle.readings.loc[total, "value"] = [
        40.0 + 20.0 * ((t_ns - start_ns) // 2_000_000_000 % 2)
        for t_ns in bundle.readings.loc[total, "t_ns"]
    ]
    swing = [by * (1 if second % 6 < 3 else -1) for second in range(int(busy.sum()))]
    bundle.readings.loc[busy, "value"] += [sum(swing[:second]) for second in range(len(swing))]


@edit
def crowd(bundle: EditableBundle, factor: float, own: float) -> None:
    """Keep two cores busy all the time, scale the implementation's CPU time, and say how much of
    the load is the suite's own."""
    scale_cpu_time(factor)(bundle)
    add_load(busy=1.99, own=own)(bundle)
