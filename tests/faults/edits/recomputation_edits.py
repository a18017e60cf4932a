"""Edits that give a good run a memory budget with a schedule of recomputation, and change what its
log says of it."""

from typing import Any

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit
from tests.faults.edits.reading_edits import set_peak_memory

BLOCKS = [[1, 3], [4, 12]]
ACTIONS: list[list[Any]] = [
    ["checkpoint", 0],
    ["keep", 1],
    ["backward", 1],
    ["restore", 0],
    ["keep", 0],
    ["backward", 0],
]
SPILLING: list[list[Any]] = [
    ["keep", 0],
    ["spill", 0],
    ["keep", 1],
    ["backward", 1],
    ["fetch", 0],
    ["backward", 0],
]
FORWARDS, FORWARDS_SPILLING, SPILL_BYTES = 3, 2, 10_000  # bytes of a step
PASSES_SHARE, AGAIN_SHARE = 0.8, 0.2  # of the steps' compute time


@edit
def claim_budget(
    bundle: EditableBundle,
    /,
    measured: float = 1.0,
    spill: bool = False,
    counts: dict[str, Any] | None = None,
    command: tuple[str, ...] | None = None,
    **request: Any,
) -> None:
    """A run with a budget and a schedule of two blocks, and a peak of ``measured`` times the plan;
    ``counts`` and ``request`` replace values.

    ``spill``: the schedule writes the first block's activations to storage and recomputes none.
    ``command``: the options that were typed.
    """
    set_peak_memory(1.0)(bundle)
    peak = round(
        float(bundle.readings.loc[bundle.at("memory", "largest_process_peak_rss"), "value"].max())
    )
    steps, compute_s = len(bundle.steps), float(bundle.steps["compute_s"].sum())
    planned = {
        "budget_bytes": round(1.2 * peak / measured),
        "planned_bytes": round(peak / measured),
        "planned_factor": 1.3,
        "schedule": "equal segments, 2",
        "blocks": BLOCKS,
        "actions": SPILLING if spill else ACTIONS,
    }
    if spill:
        planned |= {"spill_folder": "$ELSEWHERE/card", "planned_spill_bytes": SPILL_BYTES}
    bundle.request["recomputation"] = {**planned, **request}
    typed = ("--memory-budget", "2GB", *(("--spill", "$ELSEWHERE/card") if spill else ()))
    bundle.run["command"] = [*bundle.run["command"], *(typed if command is None else command)]
    counted = {
        "blocks": len(BLOCKS),
        "forwards": (FORWARDS_SPILLING if spill else FORWARDS) * steps,
        "backwards": len(BLOCKS) * steps,
        "spilled_bytes": (
            round(
                SPILL_BYTES
                * float(bundle.steps["samples"].sum())
                / bundle.request["global_batch_size"]
            )
            if spill
            else 0
        ),
        "passes_s": PASSES_SHARE * compute_s,
        "again_s": 0.0 if spill else AGAIN_SHARE * compute_s,
        "storage_s": AGAIN_SHARE * compute_s if spill else 0.0,
    }
    stop = bundle.event("run_stop")
    place = bundle.events.index(stop) + 1
    for key, value in (
        ("recomputation", {**counted, **(counts or {})}),
        ("peak_rss_of_ranks", [peak]),
    ):
        bundle.events[:] = [event for event in bundle.events if event["key"] != key]
        bundle.events.insert(
            place,
            dict(
                stop,
                event_type="POINT_IN_TIME",
                key=key,
                value=value,
                metadata=dict(stop["metadata"]),
            ),
        )
        bundle.events[place]["metadata"].pop("status", None)
